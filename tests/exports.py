"""Exports as other systems write them, small and of our own words."""

import json
import zipfile
from pathlib import Path
from typing import Any


def saved(path: Path, content: Any) -> Path:
    """A file with a text, or with JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def zipped(path: Path, files: dict[str, Any]) -> Path:
    """An archive of files by name, each a text or JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return path


def _node(
    key: str, parent: str | None, role: str, parts: list[Any], at: float | None, **more: Any
) -> dict[str, Any]:
    message = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": parts},
        "status": "finished_successfully",
        "weight": 1.0,
        "recipient": "all",
        "metadata": {},
    } | more
    return {"id": key, "parent": parent, "children": [], "message": message}


def chatgpt() -> list[dict[str, Any]]:
    """One conversation in which a question was edited: two branches, the second is open."""
    photo = {"attachments": [{"id": "f1", "name": "vase.jpg", "mime_type": "image/jpeg"}]}
    nodes = [
        {"id": "root", "parent": None, "children": ["sys"], "message": None},
        _node("sys", "root", "system", [""], None),
        _node("old", "sys", "user", ["I glaze pots in blue."], 1715160000.0),
        _node("old-answer", "old", "assistant", ["Blue it is."], 1715160005.0),
        _node(
            "new",
            "sys",
            "user",
            [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"},
                "I glaze pots in celadon green.",
            ],
            1715160060.5,
            content={
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"},
                    "I glaze pots in celadon green.",
                ],
            },
            metadata=photo,
        ),
        _node(
            "thinks",
            "new",
            "assistant",
            [],
            1715160061.0,
            content={"content_type": "thoughts", "thoughts": []},
        ),
        _node("answer", "thinks", "assistant", ["Celadon suits a vase."], 1715160065.0),
    ]
    return [
        {
            "title": "Glazing",
            "create_time": 1715160000.0,
            "update_time": 1715160065.0,
            "mapping": {node["id"]: node for node in nodes},
            "current_node": "answer",
            "conversation_id": "c0ffee00-0000-4000-8000-000000000001",
            "brand_new_field": {"secret": 1},
        }
    ]


def chatgpt_parts() -> dict[str, Any]:
    """An archive of 2026: numbered parts, one of which is missing, and a manifest."""
    photo = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://f2"}
    sound = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "frames_asset_pointers": [],
    }
    canvas = {"name": "Recipe", "type": "document", "content": "Two parts ash."}

    def mixed(parts: list[Any]) -> dict[str, Any]:
        return {"content": {"content_type": "multimodal_text", "parts": parts}}

    def code(call: dict[str, Any]) -> dict[str, Any]:
        return {"content": {"content_type": "code", "text": json.dumps(call)}}

    nodes = [
        {"id": "root", "parent": None, "children": ["asks"], "message": None},
        _node(
            "asks",
            "root",
            "user",
            [],
            None,
            content={
                "content_type": "user_editable_context",
                "user_profile": "What they wrote: ```I am a potter in Delft.```",
                "user_instructions": "",
            },
            metadata={
                "is_visually_hidden_from_conversation": True,
                "user_context_message_data": {
                    "about_user_message": "I am a potter in Delft.",
                    "about_model_message": "Answer in one sentence.",
                },
            },
        ),
        _node(
            "voice",
            "asks",
            "user",
            [],
            1772359560.0,
            **mixed([{"content_type": "audio_transcription", "text": "Does ash melt?"}, sound]),
        ),
        _node("sound", "voice", "user", [], 1772359570.0, **mixed([sound])),
        _node("seen", "sound", "user", [], 1772359580.0, **mixed([photo, "Is this ash?"])),
        _node(
            "made",
            "seen",
            "tool",
            [],
            1772359590.0,
            **mixed([photo | {"metadata": {"dalle": {"prompt": "A grey bowl"}}}]),
        ),
        _node(
            "doc", "made", "assistant", [], 1772359600.0,
            recipient="canmore.create_textdoc", **code(canvas),
        ),
        _node(
            "edit", "doc", "assistant", [], 1772359610.0,
            recipient="canmore.update_textdoc",
            **code({"updates": [{"pattern": "Two", "replacement": "Three"}]}),
        ),
    ]  # fmt: skip
    second = {
        "title": "Ash",
        "create_time": 1772359500.0,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "edit",
        "conversation_id": "c0ffee00-0000-4000-8000-000000000002",
    }
    return {
        "export/conversations-000.json": chatgpt(),
        "export/conversations-001.json": [second],
        "export/conversations-003.json": [],
        "export/export_manifest.json": {
            "export_files": [{"path": f"conversations-00{n}.json"} for n in range(5)]
        },
        "export/user.json": CHATGPT_USER,
        "export/custom_instructions.json": {"about_user_message": "I have a cat."},
        "export/projects.json": [
            {"id": "g-p-1", "name": "Kiln", "instructions": "Think in cone six."}
        ],
        "export/chat.html": "<html>",
        "export/file-1.dat": "x",
    }


