"""What importers leave, choose or mend, each in a file of a few lines: no part of one is idle."""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from exports import gemini_page, lines, saved, zipped

from remembrancer import InvalidInput
from remembrancer.importers import Options, open_export

AT = "2026-02-01T10:00:00Z"
TIME = 1769940000
"""The same in seconds."""
MS = TIME * 1000

Chat = tuple[str, Any, Sequence[str], Mapping[str, int]]
Facts = tuple[str, Any, Sequence[str], Mapping[str, int]]


def opened(folder: Path, name: str, content: Any) -> Any:
    write = zipped if name.endswith(".zip") else saved
    options = Options(time_zone=ZoneInfo("Europe/Paris"), me="Ada")
    return open_export(write(folder / name, content), options=options)


def clock(at: datetime | None) -> str | None:
    return at and f"{at.astimezone(UTC):%H:%M}"


def claude_code(key: str, role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    texts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    named = {"type": role, "uuid": key, "sessionId": "s", "timestamp": AT}
    return named | {"message": {"content": texts}} | more


def queued(key: str, **more: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": key} | more
    named = {"type": "attachment", "uuid": key, "sessionId": "s", "timestamp": AT}
    return named | {"attachment": attachment}


def codex(**payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": "response_item", "payload": {"type": "message"} | payload}


CODEX = {"timestamp": AT, "type": "session_meta", "payload": {"id": "c", "source": "cli"}}


def gemini(title: str, time: str) -> dict[str, Any]:
    named = {"header": "Gemini Apps", "products": ["Gemini Apps"], "title": f"Prompted {title}"}
    return named | {"time": time, "safeHtmlItem": [{"html": "<p>Ah.</p>"}]}


def open_webui(key: str, current: str, *messages: tuple[str, str | None, str]) -> dict[str, Any]:
    said = {
        name: {"id": name, "parentId": parent, "content": text, "timestamp": TIME, "model": "m",
               "role": "user" if parent is None else "assistant"}
        for name, parent, text in messages
    }  # fmt: skip
    history = {"messages": said, "currentId": current}
    return {"id": key, "user_id": "u", "title": "T", "chat": {"history": history}}


def librechat(key: str, *messages: dict[str, Any]) -> dict[str, Any]:
    parents = {"parentMessageId": "q", "sender": "Claude"}
    return {
        "conversationId": key, "title": "T", "exportAt": AT, "branches": True,
        "messages": [
            ({"parentMessageId": None, "isCreatedByUser": True} if number == 0 else parents) | one
            for number, one in enumerate(messages)
        ],
    }  # fmt: skip


def event(key: str, minute: int, sender: str = "@zoe:x", **content: Any) -> dict[str, Any]:
    return {
        "type": "m.room.message", "sender": sender, "event_id": key, "room_id": "!r:x",
        "origin_server_ts": MS + minute * 60_000, "content": {"msgtype": "m.text"} | content,
    }  # fmt: skip


def edit(key: str, minute: int, words: str, sender: str = "@zoe:x") -> dict[str, Any]:
    relation = {"rel_type": "m.replace", "event_id": "m1"}
    new = {"msgtype": "m.text", "body": words}
    return event(key, minute, sender, **{"m.relates_to": relation, "m.new_content": new})


NAMED = {
    "type": "m.room.member", "sender": "@zoe:x", "state_key": "@zoe:x", "event_id": "j",
    "origin_server_ts": MS, "content": {"displayname": "Zoë"},
}  # fmt: skip


def messenger(*messages: dict[str, Any]) -> dict[str, Any]:
    said = [{"sender_name": "Zoe", "timestamp_ms": MS} | message for message in messages]
    people = [{"name": "Zoe"}, {"name": "Ada"}, {"name": "Bo"}]
    return {"participants": people, "title": "Trio", "messages": said}


SIGNAL = {"date": "2026-02-01T10:00:00+00:00", "sender": "Zoe", "quote": "", "reactions": []}


def account(letter: bytes) -> str:
    return base64.b64encode(letter * 16).decode()


def frame(author: int, second: int, chat: int = 1, **said: Any) -> dict[str, Any]:
    at = {"chatId": str(chat), "authorId": str(author), "dateSent": str(MS + second * 1000)}
    return {"chatItem": at | said}


MENTIONS = {
    "body": "\ufffc and \ufffc",
    "bodyRanges": [
        {"start": 6, "mentionAci": account(b"b")}, {"start": 0, "mentionAci": account(b"a")},
    ],
}  # fmt: skip
CONTACT = {"contact": {"name": {"givenName": "Cid"}}}


def mail(key: str, at: str, body: str, *headers: str) -> str:
    head = (f"Message-ID: <{key}@x>", f"Date: Sun, 1 Feb 2026 {at}:00 +0000", *headers)
    return "\n".join(("From 1@xxx Sun Feb 01 09:00:00 +0000 2026", *head, "", body, "", ""))


ZOE, TEA = "From: Zoe <zoe@x>", "Subject: Re: Tea"
TWICE = (
    'Content-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\nTea.\n'
    "--b\nContent-Type: text/html\n\n<b>TEA</b>\n--b--"
)

CHATS: list[Chat] = [
    (
        "codex.jsonl",
        lines(
            CODEX,
            codex(role="user", content=[{"type": "input_image"}, {"type": "text", "text": "Hm?"}]),
            codex(type="reasoning", role="assistant", content=[{"type": "text", "text": "Hm."}]),
            codex(role="assistant", content=[{"type": "output_text", "text": "Ah."}]),
        ),
        ["# codex/c||False", "u|None|None|[photo]\nHm?|0|10:00", "a|Codex|None|Ah.|0|10:00"],
        {"assistant item": 1},
    ),
    (
        "codex-agent.jsonl",
        lines(
            CODEX | {"payload": {"id": "c", "source": {"subagent": "review"}}},
            codex(role="user", content=[{"type": "input_text", "text": "Review it."}]),
        ),
        [],
        {"session of an agent that the model started": 1},
    ),
    (
        "claude-code.jsonl",
        lines(
            claude_code("a", "user", "Look.", {"type": "document", "title": "loom.pdf"}),
            claude_code("b", "assistant", "I see.", parentUuid="a"),
            claude_code("c", "user", "All so far: a loom.", isCompactSummary=True),
            claude_code("d", "user", "Be brief.", isMeta=True),
            claude_code("e", "assistant", "Overloaded.", isApiErrorMessage=True),
            queued("f", origin={"kind": "task-notification"}),
            queued("g", isMeta=True),
            queued("h", origin="x"),
        ),
        [
            "# claude-code/s||False",
            "u|None|None|Look.\n[file: loom.pdf]|a|10:00",
            "a|Claude|None|I see.|b|10:00",
            "u|None|None|h|h|10:00",
        ],
        {
            "summary of the session": 1,
            "note of the program": 1,
            "error of the model's service": 1,
        },
    ),
    (
        "gemini.json",
        [gemini("Hm?", "2026-02-02T00:30:00+01:00"), gemini("Old?", "0001-01-01T00:00:00+00:00")],
        [
            "# gemini/2026-02-01||True",
            "u|None|None|Hm?|2026-02-02T00:30:00+01:00 user|23:30",
            "a|Gemini|None|Ah.|2026-02-02T00:30:00+01:00 assistant|23:30",
        ],
        {"activity without a valid time": 1},
    ),
    (
        "gemini-page.html",
        gemini_page(
            Gemini="Prompted At 3.5.2025 10:00:00?<br>Or at 4.5.2025 10:00:00, which is a day later"
            " than the third of that month?<br>1.2.2026 09:00:00 GMT-1<br><p>Ah.</p>"
        ),
        [
            "# gemini/2026-02-01||True",
            "u|None|None|At 3.5.2025 10:00:00?\nOr at 4.5.2025 10:00:00, which is a day later than"
            " the third of that month?|2026-02-01T09:00:00-01:00 user|10:00",
            "a|Gemini|None|Ah.|2026-02-01T09:00:00-01:00 assistant|10:00",
        ],
        {},
    ),
    (
        "letta.af",
        {
            "agent_type": "memgpt_agent", "name": "Sam",
            "core_memory": [{"label": "persona", "value": "x"}],
            "messages": [
                {"role": "user", "content": "Hm?", "created_at": AT},
                {"role": "assistant", "content": "Hm.", "created_at": AT, "tool_calls": [
                    {"function": {"name": "log", "arguments": '{"message": "Hm."}'}},
                ]},
                {"role": "assistant", "content": "Ah.", "created_at": AT},
            ],
        },
        ["# letta/Sam|Sam|True", "u|None|None|Hm?|0|10:00", "a|Sam|None|Ah.|0|10:00"],
        {"assistant message without words for the person": 1},
    ),
    (
        "open-webui.json",
        [
            open_webui("A", "a", ("q", None, "Hm?"), ("a", "q", "Yes."), ("b", "q", "No.")),
            open_webui("B", "gone", ("q", None, "So?")),
        ],
        [
            "@ u",
            *("# open-webui/A|T|False", "u|None|u|Hm?|q|10:00", "a|m|None|Yes.|a|10:00"),
            *("# open-webui/B|T|False", "u|None|u|So?|q|10:00"),
        ],
        {"message of a branch that was not open": 1},
    ),
    (
        "librechat.zip",
        {
            "a.json": librechat(
                "A",
                {"messageId": "q", "createdAt": AT, "content": [
                    {"type": "text", "text": {"value": "Hm?"}}, {"type": "image_file"},
                ]},
                {"messageId": "a", "text": "Yes.", "createdAt": "2026-02-01T10:02:00Z"},
                {"messageId": "b", "text": "No.", "createdAt": "2026-02-01T10:01:00Z"},
            ),
            "b.json": librechat(
                "B",
                {"messageId": "q", "text": "So?"},
                {"messageId": "a", "text": "Yes."},
                {"messageId": "b", "text": "No quota.", "error": True},
            ),
        },
        [
            *("# librechat/A|T|False", "u|None|None|Hm?\n[photo]|q|10:00"),
            "a|Claude|None|Yes.|a|10:02",
            *("# librechat/B|T|False", "u|None|None|So?|q|None"),
        ],
        {"message of a branch that was not open": 2, "error message": 1},
    ),
    (
        "sillytavern.zip",
        {
            "a.jsonl": lines(
                {"user_name": "Ada", "character_name": "Sera"},
                {"name": "Ada", "is_user": True, "send_date": str(MS), "mes": "One."},
                {"name": "Sera", "send_date": "February 1, 2026 11:01 AM", "mes": "Two."},
                {"name": "Sera", "send_date": "2026-02-01 @11h 02m 00s 000ms", "mes": "Three."},
            ),
            "settings.jsonl": lines({"theme": "dark"}),
        },
        [
            "# sillytavern/Sera/a|Sera|True",
            *("u|Ada|None|One.|0|10:00", "a|Sera|None|Two.|0|10:01", "a|Sera|None|Three.|0|10:02"),
        ],
        {"file without a chat": 1},
    ),
    (
        "matrix.json",
        {
            "room_name": "Room", "exported_by": "@zoe:x",
            "messages": [
                NAMED,
                event("m1", 1, body="One"),
                event("m0", 0, body="Zero"),
                edit("e1", 2, "Two"), edit("e2", 3, "Three"), edit("e3", 1, "Mine", "@eve:x"),
                event("m2", 5, body="> wise\nwords"),
                event("m3", 6, "@bot:x", msgtype="m.notice", body="Noted."),
            ],
        },
        [
            "@ @zoe:x",
            "# matrix/!r:x|Room|False",
            *("u|Zoë|@zoe:x|Zero|m0|10:00", "u|Zoë|@zoe:x|Three|m1|10:01"),
            *("u|Zoë|@zoe:x|> wise\nwords|m2|10:05", "a|@bot:x|None|Noted.|m3|10:06"),
        ],
        {"event of kind m.room.member": 1, "edit of a message": 3},
    ),
    (
        "messenger.zip",
        {
            "your_instagram_activity/messages/inbox/trio_1/message_1.json": messenger(
                {"content": "E"},
                {"content": "Early", "timestamp_ms": MS - 60_000},
                {"content": "D"},
                {"content": "x", "type": "Subscribe"},
            ),
            "your_instagram_activity/messages/inbox/trio_1/message_2.json": messenger(
                {"content": "C", "sender_name": "Ada"},
                {"content": "See l.example", "share": {"link": "l.example", "share_text": "Boats"}},
                {"sticker": {"uri": "s.png"}},
            ),
        },
        [
            "# instagram/trio_1|Trio|True",
            *("u|Zoe|Zoe|Early|0|09:59", "u|Zoe|Zoe|[sticker]|0|10:00"),
            *("u|Zoe|Zoe|See l.example\nBoats|0|10:00", "u|Ada|None|C|0|10:00"),
            *("u|Zoe|Zoe|D|0|10:00", "u|Zoe|Zoe|E|0|10:00"),
        ],
        {"message of kind Subscribe": 1},
    ),
    (
        "messenger-encrypted.json",
        {
            "threadName": "Zoe_1", "participants": ["Zoe", "Ada"],
            "messages": [
                {"senderName": "Zoe", "timestamp": MS, "text": "Ã© is two", "type": "text"}
            ],
        },
        ["# messenger/messenger-encrypted|Zoe_1|True", "u|Zoe|Zoe|Ã© is two|0|10:00"],
        {},
    ),
    (
        "signal.zip",
        {
            "Zoe/chat.md": "",
            "Zoe/data.json": lines(
                SIGNAL | {"body": "Hi"},
                SIGNAL | {"body": "", "call": True},
                SIGNAL | {"body": "Lost", "sender": "No-Sender"},
            ),
        },
        ["# signal/Zoe|Zoe|True", "u|Zoe|Zoe|Hi|0|10:00"],
        {"call": 1, "message without a sender": 1},
    ),
    (
        "signal-frames.jsonl",
        lines(
            {"version": "1", "backupTimeMs": str(MS)},
            {"account": {"givenName": "Ada"}},
            {"recipient": {"id": "1", "self": {}}},
            {"recipient": {"id": "2", "contact": {
                "aci": account(b"a"), "e164": "31", "systemGivenName": "Zoe",
                "nickname": {"given": "Zo"},
            }}},
            {"recipient": {"id": "3", "distributionList": {}}},
            {"recipient": {"id": "4", "contact": {
                "aci": account(b"b"), "profileGivenName": "Bo",
            }}},
            {"chat": {"id": "1", "recipientId": "2"}},
            {"chat": {"id": "2", "recipientId": "3"}},
            frame(1, 4, pollMessage={}, poll={"question": "Tea?"}),
            frame(2, 1, standardMessage={"text": MENTIONS}),
            frame(2, 2, directStoryReplyMessage={"textReply": {"text": {"body": "Nice"}}}),
            frame(2, 3, directStoryReplyMessage={"emoji": "🎻"}),
            frame(2, 5, contactMessage=CONTACT),
            frame(9, 6, standardMessage={"text": {"body": "Who?"}}),
            frame(2, 7, chat=2, standardMessage={"text": {"body": "To all"}}),
        ),
        [
            "# signal/+31|Zo|True",
            f"u|Zo|+31|@Zo and @Bo|{MS + 1000}-+31|10:00",
            f"u|Zo|+31|Nice|{MS + 2000}-+31|10:00",
            f"u|Zo|+31|🎻|{MS + 3000}-+31|10:00",
            f"u|Ada|None|[poll: Tea?]|{MS + 4000}-own|10:00",
            f"u|Zo|+31|[contact: Cid]|{MS + 5000}-+31|10:00",
        ],
        {"message without a sender": 1, "chat of an unknown kind": 1},
    ),
    (
        "mail.mbox",
        "".join((
            mail("3", "10:02", "Late.", ZOE, TEA, "References: <0@x>"),
            mail("2", "10:01", "Early.", ZOE, TEA, "In-Reply-To: <0@x>"),
            mail("4", "10:03", "Later.", ZOE, TEA, "In-Reply-To: <3@x>"),
            mail("5", "10:04", "Listed.", ZOE, "List-Unsubscribe: <l>", "List-Post: <l>"),
            mail("6", "10:05", "Away.", ZOE, "Auto-Submitted: auto-replied"),
            mail("7", "10:06", "", ZOE, TWICE),
        )),
        [
            "# email/0@x|Tea|False",
            *("u|Zoe|zoe@x|Early.|2@x|10:01", "u|Zoe|zoe@x|Late.|3@x|10:02"),
            "u|Zoe|zoe@x|Later.|4@x|10:03",
            *("# email/5@x||False", "u|Zoe|zoe@x|Listed.|5@x|10:04"),
            *("# email/7@x||False", "u|Zoe|zoe@x|Tea.|7@x|10:06"),
        ],
        {"newsletter or automatic message": 1},
    ),
]  # fmt: skip


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat[0])
def test_what_is_said(tmp_path: Path, chat: Chat) -> None:
    """The account; conversations; role, sender, platform id, words, message id, time; what is
    named and left.
    """
    name, content, said, skipped = chat
    export = opened(tmp_path, name, content)
    account = export.account()
    found = [f"@ {account.platform_user_id}"] if account else []
    for one in export.transcripts():
        found.append(f"# {one.platform}/{one.conversation}|{one.title}|{one.personal}")
        for turn in one.turns:
            who = f"{turn.role.value[0]}|{turn.sender}|{turn.platform_user_id}"
            found.append(f"{who}|{turn.content}|{turn.message_id or 0}|{clock(turn.sent_at)}")
    assert found == list(said)
    assert export.notes.skipped == skipped


EDGE = {"source_node_uuid": "n", "created_at": AT}
ITEM = {"key": "1", "created_at": AT}


def test_one_name_does_not_tell_whose_chat_it_is(tmp_path: Path) -> None:
    """Nobody is taken for the account because nobody else is there."""
    alone = messenger({"content": "Hm?"}) | {"participants": [{"name": "Ada"}]}
    export = open_export(saved(tmp_path / "message_1.json", alone))
    with pytest.raises(InvalidInput, match="does not name its account"):
        list(export.transcripts())


def calendar(*events: str) -> str:
    inner = "".join(f"BEGIN:VEVENT\n{one}\nEND:VEVENT\n" for one in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{inner}END:VCALENDAR\n"


def card(*properties: str) -> str:
    return "\n".join(("BEGIN:VCARD", "VERSION:3.0", *properties, "END:VCARD", ""))


FACTS: list[Facts] = [
    (
        "zep.json",
        [
            EDGE | {"uuid": "1", "fact": "Ada rows.", "expired_at": AT},
            EDGE | {"uuid": "2", "fact": "Ada rows."},
            EDGE | {"uuid": "3", "fact": "\u200b"},
        ],
        ["fact|other|None|Ada rows.|10:00|10:00|0|", "fact|other|None|Ada rows.|10:00|None|0|"],
        {"fact without text": 1},
    ),
    (
        "letta-passages.json",
        [
            {"id": "passage-1", "text": "Ada rows.", "created_at": AT},
            {"id": "passage-2", "text": "Ada rows.", "created_at": AT},
            {"id": "passage-3", "text": "\u200b", "created_at": AT},
        ],
        ["fact|other|None|Ada rows.|10:00|None|0|"] * 2,
        {"passage without text": 1},
    ),
    (
        "letta-blocks.json",
        [{"label": "human", "value": "Ada rows.", "limit": 9, "created_at": AT}],
        ["fact|other|None|Ada rows.|10:00|None|0|"],
        {},
    ),
    (
        "langmem.json",
        [
            ITEM | {"namespace": ["m", "ada", "a"], "value": {"content": "Rows.", "mood": "calm"}},
            ITEM | {"namespace": ["m", "ada", "b"], "value": {"content": {"a": "tea", "b": ""}}},
            ITEM | {"namespace": ["m", "ada"], "value": {"content": "\u200b"}},
        ],
        ["fact|other|None|Rows.|10:00|None|2|", "fact|other|None|a: tea|10:00|None|1|"],
        {"memory without text": 1},
    ),
    (
        "hindsight.json",
        {
            "results": [
                {"id": "1", "text": "Ada rows.", "type": "world", "mentioned_at": AT},
                {"id": "2", "text": "Ada rows.", "type": "world", "date": AT},
                {"id": "3", "text": "\u200b", "type": "world"},
            ]
        },
        ["fact|other|None|Ada rows.|10:00|None|1|"] * 2,
        {"memory that is not valid": 1},
    ),
    (
        "mem0.json",
        {
            "results": [
                {"id": 1, "memory": "Ada rows.", "created_at": AT, "categories": ["sports"]},
                {"id": 2, "memory": "Ada rows.", "created_at": AT},
                {"id": 3, "memory": "\u200b"},
            ]
        },
        ["fact|hobby|None|Ada rows.|10:00|None|0|", "fact|other|None|Ada rows.|10:00|None|0|"],
        {"memory without text": 1},
    ),
    (
        "notes.zip",
        {
            **dict.fromkeys(("Cup.md", "Mug.md", "a/Cup.md", "a/Mug.md", "b/Cup.md"), ""),
            "Top.md": "---\naliases: Brew\n---\n",
            "a/deep/Jar.md": "[m](../Mug.md)",
            "a/Tea.md": (
                "---\ncreated: 2026-02-01\n---\nTea is green.\n\nTea is green.\n\n"
                "[[Tea]] [[Brew]] [x](https://x/Mug.md) [near](Cup.md) [far](b/Cup.md)"
            ),
            "b/Tea.md": "Tea is green.",
        },
        [
            "observation|other|Cup|Note Cup|None|None|0|",
            "observation|other|Mug|Note Mug|None|None|0|",
            "observation|other|Cup|Note Cup, in the folder a|None|None|0|",
            "observation|other|Mug|Note Mug, in the folder a|None|None|0|",
            "observation|other|Cup|Note Cup, in the folder b|None|None|0|",
            "observation|other|Top|Note Top, also called Brew|None|None|0|",
            "observation|other|Jar|Note Jar, in the folder a/deep|None|None|0|"
            "Note Mug, in the folder a",
            "fact|other|Jar|Jar: m|None|None|0|Note Jar, in the folder a/deep",
            "observation|other|Tea|Note Tea, in the folder a|23:00|None|0|"
            "Note Top, also called Brew+Note Cup, in the folder a+Note Cup, in the folder b",
            "fact|other|Tea|Tea is green.|23:00|None|0|Note Tea, in the folder a",
            "fact|other|Tea|Tea Brew x near far|23:00|None|0|Note Tea, in the folder a",
            "observation|other|Tea|Note Tea, in the folder b|None|None|0|",
            "fact|other|Tea|Tea is green.|None|None|0|Note Tea, in the folder b",
        ],
        {},
    ),
    (
        "calendar.ics",
        calendar(*(
            f"UID:{uid}\nDTSTAMP:20260201T090000Z\nDTSTART:20260201T110000\nSUMMARY:Tea"
            for uid in ("1", "1", "2")
        )),
        ["event|other|Tea|Tea: 2026-02-01 11:00 Europe/Paris.|09:00|None|1|"] * 2,
        {},
    ),
    (
        "contacts.vcf",
        card("UID:1", "FN:Foundry", "ORG:Foundry", "REV:2026-02-01T10:00:00Z")
        + card("UID:1", "FN:Foundry", "ORG:Foundry", "REV:2026-02-01T10:00:00Z")
        + card("UID:2", "FN:Foundry", "TEL:tel:+31", "RELATED:urn:uuid:x", "BDAY:2000-02-01"),
        [
            "fact|person|Foundry|Foundry is one of the contacts.|10:00|None|0|",
            "fact|person|Foundry|Foundry is one of the contacts.|None|None|0|",
            "fact|milestone|Foundry|Foundry's birthday is on 2000-02-01.|None|None|0|"
            "Foundry is one of the contacts.",
            "fact|person|Foundry|Foundry's telephone number is +31.|None|None|0|"
            "Foundry is one of the contacts.",
        ],
        {},
    ),
]  # fmt: skip


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts[0])
def test_what_is_known(tmp_path: Path, facts: Facts) -> None:
    """Kind, category, subject, words, since when, until when, how much else is known of it, and
    what it is associated with; each has an id of its own.
    """
    name, content, known, skipped = facts
    export = opened(tmp_path, name, content)
    memories = list(export.memories())
    by_key = {memory.key: memory.content for memory in memories}
    assert len(by_key) == len(memories)
    assert [
        f"{one.kind.value}|{one.category.value}|{one.subject}|{one.content}|{clock(one.at)}"
        f"|{clock(one.valid_to)}|{len(one.metadata or {})}"
        f"|{'+'.join(by_key[key] for key, _ in one.associations)}"
        for one in memories
    ] == list(known)
    assert export.notes.skipped == skipped


def test_a_note_has_as_many_links_as_a_memory_may(tmp_path: Path) -> None:
    """What is over is counted."""
    files = {f"{number:02}.md": "" for number in range(52)}
    files["Index.md"] = " ".join(f"[[{number:02}]]" for number in range(52))
    export = opened(tmp_path, "vault.zip", files)
    assert max(len(memory.associations) for memory in export.memories()) == 50
    assert export.notes.skipped == {"link of a note with over 50": 2}