CHATGPT_USER = {"id": "user-Qx7", "email": "ada@example.org", "chatgpt_plus_user": False}


def claude() -> list[dict[str, Any]]:
    return [
        {
            "uuid": "aaaaaaaa-0000-4000-8000-000000000001",
            "name": "A trip",
            "created_at": "2025-03-01T08:00:00.000000Z",
            "updated_at": "2025-03-01T08:01:00.000000Z",
            "account": {"uuid": "99999999-0000-4000-8000-000000000001"},
            "chat_messages": [
                {
                    "uuid": "bbbbbbbb-0000-4000-8000-000000000001",
                    "text": "I hike the Vercors in June.",
                    "content": [{"type": "text", "text": "I hike the Vercors in June."}],
                    "sender": "human",
                    "created_at": "2025-03-01T10:00:00+02:00",
                    "attachments": [{"file_name": "route.gpx", "file_type": "txt"}],
                    "files": [],
                },
                {
                    "uuid": "bbbbbbbb-0000-4000-8000-000000000002",
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "hologram", "x": 1},
                        {"type": "text", "text": "Take the Grande Traversée."},
                    ],
                    "sender": "assistant",
                    "created_at": "2025-03-01T08:00:30Z",
                    "attachments": [],
                    "files": [],
                },
            ],
        }
    ]


def claude_archive() -> dict[str, Any]:
    """An archive with a question that was edited, pasted text, memory and a project."""
    root = "00000000-0000-4000-8000-000000000000"
    account = "99999999-0000-4000-8000-000000000001"

    def said(key: str, parent: str, sender: str, text: str, at: str, **more: Any) -> dict[str, Any]:
        return {
            "uuid": key,
            "parent_message_uuid": parent,
            "sender": sender,
            "content": [{"type": "text", "text": text}],
            "created_at": f"2026-03-01T{at}Z",
        } | more

    pasted = {"file_name": "", "file_type": "txt", "extracted_content": "Hut list: Nant, Vassieux"}
    report = {"file_name": "gear.pdf", "file_type": "pdf", "extracted_content": "secret list"}
    chat = {
        "uuid": "aaaaaaaa-0000-4000-8000-000000000002",
        "name": "Huts",
        "account": {"uuid": account},
        "chat_messages": [
            said("m1", root, "human", "Which hut first?", "10:00:00", attachments=[pasted, report]),
            said("m2", "m1", "assistant", "Nant.", "10:00:10"),
            said("m3", "m2", "human", "I hate tents.", "10:01:00"),
            said("m4", "m3", "assistant", "Noted: no tents.", "10:01:10"),
            said("m5", "m2", "human", "I love tents.", "10:02:00"),
            said("m6", "m5", "assistant", "Tents it is.", "10:02:10"),
        ],
    }
    return {
        "conversations.json": [chat],
        "users.json": CLAUDE_USERS,
        "memories.json": [
            {
                "account_uuid": account,
                "conversations_memory": "**Outdoors**\n\nAda hikes in the Alps.\n\n"
                "- Prefers huts with a stove\n- Walks with a dog",
                "project_memories": {"p1": "The route ends in Die."},
            }
        ],
        "projects/p1.json": {
            "uuid": "p1",
            "name": "Vercors",
            "description": "A walk of nine days.",
            "prompt_template": "Give distances in kilometres.",
            "docs": [{"filename": "map.txt", "content": "x"}],
            "created_at": "2026-02-01T08:00:00Z",
        },
        "design_chats/d1.json": {"uuid": "d1"},
    }


CLAUDE_USERS = [{"uuid": "99999999-0000-4000-8000-000000000001", "full_name": "Ada Berg"}]


def gemini() -> dict[str, Any]:
    """An archive of Takeout in German: the newest first, some with the page of their chat."""

    def activity(title: str, at: str, answer: str = "", **more: Any) -> dict[str, Any]:
        answers = {"safeHtmlItem": [{"html": answer}]} if answer else {}
        named = {"header": "Gemini-Apps", "title": title, "time": at, "products": ["Gemini-Apps"]}
        return named | answers | more

    page = "https://gemini.google.com/app/b00c"
    return {
        "Takeout/Meine Aktivit\u00e4ten/Gemini-Apps/MeineAktivit\u00e4ten.json": [
            activity("Gemini-Apps verwendet", "2026-09-14T08:00:00Z"),
            activity(
                "Eingegebener Prompt: Which rosin for a hurdy-gurdy?",
                "2026-09-13T09:01:00.250Z",
                "<p>Dark &amp; soft rosin.</p><ul><li>Warm it</li><li>Turn the wheel</li></ul>",
                details=[{"name": page, "url": page}],
                novelty=1,
            ),
            activity("Prompted I tune in G.", "2026-09-13T09:00:00Z", "<p>G it is.</p>",
                     details=[{"name": page, "url": page}]),
            activity("Prompted What is this?", "2025-02-03T04:05:06+01:00", "<p>A crank.</p>",
                     attachedFiles=["crank.png"]),
            {"header": "YouTube", "title": "Watched a film", "time": "2026-09-13T09:00:00Z"},
        ],
        "Takeout/archive_browser.html": "<html>",
    }  # fmt: skip


def gemini_page(**cells: str) -> str:
    """Takeout's page: a cell for each body, under the name of its product."""
    return "<!doctype html><html><body>" + "".join(
        '<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell">'
        f"<p>{product.split('_')[0]}<br></p></div>"
        f'<div class="content-cell mdl-cell--6-col">{body}</div><div class="content-cell '
        f'mdl-typography--text-right"></div><div\n class="content-cell"><b>Products:</b></div>'
        "</div></div>"
        for product, body in cells.items()
    )


def gemini_html() -> dict[str, Any]:
    """Takeout as pages, which is its default."""
    page = gemini_page(
        Gemini_1="Prompted\u00a0Which peg for a viol?<br>Is ebony too hard?<br>"
        "Sep 13, 2026, 1:01:02\u202fPM CEST<br><p>Boxwood <b>turns</b> well.</p>"
        "<ul><li>Shape it<br>first</li></ul>",
        Gemini_2='Prompted\u00a0What is this?<br>Attached 1 file.<br>-  <a href="a.png">peg.png</a>'
        "<br>Feb 3, 2025, 12:05:06\u202fAM GMT+1<br><p>A peg.</p>",
        Gemini_3="Used Gemini Apps<br>Feb 2, 2025, 12:05:06\u202fAM GMT+1<br>",
        YouTube="Watched a film<br>Feb 2, 2025, 12:05:06\u202fAM GMT+1<br>",
    )
    return {
        "Takeout/My Activity/Gemini Apps/MyActivity.html": page,
        "Takeout/archive_browser.html": "<html>",
    }


def lines(*values: dict[str, Any]) -> str:
    return "\n".join(json.dumps(value) for value in values) + "\n"


def claude_code() -> dict[str, Any]:
    """A project with a session in which a prompt was taken back, and one of an agent."""
    session = "5e55104e-0000-4000-8000-000000000001"

    def line(key: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/src/shed",
            "sessionId": session, "version": "2.1.12", "gitBranch": "main", "type": role,
            "message": {"role": role, "content": content}, "uuid": key,
            "timestamp": f"2026-01-20T11:5{len(key)}:17.716Z",
        } | more  # fmt: skip

    def text(said: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": said}]

    def queued(key: str, parent: str, **more: Any) -> dict[str, Any]:
        attachment = {"type": "queued_command", "commandMode": "prompt"} | more
        return line(key, parent, "attachment", None, attachment=attachment)

    return {
        f"-src-shed/{session}.jsonl": lines(
            {"type": "file-history-snapshot", "messageId": "a", "snapshot": {}},
            line("a", None, "user", "Read the treadle plan.<system-reminder>x</system-reminder>"),
            line("bb", "a", "assistant", [{"type": "thinking", "thinking": "Hm."}]),
            line("ccc", "bb", "assistant", [{"type": "tool_use", "name": "Read", "input": {}}]),
            line("dddd", "ccc", "user", [{"type": "tool_result", "content": "Six treadles."}]),
            line("eeeee", "dddd", "assistant", text("The loom has six treadles.")),
            line("f", "eeeee", "user", "I hate twill."),
            line("gg", "f", "assistant", text("No twill, then.")),
            line("hhh", "eeeee", "user", [*text("I weave herringbone twill."), {"type": "image"}]),
            line("iiii", "hhh", "assistant", [{"type": "hologram"}, *text("Herringbone it is.")]),
            queued("q", "iiii", prompt="Mind the selvedge.", origin={"kind": "human"}),
            queued("r", "q", prompt="Read the treadle plan.", source_uuid="a"),
            queued("s", "r", prompt="An agent is done.", commandMode="task-notification"),
            line("jjjjj", "s", "user", "<command-name>/clear</command-name>"),
            {"type": "custom-title", "customTitle": "Treadles", "sessionId": session},
        ),
        f"-src-shed/{session}/subagents/agent-1.jsonl": lines(
            line("k", None, "user", "Count the treadles.", isSidechain=True)
        ),
        "-src-shed/memory/MEMORY.md": "# Notes",
    }


def codex() -> dict[str, Any]:
    """A session of today with a turn that was taken back, and one of before September 2025."""

    def line(minute: int, kind: str, **payload: Any) -> dict[str, Any]:
        at = f"2026-02-01T10:0{minute}:00.500Z"
        return {"timestamp": at, "type": kind, "payload": payload}

    def said(role: str, *texts: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        parts = [{"type": kind, "text": text} for text in texts]
        return {"type": "message", "role": role, "content": parts}

    asked = "# Context from my IDE setup:\nTabs\n## My request for Codex:\nBuild me an orrery."
    return {
        "2026/02/01/rollout-2026-02-01T10-00-00-c0de.jsonl": lines(
            line(0, "session_meta", id="c0de", cwd="/src/orrery", cli_version="0.65.0"),
            line(1, "response_item", **said("developer", "Be brief.")),
            line(
                1, "response_item", **said("user", "<environment_context>x</environment_context>")
            ),
            line(2, "response_item", **said("user", asked)),
            line(2, "event_msg", type="user_message", message="Build me an orrery."),
            line(3, "response_item", type="function_call", name="shell", arguments="{}"),
            line(4, "response_item", **said("assistant", "The orrery has six planets.")),
            line(5, "response_item", **said("user", "Drop Saturn.")),
            line(6, "response_item", **said("assistant", "Saturn is gone.")),
            line(7, "event_msg", type="thread_rolled_back", num_turns=1),
            line(8, "response_item", **said("user", "Add Uranus in brass.")),
        ),
        "2025/07/01/rollout-2025-07-01T10-00-00-01d.jsonl": lines(
            {"id": "01d", "timestamp": "2025-07-01T10:00:00Z", "instructions": None},
            {"record_type": "state"},
            said("user", "Gears of pearwood?"),
            said("assistant", "Pearwood wears well."),
        ),
        "history.jsonl": lines({"session_id": "c0de", "ts": 1, "text": "Build me an orrery."}),
    }


def open_webui() -> list[dict[str, Any]]:
    """A chat with an answer that was written anew, by two models."""

    def message(key: str, parent: str | None, role: str, content: str, **more: Any) -> Any:
        said = {"id": key, "parentId": parent, "childrenIds": [], "role": role}
        return said | {"content": content, "timestamp": 1772359560 + len(key)} | more

    messages = [
        message("q", None, "user", "I dye wool with madder.",
                files=[{"type": "image", "url": "data:"}, {"type": "file", "name": "vat.pdf"}]),
        message("a1", "q", "assistant", "Use indigo.", model="gemma3:4b"),
        message("a22", "q", "assistant", model="gemma3:12b", modelName="Gemma", content=(
            '<details type="reasoning" done="true">Hm.</details>\nMadder wants alum.')),
    ]  # fmt: skip
    history = {"messages": {item["id"]: item for item in messages}, "currentId": "a22"}
    return [
        {
            "id": "0b3e0000-0000-4000-8000-000000000001",
            "user_id": "owui-ada",
            "title": "Madder",
            "chat": {"title": "Madder", "models": ["gemma3:4b"], "history": history, "glyph": 1},
            "updated_at": 1772359600,
            "created_at": 1772359500,
        }
    ]


def librechat(recursive: bool = False) -> dict[str, Any]:
    """A conversation with two branches, in a list or as a tree."""

    def message(key: str, parent: str, minute: int, **more: Any) -> dict[str, Any]:
        named = {"messageId": key, "parentMessageId": parent, "isCreatedByUser": False}
        at = {"createdAt": f"2026-03-01T10:0{minute}:00.000Z", "sender": "Claude"}
        return named | at | {"text": "", "children": []} | more

    messages = [
        message("r", "00000000-0000-0000-0000-000000000000", 0, isCreatedByUser=True,
                text="Where do I buy gut strings?"),
        message("old", "r", 1, text="In Rome."),
        message("new", "r", 2, content=[
            {"type": "think", "think": "Hm."}, {"type": "text", "text": "In Cremona."}]),
        message("thanks", "new", 3, isCreatedByUser=True, text="My lute has gut strings.",
                files=[{"type": "image/png", "filename": "lute.png"}]),
    ]  # fmt: skip
    export = {
        "conversationId": "11b4ec4a-0000-4000-8000-000000000001",
        "endpoint": "anthropic",
        "title": "Strings",
        "exportAt": "10:05:00 GMT+0100 (CET)",
        "branches": True,
        "recursive": recursive,
    }
    if not recursive:
        return export | {"messages": messages}
    root, old, new, thanks = messages
    tree = [root | {"children": [old, new | {"children": [thanks]}]}]
    return export | {"messagesTree": tree}


SILLYTAVERN = "\n".join(
    json.dumps(line)
    for line in (
        {"user_name": "Ada", "character_name": "Seraphina", "create_date": "2024-5-8@12h00m00s",
         "chat_metadata": {}},
        {"name": "Seraphina", "is_user": False, "mes": "You wake in a glade.",
         "send_date": "May 8, 2024 12:00pm", "swipes": ["x", "You wake in a glade."]},
        {"name": "Ada", "is_user": True, "mes": "I carry a theorbo.",
         "send_date": "2024-05-08@12h01m30s", "extra": {"image": "/user/images/theorbo.png"}},
        {"name": "Seraphina", "is_user": False, "mes": "Play it.", "send_date": 1715162520000},
        {"name": "System", "is_user": False, "is_system": True, "mes": "Rain.", "extra":
         {"type": "narrator"}, "send_date": "2024-05-08T10:03:00.000Z"},
    )
)  # fmt: skip


def slack() -> dict[str, Any]:
    return {
        "team/users.json": [
            {"id": "U1", "name": "ada", "profile": {"display_name": "Ada", "real_name": "Ada B"}},
            {"id": "U2", "name": "bob", "real_name": "Bob Chen", "profile": {}},
        ],
        "team/channels.json": [{"id": "C1", "name": "workshop"}],
        "team/dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
        "team/workshop/2024-05-08.json": [
            {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1715150000.000100"},
            {
                "type": "message",
                "user": "U1",
                "text": "<@U2> the kiln &amp; the <#C1|workshop> are booked, "
                "see <https://k.example|the plan>",
                "ts": "1715160000.000100",
                "thread_ts": "1715160000.000100",
                "surprise": 1,
            },
            {
                "type": "message",
                "user": "U1",
                "text": "Unrelated: my apron is linen.",
                "ts": "1715160100.000200",
            },
        ],
        "team/workshop/2024-05-09.json": [
            {
                "type": "message",
                "user": "U2",
                "text": "I fire at cone six.",
                "ts": "1715240000.000300",
                "thread_ts": "1715160000.000100",
                "files": [{"name": "cones.png", "mimetype": "image/png"}],
            },
            {
                "type": "message",
                "subtype": "bot_message",
                "bot_id": "B1",
                "username": "Kilnbot",
                "text": "Noted.",
                "ts": "1715240001.000300",
            },
            {
                "type": "message",
                "subtype": "bot_message",
                "bot_id": "B1",
                "username": "Kilnbot",
                "text": "",
                "ts": "1715240002.000300",
                "attachments": [
                    {
                        "pretext": "Alert for <@U2>",
                        "title": "Kiln 2",
                        "text": "Thermocouple drifts",
                        "fields": [{"title": "Degrees", "value": "1222", "short": True}],
                        "fallback": "[no preview]",
                    },
                    {"from_url": "https://k.example", "title": "A page", "text": "Buy kilns"},
                ],
            },
            {
                "type": "message",
                "subtype": "bot_message",
                "bot_id": "B1",
                "text": "",
                "ts": "1715240003.000300",
                "blocks": [
                    {"type": "header", "text": {"type": "plain_text", "text": "Firing over"}},
                    {"type": "section", "fields": [{"type": "mrkdwn", "text": "Cone 6"}]},
                ],
            },
        ],
        "team/D1/2024-05-09.json": [
            {"type": "message", "user": "U2", "text": "Just us two.", "ts": "1715250000.000100"}
        ],
    }


def discord() -> dict[str, Any]:
    """A file of DiscordChatExporter."""

    def said(number: int, author: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "id": f"90{number}",
            "type": "Default",
            "timestamp": f"2024-05-08T14:0{number}:00.5+02:00",
            "timestampEdited": None,
            "isPinned": False,
            "content": text,
            "author": {
                "id": f"18{author}",
                "name": author.lower(),
                "nickname": author,
                "isBot": author == "Bot",
            },
            "attachments": [],
            "embeds": [],
            "mentions": [],
        } | more

    return {
        "guild": {"id": "1", "name": "Pottery"},
        "channel": {"id": "77", "type": "GuildTextChat", "name": "general"},
        "dateRange": {"after": None, "before": None},
        "messages": [
            said(1, "Ada", "My wheel is a Brent."),
            said(2, "Bob", "", type="GuildMemberJoin"),
            said(
                3,
                "Bob",
                "<@18Ada> mine is a Shimpo".replace("18Ada", "184"),
                mentions=[{"id": "184", "name": "ada", "nickname": "Ada"}],
                attachments=[{"id": "1", "url": "https://x/y", "fileName": "wheel.png"}],
            ),
            said(4, "Bot", "Two wheels noted."),
        ],
        "messageCount": 4,
    }


def discord_package() -> dict[str, Any]:
    return {
        "package/account/user.json": {"id": "18Ada", "username": "ada", "global_name": "Ada"},
        "package/servers/index.json": {"1": "Pottery"},
        "package/messages/index.json": {"77": "general", "78": "Direct Message with bob#0"},
        "package/messages/c77/channel.json": {
            "id": "77",
            "type": "GUILD_TEXT",
            "name": "general",
            "guild": {"id": "1", "name": "Pottery"},
        },
        "package/messages/c77/messages.json": [
            {
                "ID": 905,
                "Timestamp": "2024-05-09 07:00:00",
                "Contents": "I sold it.",
                "Attachments": "",
            },
            {"ID": 901, "Timestamp": "2024-05-08 12:01:00", "Contents": "My wheel is a Brent."},
        ],
        "package/messages/c78/channel.json": {"id": "78", "type": 1},
        "package/messages/c78/messages.csv": (
            "ID,Timestamp,Contents,Attachments\n"
            '910,2023-01-02 03:04:05.123000+00:00,"Hello, you",https://cdn.example/a/cat.jpg?x=1\n'
        ),
    }


def telegram(**changes: Any) -> dict[str, Any]:
    """A chat of two, exported by Ada (id 11), whose clock is two hours ahead."""
    return {
        "name": "Bob",
        "type": "personal_chat",
        "id": 22,
        "messages": [
            {"id": 1, "type": "service", "date": "2024-05-08T14:00:00", "action": "phone_call"},
            {
                "id": 2,
                "type": "message",
                "date": "2024-05-08T14:01:00",
                "date_unixtime": "1715169660",
                "from": "Ada",
                "from_id": "user11",
                "text": ["Look at ", {"type": "bold", "text": "my new"}, " loom"],
                "text_entities": [],
                "photo": "photos/loom.jpg",
            },
            {
                "id": 3,
                "type": "message",
                "date": "2024-05-08T14:02:00",
                "date_unixtime": "1715169720",
                "from": "Bob",
                "from_id": "user22",
                "text": "I weave with alpaca.",
                "media_type": "sticker",
                "file": "(File not included. Change data exporting settings to download.)",
                "sticker_emoji": "🧶",
                "holographic": True,
            },
        ],
    } | changes


def telegram_before_2021(shifted: bool = False) -> dict[str, Any]:
    """The same chat as an older Telegram Desktop wrote it: ids are numbers, times have no zone."""
    kind = 1 << 32 if shifted else 0
    chat = telegram(id=22 + kind)
    for message in chat["messages"]:
        message.pop("date_unixtime", None)
        message["edited"] = "1970-01-01T01:00:00"
        if "from_id" in message:
            message["from_id"] = int(message["from_id"].removeprefix("user")) + kind
    return chat


def telegram_account() -> dict[str, Any]:
    return {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 11, "first_name": "Ada", "last_name": "Berg"},
        "chats": {
            "about": "",
            "list": [
                telegram(),
                telegram(type="private_supergroup", id=33, name="Weavers"),
                {"type": "personal_chat", "id": 44, "name": None, "messages": []},
            ],
        },
    }


ANDROID = """\
25/12/2023, 9:05 pm - Messages and calls are end-to-end encrypted.
25/12/2023, 9:06 pm - Ada: The goose is in the oven
and the plums: too
26/12/2023, 10:00 am - Bob: IMG-20231226-WA0001.jpg (file attached)
Leftovers
26/12/2023, 10:01 am - +44 7700 900123: <Media omitted>
26/12/2023, 10:02 am - Bob: I am allergic to walnuts
26/12/2023, 10:03 am - Bob added “Eve: the cook”
"""

IOS = (
    "[2024-03-01, 21:05:11] Bob: \u200eMessages and calls are end-to-end encrypted.\n"
    "[2024-03-01, 21:06:12] Ada: My train is at 9:40\n"
    "\u200e[2024-03-01, 21:07:00] Bob: \u200e<attached: 0001-PHOTO-2024.jpg>\n"
    "[2024-03-01, 21:08:00] Bob: I bring the tent \u200e<This message was edited>\n"
    "[2024-03-01, 21:09:00] Ada: \u200eimage omitted\n"
)


def mem0() -> dict[str, Any]:
    return {
        "results": [
            {
                "id": "bf4d4092-cf91-4181-bfeb-b6fa2ed3061b",
                "memory": "Plays the viola on Thursdays",
                "hash": "x",
                "metadata": {"chair": 3},
                "score": None,
                "created_at": "2025-01-05T10:00:00-07:00",
                "updated_at": None,
                "user_id": "ada-m",
                "categories": ["hobbies"],
                "novelty": 1,
            },
            {
                "id": "bf4d4092-cf91-4181-bfeb-b6fa2ed3061c",
                "memory": "Works as a luthier in Cremona",
                "created_at": "2025-01-06T10:00:00+00:00",
                "user_id": "ada-m",
                "agent_id": "helper",
            },
        ],
        "relations": [],
    }


def zep() -> dict[str, Any]:
    """A fact that is true, one that is true no more, and the node that both begin at."""
    edge = {"name": "PLAYS", "source_node_uuid": "n1", "target_node_uuid": "n2", "episodes": []}
    return {
        "edges": [
            edge | {
                "uuid": "e1", "fact": "Ada plays the nyckelharpa.",
                "created_at": "2025-05-01T10:00:00Z", "valid_at": "2025-04-01T00:00:00Z",
                "invalid_at": None, "expired_at": None, "attributes": {"since": "spring"},
            },
            edge | {
                "uuid_": "e2", "fact": "Ada plays the hurdy-gurdy.",
                "created_at": "2024-05-01T10:00:00Z", "valid_at": "2024-04-01T00:00:00Z",
                "invalid_at": "2025-03-01T00:00:00Z", "novelty": 1,
            },
        ],
        "nodes": [{"uuid": "n1", "name": "Ada", "labels": ["Entity"], "summary": "A player."}],
    }  # fmt: skip


def letta() -> dict[str, Any]:
    """An agent file of today."""

    def block(name: str, value: str) -> dict[str, Any]:
        return {"id": f"block-{name}", "label": name, "value": value, "limit": 5000}

    def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
        at = f"2025-03-01T10:0{len(more)}:00+00:00"
        return {"id": "message-0", "role": role, "content": content, "created_at": at} | more

    speak = {"name": "send_message", "arguments": '{"message": "Goatskin, then."}'}
    search = {"name": "archival_memory_search", "arguments": "{}"}
    packed = '{"type": "user_message", "message": "Which leather for a spine?"}'
    messages = [
        said("system", [{"type": "text", "text": "You are Sam."}]),
        said("user", [{"type": "text", "text": '{"type": "heartbeat", "reason": "x"}'}]),
        said("user", [{"type": "text", "text": packed}]),
        said("assistant", "Look first.", tool_calls=[{"id": "1", "function": search}]),
        said("tool", "None"),
        said("assistant", [{"type": "text", "text": "Goats?"}], tool_calls=[{"function": speak}]),
        said("user", "Thin it?", otid="x", novelty=1),
        said("assistant", [{"type": "reasoning", "reasoning": "x"},
                           {"type": "text", "text": "With a spokeshave."}], a=1, b=1, c=1),
    ]  # fmt: skip
    return {
        "agents": [{"id": "agent-0", "name": "Sam", "messages": messages}],
        "blocks": [
            block("human", "Ada binds books.\n\nAda lives in Ghent."),
            block("persona", "I am Sam."),
            block("current_project", "A missal in vellum."),
        ],
        "tools": [],
    }


PASSAGES = [
    {"id": "passage-1", "text": "Ada marbles paper with carrageen.", "tags": ["craft"],
     "created_at": "2025-11-05 23:04:24.901468+00:00", "metadata": {}, "is_deleted": False},
    {"id": "passage-2", "text": "Old.", "is_deleted": True},
]  # fmt: skip


def langmem() -> list[dict[str, Any]]:
    """Items of a tool, of a manager and of a manager with a schema."""
    item = {"namespace": ["memories", "ada-l"], "updated_at": "2025-06-02T10:00:00+00:00",
            "created_at": "2025-06-01T12:00:00+02:00"}  # fmt: skip
    return [
        item | {"key": "1", "value": {"content": "Ada grafts quinces."}},
        item | {"key": "2", "value": {"kind": "Memory", "content": {"content": "Ada has bees."}}},
        item | {
            "key": "3",
            "value": {"kind": "Taste", "content": {"category": "fruit", "likes": "medlars"}},
        },
    ]  # fmt: skip


def hindsight() -> dict[str, Any]:
    memory = {"context": "garden", "entities": "Ada (PERSON)", "chunk_id": None}
    return {
        "items": [
            memory | {"id": "1", "text": "Ada espaliers pears.", "fact_type": "world",
                      "mentioned_at": "2025-07-01T10:00:00Z", "date": "2025-06-30T10:00:00Z"},
            memory | {"id": "2", "text": "I told Ada of canker.", "fact_type": "experience",
                      "date": "2025-07-02T10:00:00Z", "occurred_start": "2025-07-02T09:00:00Z"},
            memory | {"id": "3", "text": "Ada hates pears.", "fact_type": "world",
                      "state": "invalidated"},
        ],
        "total": 3,
        "limit": 100,
        "offset": 0,
    }  # fmt: skip


MCP = "\n".join(
    json.dumps(line)
    for line in (
        {
            "type": "entity",
            "name": "Ada_Berg",
            "entityType": "person",
            "observations": ["Speaks fluent Catalan", "Ada_Berg bakes rye bread"],
        },
        {"type": "relation", "from": "Ada_Berg", "to": "Fjord", "relationType": "works_at"},
        {"type": "entity", "name": "Fjord", "entityType": "project", "observations": []},
        {"type": "chord", "notes": []},
    )
)


JSONL = lines(
    {"content": "I fly kites at Scheveningen.", "sender": "Wim", "conversation": "beach",
     "sent_at": "2026-05-01T09:30:00+02:00"},
    {"content": "Mind the wind.", "role": "assistant", "conversation": "beach",
     "sent_at": "2026-05-01T09:30:05+02:00"},
)  # fmt: skip
CONVERSATIONS = [
    {
        "conversation": "crew", "platform": "radio", "title": "Crew",
        "messages": [
            {"content": "My sextant is by Plath.", "sender": "Elke", "message_id": "1",
             "sent_at": "2026-05-01T09:31:00+02:00"},
            {"content": "Mine is an octant.", "sender": "Jan", "message_id": "2",
             "sent_at": "2026-05-01T09:32:00+02:00"},
        ],
    }
]  # fmt: skip
LOCOMO = [
    {
        "sample_id": "conv-9",
        "conversation": {
            "speaker_a": "Ines", "speaker_b": "Tomas",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "I caulk the sloop."},
                {"speaker": "Tomas", "dia_id": "D1:2", "text": "With oakum?"},
            ],
        },
    }
]  # fmt: skip
