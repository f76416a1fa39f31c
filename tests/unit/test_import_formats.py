"""Exports of other systems, read into conversations and memories. No store is involved."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import exports
import pytest
from exports import saved, zipped

from remembrancer import InvalidInput
from remembrancer.importers import DateOrder, Export, Format, Options, Transcript, open_export
from remembrancer.importers.archives import MAX_RATIO
from remembrancer.importers.formats import slack, whatsapp
from remembrancer.importers.html_text import html_text
from remembrancer.importers.json_stream import elements
from remembrancer.importers.memory_import import _statement
from remembrancer.importers.turns import split
from remembrancer.importers.uploads import check_alone

PARIS = ZoneInfo("Europe/Paris")


def transcripts(export: Export) -> list[Transcript]:
    return list(export.transcripts())


def turns_of(transcript: Transcript) -> list[tuple[str, str | None, str]]:
    return [(turn.role.value, turn.platform_user_id, turn.content) for turn in transcript.turns]


def opened(path: Path, **options: Any) -> Export:
    return open_export(path, options=Options(**options))


# Each format ----------------------------------------------------------------------------


def test_chatgpt_follows_the_branch_that_was_open(tmp_path: Path) -> None:
    """An edited question counts as edited; pictures are captions, tools and thoughts left out."""
    files = {"conversations.json": exports.chatgpt(), "user.json": exports.CHATGPT_USER}
    export = opened(zipped(tmp_path / "export.zip", files))
    [transcript] = transcripts(export)
    assert (transcript.platform, transcript.title) == ("chatgpt", "Glazing")
    assert turns_of(transcript) == [
        ("user", "user-Qx7", "[photo: vase.jpg]\nI glaze pots in celadon green."),
        ("assistant", None, "Celadon suits a vase."),
    ]
    assert transcript.turns[0].sent_at == datetime(2024, 5, 8, 9, 21, 0, 500000, tzinfo=UTC)
    assert export.notes.skipped == {"system message": 1, "message of kind thoughts": 1}
    assert export.notes.unknown == {"conversation.brand_new_field": 1}


def test_case_57_chatgpt_in_numbered_parts(tmp_path: Path) -> None:
    """All parts, with voice, pictures and canvas; what is missing or not read is named."""
    export = opened(zipped(tmp_path / "export.zip", exports.chatgpt_parts()))
    assert export.format is Format.CHATGPT
    glazing, ash = transcripts(export)
    assert len(glazing.turns) == 2
    assert turns_of(ash) == [
        ("user", "user-Qx7", "Does ash melt?"),
        ("user", "user-Qx7", "[voice]"),
        ("user", "user-Qx7", "[photo]\nIs this ash?"),
        ("assistant", None, "[photo: A grey bowl]"),
        ("assistant", None, "[canvas: Recipe]\nTwo parts ash."),
        ("assistant", None, "[canvas]\nThree"),
    ]
    assert ash.turns[0].sent_at == datetime(2026, 3, 1, 10, 6, tzinfo=UTC)
    memories = list(export.memories())
    assert [(memory.content, memory.about) for memory in memories] == [
        ("I have a cat.", "user-Qx7"),
        ("I am a potter in Delft.", "user-Qx7"),
        ("Instructions for answers: Answer in one sentence.", "user-Qx7"),
        ("Instructions for project Kiln: Think in cone six.", "user-Qx7"),
    ]
    assert memories[1].at == datetime(2026, 3, 1, 10, 5, tzinfo=UTC)
    assert export.notes.skipped == {
        "system message": 1,
        "message of kind thoughts": 1,
        "missing file conversations-002.json": 1,
        "missing file conversations-004.json": 1,
        "file chat.html": 1,
        "dat file": 1,
    }
    (tmp_path / "unpacked").mkdir()
    saved(tmp_path / "unpacked" / "conversations-000.json", exports.chatgpt())
    (tmp_path / "unpacked" / "notes.txt").write_bytes(b"\xff is no UTF-8")
    assert len(transcripts(opened(tmp_path / "unpacked"))) == 1
    mixed = exports.chatgpt_parts() | {"export/conversations.json": exports.chatgpt()}
    assert len(transcripts(opened(zipped(tmp_path / "mixed.zip", mixed)))) == 3
    alone = saved(tmp_path / "one.json", exports.chatgpt()[0])
    assert len(transcripts(opened(alone))) == 1


def test_chatgpt_without_an_open_branch_takes_the_latest(tmp_path: Path) -> None:
    """Older exports do not say which leaf is current: the one written last is."""
    content = exports.chatgpt()
    del content[0]["current_node"]
    [transcript] = transcripts(opened(saved(tmp_path / "c.json", content)))
    assert transcript.turns[-1].content == "Celadon suits a vase."


def test_claude_takes_the_text_blocks(tmp_path: Path) -> None:
    """Thoughts and tools are left out, kinds nobody knows are reason, times keep their zone."""
    files = {"conversations.json": exports.claude(), "users.json": exports.CLAUDE_USERS}
    export = opened(zipped(tmp_path / "c.zip", files))
    [transcript] = transcripts(export)
    account = "99999999-0000-4000-8000-000000000001"
    assert turns_of(transcript) == [
        ("user", account, "[file: route.gpx]\nI hike the Vercors in June."),
        ("assistant", None, "Take the Grande Traversée."),
    ]
    assert transcript.people == {account: "Ada Berg"}
    assert next(transcript.messages()).metadata == {"sent_at": "2025-03-01T10:00:00+02:00"}
    assert export.notes.skipped == {"block of kind thinking": 1}
    assert export.notes.unknown == {"block.hologram": 1}


def test_case_57_claude_tells_the_branch_that_was_kept(tmp_path: Path) -> None:
    """A question that was taken back is not told as said; memory and projects come along."""
    files = exports.claude_archive()
    export = opened(zipped(tmp_path / "c.zip", files))
    [chat] = transcripts(export)
    assert [turn.content for turn in chat.turns] == [
        "Hut list: Nant, Vassieux\n[file: gear.pdf]\nWhich hut first?",
        "Nant.",
        "I love tents.",
        "Tents it is.",
    ]
    account = "99999999-0000-4000-8000-000000000001"
    memories = list(export.memories())
    assert {memory.about for memory in memories} == {account}
    assert [(memory.subject, memory.content) for memory in memories] == [
        ("Outdoors", "Ada hikes in the Alps."),
        ("Outdoors", "Prefers huts with a stove"),
        ("Outdoors", "Walks with a dog"),
        ("Vercors", "The route ends in Die."),
        ("Vercors", "Project Vercors: A walk of nine days."),
        ("Vercors", "Instructions for project Vercors: Give distances in kilometres."),
    ]
    assert export.notes.skipped == {
        "message of a branch that was not open": 2,
        "text of an attached file": 1,
        "document of a project": 1,
        "file in design_chats": 1,
    }
    files["conversations.json"][0]["current_leaf_message_uuid"] = "m4"
    [chat] = transcripts(opened(zipped(tmp_path / "leaf.zip", files)))
    assert chat.turns[-1].content == "Noted: no tents."
    files["conversations.json"][0]["chat_messages"][0]["parent_message_uuid"] = "m4"
    with pytest.raises(InvalidInput, match="its own ancestor"):
        transcripts(opened(zipped(tmp_path / "loop.zip", files)))


def test_case_57_gemini_of_takeout(tmp_path: Path) -> None:
    """A chat by its page, else by the day; the verb of the account's language goes."""
    export = opened(zipped(tmp_path / "takeout.zip", exports.gemini()))
    assert export.format is Format.GEMINI
    day, chat = transcripts(export)
    assert (day.conversation, chat.conversation, chat.personal) == ("2025-02-03", "b00c", True)
    assert turns_of(day) == [
        ("user", None, "[photo: crank.png]\nWhat is this?"),
        ("assistant", None, "A crank."),
    ]
    assert next(day.messages()).metadata == {"sent_at": "2025-02-03T04:05:06+01:00"}
    assert [turn.content for turn in chat.turns] == [
        "I tune in G.",
        "G it is.",
        "Which rosin for a hurdy-gurdy?",
        "Dark & soft rosin.\n- Warm it\n- Turn the wheel",
    ]
    assert export.notes.skipped == {
        "activity without a question": 1,
        "activity of YouTube": 1,
        "file in Takeout": 1,
    }
    assert export.notes.unknown == {"activity.novelty": 1}


def test_gemini_as_a_page(tmp_path: Path) -> None:
    """As in JSON, to the second; local times need a zone, and the day is that of UTC."""
    file = zipped(tmp_path / "takeout.zip", exports.gemini_html())
    with pytest.raises(InvalidInput, match="activity 1, time: has no time zone that is clear"):
        transcripts(opened(file))
    export = opened(file, time_zone=PARIS)
    assert export.format is Format.GEMINI
    peg, viol = transcripts(export)
    assert (peg.conversation, viol.conversation) == ("2025-02-02", "2026-09-13")
    assert turns_of(peg) == [
        ("user", None, "[photo: peg.png]\nWhat is this?"),
        ("assistant", None, "A peg."),
    ]
    assert turns_of(viol) == [
        ("user", None, "Which peg for a viol?\nIs ebony too hard?"),
        ("assistant", None, "Boxwood turns well.\n- Shape it\nfirst"),
    ]
    assert [str(chat.turns[0].sent_at) for chat in (peg, viol)] == [
        "2025-02-03 00:05:06+01:00",
        "2026-09-13 13:01:02+02:00",
    ]
    assert export.notes.skipped == {
        "activity without a question": 1,
        "activity of YouTube": 1,
        "file in Takeout": 1,
    }
    page = saved(tmp_path / "MyActivity.html", exports.gemini_html().popitem()[1])
    with pytest.raises(InvalidInput, match="looks like a web page"):
        opened(page)
    both = exports.gemini_html() | exports.gemini()
    assert len(transcripts(opened(zipped(tmp_path / "both.zip", both)))) == 2


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("1. 1. 2026 10:05:00 SEČ", "2026-01-01 10:05:00+01:00"),
        ("03.02.2025, 04:05:06 MEZ", "2025-02-03 04:05:06+01:00"),
        ("3 févr. 2025, 04:05:06 CET", "2025-02-03 04:05:06+01:00"),
        ("3 лют. 2025 р., 04:05:06 EET", "2025-02-03 04:05:06+01:00"),  # noqa: RUF001
        ("2025/02/03 午後4:05:06 JST", "2025-02-03 16:05:06+01:00"),
        ("2025. 2. 3. 오전 12:05:06 KST", "2025-02-03 00:05:06+01:00"),
        ("13/02/2025, 04:05:06 UTC", "2025-02-13 04:05:06+00:00"),
        ("May 3, 2025, 4:05:06 a.m. GMT+05:30", "2025-05-03 04:05:06+05:30"),
        ("03/02/2025, 04:05:06 CET", "name it with --date-order"),
        ("32.13.2025, 04:05:06", "is not a date that is known"),
        ("3 Wxyz 2025, 04:05:06", "is not a date that is known"),
    ],
)
def test_times_of_a_page_of_gemini(tmp_path: Path, written: str, at: str) -> None:
    """In the languages whose dates can be read in one way."""
    page = exports.gemini_page(Gemini=f"Prompted Hi.<br>{written}<br><p>Yes.</p>")
    export = opened(saved(tmp_path / "MyActivity.html", page), time_zone=PARIS)
    if at.startswith("20"):
        assert str(transcripts(export)[0].turns[0].sent_at) == at
    else:
        with pytest.raises(InvalidInput, match=at):
            transcripts(export)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Ash &amp; clay</p>", "Ash & clay"),
        ("1 < 2 and 3 <4", "1 < 2 and 3 <4"),
        ("<UL><li>One<li class='x'>Two</UL>", "- One\n- Two"),
        ("<title>T</title><style>p { }</style><script>if (a<b) {}</script>Said.", "Said."),
        ("<!--[if mso]><p>Old</p><![endif]-->New<br/>line", "New\nline"),
        ("<td>a</td><td>b</td>", "a\tb"),
        ("a <b", "a <b"),
        ("</\n>a</ >", "a"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
    ],
)
def test_html_as_text(html: str, text: str) -> None:
    """Blocks are lines, points have dashes; styles, programs and remarks say nothing."""
    assert html_text(html) == text


def test_case_57_claude_code_tells_what_was_not_taken_back(tmp_path: Path) -> None:
    """Thoughts, tools, notes of the program and its agents are named and left."""
    export = opened(zipped(tmp_path / "projects.zip", exports.claude_code()))
    assert export.format is Format.CLAUDE_CODE
    [session] = transcripts(export)
    assert session.title == "Treadles"
    assert session.conversation == "5e55104e-0000-4000-8000-000000000001"
    assert turns_of(session) == [
        ("user", None, "Read the treadle plan."),
        ("assistant", None, "The loom has six treadles."),
        ("user", None, "I weave herringbone twill.\n[photo]"),
        ("assistant", None, "Herringbone it is."),
        ("user", None, "Mind the selvedge."),
    ]
    assert session.turns[1].sent_at == datetime(2026, 1, 20, 11, 55, 17, 716000, tzinfo=UTC)
    assert export.notes.skipped == {
        "block of kind thinking": 1,
        "block of kind tool_use": 1,
        "block of kind tool_result": 1,
        "note of the program": 1,
        "message that was taken back": 2,
        "message of an agent that the model started": 1,
        "conversation without messages": 1,
        "file in memory": 1,
    }
    assert export.notes.unknown == {"block.hologram": 1}
    [alone] = exports.claude_code().keys() & {f"-src-shed/{session.conversation}.jsonl"}
    single = opened(saved(tmp_path / "any.jsonl", exports.claude_code()[alone]))
    assert transcripts(single) == [session]


def test_case_57_codex_of_both_forms(tmp_path: Path) -> None:
    """What an editor adds to a request goes, and a turn that was taken back."""
    for name, content in exports.codex().items():
        saved(tmp_path / "sessions" / name, content)
    export = opened(tmp_path / "sessions")
    assert export.format is Format.CODEX
    old, new = transcripts(export)
    assert (old.conversation, new.conversation, new.title) == ("01d", "c0de", "orrery")
    assert turns_of(new) == [
        ("user", None, "Build me an orrery."),
        ("assistant", None, "The orrery has six planets."),
        ("user", None, "Add Uranus in brass."),
    ]
    assert new.turns[0].sent_at == datetime(2026, 2, 1, 10, 2, 0, 500000, tzinfo=UTC)
    assert [turn.content for turn in old.turns] == ["Gears of pearwood?", "Pearwood wears well."]
    assert old.turns[1].sent_at == datetime(2025, 7, 1, 10, tzinfo=UTC)
    assert export.notes.skipped == {
        "line of kind state": 1,
        "developer item": 1,
        "function_call item": 1,
        "note of the program": 1,
        "message that was taken back": 2,
        "file without a session": 1,
    }


def test_case_57_open_webui_follows_the_open_branch(tmp_path: Path) -> None:
    """Thoughts in the text of an answer go; the account is that of the only person."""
    export = opened(saved(tmp_path / "chats.json", exports.open_webui()))
    assert export.format is Format.OPEN_WEBUI
    [chat] = transcripts(export)
    assert chat.title == "Madder"
    assert turns_of(chat) == [
        ("user", "owui-ada", "[photo]\n[file: vat.pdf]\nI dye wool with madder."),
        ("assistant", None, "Madder wants alum."),
    ]
    assert [turn.sender for turn in chat.turns] == [None, "Gemma"]
    assert chat.turns[0].sent_at == datetime(2026, 3, 1, 10, 6, 1, tzinfo=UTC)
    assert export.notes.skipped == {
        "message of a branch that was not open": 1,
        "reasoning in an answer": 1,
    }
    assert export.notes.unknown == {"chat.glyph": 1}
    account = export.account()
    assert account is not None
    assert account.platform_user_id == "owui-ada"
    bobs = exports.open_webui()[0] | {"id": "b", "user_id": "owui-bob"}
    of_two = opened(saved(tmp_path / "all.json", [*exports.open_webui(), bobs]))
    assert of_two.account() is None
    assert len(transcripts(of_two)) == 2


@pytest.mark.parametrize("recursive", [True, False])
def test_case_57_librechat_as_a_list_and_as_a_tree(tmp_path: Path, recursive: bool) -> None:
    """The branch with the latest message, without thoughts."""
    export = opened(saved(tmp_path / "strings.json", exports.librechat(recursive)))
    assert export.format is Format.LIBRECHAT
    [chat] = transcripts(export)
    assert turns_of(chat) == [
        ("user", None, "Where do I buy gut strings?"),
        ("assistant", None, "In Cremona."),
        ("user", None, "[photo: lute.png]\nMy lute has gut strings."),
    ]
    assert chat.turns[1].sender == "Claude"
    assert chat.turns[2].sent_at == datetime(2026, 3, 1, 10, 3, tzinfo=UTC)
    assert export.notes.skipped == {
        "message of a branch that was not open": 1,
        "part of kind think": 1,
    }
    assert not export.notes.unknown


def test_case_57_sillytavern_times_of_all_forms(tmp_path: Path) -> None:
    """Local times need a zone; what a narrator says is nobody's."""
    file = saved(tmp_path / "Seraphina - 2024-5-8.jsonl", exports.SILLYTAVERN)
    with pytest.raises(InvalidInput, match="line 2, send_date: has no time zone"):
        transcripts(opened(file))
    export = opened(file, time_zone=PARIS)
    assert export.format is Format.SILLYTAVERN
    [chat] = transcripts(export)
    assert (chat.conversation, chat.personal) == ("Seraphina/Seraphina - 2024-5-8", True)
    assert turns_of(chat) == [
        ("assistant", None, "You wake in a glade."),
        ("user", None, "[photo: theorbo.png]\nI carry a theorbo."),
        ("assistant", None, "Play it."),
    ]
    assert [turn.sent_at.isoformat() for turn in chat.turns if turn.sent_at] == [
        "2024-05-08T12:00:00+02:00",
        "2024-05-08T12:01:30+02:00",
        "2024-05-08T10:02:00+00:00",
    ]
    assert export.notes.skipped == {"message of kind narrator": 1}


@pytest.mark.parametrize("unpacked", [True, False])
def test_slack_names_people_and_keeps_threads_together(tmp_path: Path, unpacked: bool) -> None:
    """Marks become names, an answer stands after what it answers, bots are assistants."""
    if unpacked:
        for name, content in exports.slack().items():
            saved(tmp_path / "export" / name, content)
    else:
        zipped(tmp_path / "export", exports.slack())
    export = opened(tmp_path / "export")
    channel, direct = transcripts(export)
    assert (channel.conversation, channel.title) == ("C1", "#workshop")
    assert turns_of(channel) == [
        (
            "user",
            "U1",
            "@Bob Chen the kiln & the #workshop are booked, see the plan (https://k.example)",
        ),
        ("user", "U2", "[photo: cones.png]\nI fire at cone six."),
        ("user", "U1", "Unrelated: my apron is linen."),
        ("assistant", None, "Noted."),
        ("assistant", None, "Alert for @Bob Chen\nKiln 2\nThermocouple drifts\nDegrees: 1222"),
        ("assistant", None, "Firing over\nCone 6"),
    ]
    assert channel.people == {"U1": "Ada", "U2": "Bob Chen"}
    assert direct.conversation == "D1"
    assert export.notes.skipped == {
        "message of kind channel_join": 1,
        "preview of a link or shared message": 1,
    }
    assert export.notes.unknown == {"message.surprise": 1}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!here> <!subteam^S1|@potters>", "@here @potters"),
        ("<@U9|eve> and <@U8>", "@eve and @U8"),
        ("<mailto:a@b.example|a@b.example> 1 &lt; 2", "a@b.example (mailto:a@b.example) 1 < 2"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_slack_marks(text: str, shown: str) -> None:
    """What Slack writes between angle brackets is shown as it was."""
    assert slack.plain(text, slack.Names({}, {})) == shown


def test_discord_exporter(tmp_path: Path) -> None:
    """Nicknames, mentions and attachments; the bot is the assistant, joins are left out."""
    export = opened(saved(tmp_path / "general.json", exports.discord()))
    [transcript] = transcripts(export)
    assert (transcript.conversation, transcript.title) == ("77", "Pottery #general")
    assert turns_of(transcript) == [
        ("user", "18Ada", "My wheel is a Brent."),
        ("user", "18Bob", "[photo: wheel.png]\n@Ada mine is a Shimpo"),
        ("assistant", None, "Two wheels noted."),
    ]
    at = transcript.turns[0].sent_at
    assert at is not None
    assert at.utcoffset() == timedelta(hours=2)
    assert export.notes.skipped == {"message of kind GuildMemberJoin": 1}


def test_discord_data_package(tmp_path: Path) -> None:
    """What its owner said, in the order of its times, from JSON and from older CSV."""
    export = opened(zipped(tmp_path / "package.zip", exports.discord_package()))
    general, direct = transcripts(export)
    assert (general.title, direct.title) == ("Pottery #general", "Direct Message with bob#0")
    assert turns_of(general) == [
        ("user", "18Ada", "My wheel is a Brent."),
        ("user", "18Ada", "I sold it."),
    ]
    assert turns_of(direct) == [("user", "18Ada", "[photo: cat.jpg]\nHello, you")]
    assert export.account() is not None
    assert export.notes.skipped == {"file in servers": 1}


def test_telegram_chat(tmp_path: Path) -> None:
    """Text in pieces is one, the zone is that of the exporter's clock, calls are left out."""
    export = opened(saved(tmp_path / "result.json", exports.telegram()))
    [transcript] = transcripts(export)
    assert transcript.conversation == "11-22"
    assert turns_of(transcript) == [
        ("user", "11", "[photo: loom.jpg]\nLook at my new loom"),
        ("user", "22", "[sticker: 🧶]\nI weave with alpaca."),
    ]
    assert [message.metadata for message in transcript.messages()] == [
        {"sent_at": "2024-05-08T14:01:00+02:00"},
        {"sent_at": "2024-05-08T14:02:00+02:00"},
    ]
    assert export.notes.skipped == {"message of kind service": 1}
    assert export.notes.unknown == {"message.holographic": 1}


def test_telegram_account(tmp_path: Path) -> None:
    """All chats, each under the id that a bot there sees, and whose account it is."""
    export = opened(saved(tmp_path / "result.json", exports.telegram_account()))
    assert [transcript.conversation for transcript in transcripts(export)] == ["11-22", "-10033"]
    account = export.account()
    assert account is not None
    assert (account.platform_user_id, account.name) == ("11", "Ada Berg")


def test_telegram_times_without_a_zone_need_one(tmp_path: Path) -> None:
    """An older export has local times only: their zone must be said."""
    content = exports.telegram()
    for message in content["messages"]:
        message.pop("date_unixtime", None)
    file = saved(tmp_path / "result.json", content)
    with pytest.raises(InvalidInput, match=r"message 2, date: has no time zone; .* --time-zone"):
        transcripts(opened(file))
    [transcript] = transcripts(opened(file, time_zone=PARIS))
    assert transcript.turns[0].sent_at == datetime(2024, 5, 8, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize("shifted", [True, False])
def test_case_57_telegram_with_numeric_ids(tmp_path: Path, shifted: bool) -> None:
    """An export of before 2021 is the same chat of the same people with the same messages."""
    [new] = transcripts(opened(saved(tmp_path / "new.json", exports.telegram())))
    file = saved(tmp_path / "old.json", exports.telegram_before_2021(shifted))
    [old] = transcripts(opened(file, time_zone=PARIS))
    assert (old.conversation, old.partner, old.people) == ("11-22", "22", new.people)
    assert list(old.messages()) == list(new.messages())


def test_whatsapp_of_android(tmp_path: Path) -> None:
    """Lines of one message, colons in it, attachments with words, numbers, the application."""
    file = saved(tmp_path / "WhatsApp Chat with Bob.txt", exports.ANDROID)
    export = opened(file, time_zone=PARIS, me="ada")
    [transcript] = transcripts(export)
    assert transcript.personal
    assert transcript.title == "Bob"
    assert turns_of(transcript) == [
        ("user", None, "The goose is in the oven\nand the plums: too"),
        ("user", "Bob", "[photo: IMG-20231226-WA0001.jpg]\nLeftovers"),
        ("user", "+447700900123", "[media]"),
        ("user", "Bob", "I am allergic to walnuts"),
    ]
    assert transcript.turns[0].sent_at == datetime(2023, 12, 25, 20, 6, tzinfo=UTC)
    assert export.notes.skipped == {"system message": 2}


def test_whatsapp_of_ios(tmp_path: Path) -> None:
    """Brackets and seconds, marks that are not seen; of two, the other one is the exporter."""
    file = zipped(tmp_path / "WhatsApp Chat - Bob.zip", {"_chat.txt": exports.IOS, "0001.jpg": "x"})
    [transcript] = transcripts(opened(file, time_zone=PARIS))
    assert turns_of(transcript) == [
        ("user", None, "My train is at 9:40"),
        ("user", "Bob", "[photo: 0001-PHOTO-2024.jpg]"),
        ("user", "Bob", "I bring the tent"),
        ("user", None, "[photo]"),
    ]
    assert transcript.turns[0].sent_at == datetime(2024, 3, 1, 20, 6, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dates", "options", "day"),
    [
        (("13/01/24", "01/02/24"), {}, (2024, 1, 13)),
        (("1/13/24", "2/1/24"), {}, (2024, 1, 13)),
        (("2024/01/13", "2024/02/01"), {}, (2024, 1, 13)),
        (("13.01.2024", "01.02.2024"), {}, (2024, 1, 13)),
        # Both are dates either way, but only one way time does not run backwards.
        (("09/10/2024", "10/09/2024"), {}, (2024, 9, 10)),
        (("05/06/2024", "06/07/2024"), {"date_order": DateOrder.MDY}, (2024, 5, 6)),
        (("05/06/2024", "06/07/2024"), {"date_order": DateOrder.DMY}, (2024, 6, 5)),
    ],
)
def test_whatsapp_date_orders(
    tmp_path: Path, dates: tuple[str, str], options: dict[str, Any], day: tuple[int, int, int]
) -> None:
    """The order is memories out where the dates leave one only, else it is what was said."""
    text = "".join(
        f"{date}, 12:0{n} - {who}: Hi\n"
        for n, (date, who) in enumerate(zip(dates, ("Ada", "Bob"), strict=True))
    )
    file = saved(tmp_path / "WhatsApp Chat with Bob.txt", text)
    [transcript] = transcripts(opened(file, time_zone=UTC, **options))
    assert transcript.turns[0].sent_at == datetime(*day, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("05/06/24, 12:00 - Bob: a\n06/07/24, 12:00 - Ada: b", {}, "--date-order dmy or mdy"),
        ("13/06/24, 12:00 - Bob: a\n14/06/24, 12:00 - Ada: b", {}, "--date-order dmy or ymd"),
        ("13/13/24, 12:00 - Bob: a\n13/13/24, 12:00 - Ada: b", {}, "dates in mixed orders"),
        ("13/01/24, 25:00 - Bob: a", {}, "line 1: has an invalid time"),
        ("13/01/24, 12:00 - Bob: a", {}, "name the sender who is"),
        # A group in which one person wrote, or a chat without an answer.
        ("13/01/24, 12:00 - Eve: a", {}, "name the sender who is"),
        ("13/01/24, 12:00 - Bob: a", {"me": "Eve"}, "has no sender with the name"),
        ("hello\n13/01/24, 12:00 - Bob: a", {}, "line 1: is no WhatsApp message"),
        ("13/01/24, 12:00 - Bob: a", {"time_zone": None}, "--time-zone"),
        ("", {}, "has no WhatsApp message"),
    ],
)
def test_whatsapp_says_what_is_missing(
    tmp_path: Path, text: str, options: dict[str, Any], reason: str
) -> None:
    """What the file leaves open is asked for by the name of the option, never guessed."""
    file = saved(tmp_path / "WhatsApp Chat with Bob.txt", text)
    export = open_export(file, Format.WHATSAPP, Options(**{"time_zone": UTC} | options))
    with pytest.raises(InvalidInput, match=reason):
        transcripts(export)


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("12/31/23, 11:59\u202fPM - Ada: x", True),
        ("31.12.23, 23:59 - Ada: x", True),
        ("31/12/23 11:59 p. m. - Ada: x", True),
        ("[31.12.23, 23:59:01] Ada: x", True),
        ("2023-12-31 a note - Ada: x", False),
        ("Dear Ada, 12 - 13", False),
    ],
)
def test_whatsapp_beginnings(line: str, is_one: bool) -> None:
    """Both applications, all separators, either clock."""
    assert whatsapp.looks_like(line) is is_one


def test_mem0(tmp_path: Path) -> None:
    """Ids, owners, times and categories come over; a bare list is read like an answer."""
    answer = exports.mem0()
    for name, content in (("a.json", answer), ("b.json", answer["results"])):
        export = opened(saved(tmp_path / name, content))
        viola, luthier = export.memories()
        assert export.format is Format.MEM0
        assert viola.key == "bf4d4092cf914181bfebb6fa2ed3061b"
        assert (viola.about, viola.category.value) == ("ada-m", "hobby")
        assert viola.at == datetime(2025, 1, 5, 17, 0, tzinfo=UTC)
        assert viola.metadata == {"mem0_metadata": {"chair": 3}}
        assert luthier.metadata == {"mem0_agent_id": "helper"}
        assert export.notes.unknown == {"memory.novelty": 1}


def test_zep(tmp_path: Path) -> None:
    """Facts have the times of their truth, and their subject where the nodes are there."""
    export = opened(saved(tmp_path / "facts.json", exports.zep()))
    assert export.format is Format.ZEP
    now, before = export.memories()
    assert (now.content, now.subject) == ("Ada plays the nyckelharpa.", "Ada")
    assert now.at == datetime(2025, 5, 1, 10, tzinfo=UTC)
    assert (now.valid_from, now.valid_to) == (datetime(2025, 4, 1, tzinfo=UTC), None)
    assert now.metadata == {"zep_relation": "PLAYS", "zep_attributes": {"since": "spring"}}
    assert before.valid_to == datetime(2025, 3, 1, tzinfo=UTC)
    assert export.notes.skipped == {"summary of a node": 1}
    assert export.notes.unknown == {"edge.novelty": 1}
    named = exports.zep()["edges"][0] | {"source_node_name": "Ada Berg"}
    [memory] = opened(saved(tmp_path / "named.json", [named])).memories()
    assert memory.subject == "Ada Berg"
    bare = opened(saved(tmp_path / "bare.json", exports.zep()["edges"]))
    assert [memory.key for memory in bare.memories()] == [now.key, before.key]
    backwards = exports.zep()["edges"][1] | {"invalid_at": "2020-01-01T00:00:00Z"}
    [memory] = opened(saved(tmp_path / "b.json", [backwards])).memories()
    assert (memory.valid_from, memory.valid_to) == (None, datetime(2020, 1, 1, tzinfo=UTC))


def test_letta(tmp_path: Path) -> None:
    """A statement of each paragraph about the person; passages; nothing of the agent itself."""
    export = opened(saved(tmp_path / "agent.af", exports.letta()))
    assert export.format is Format.LETTA
    assert [(memory.content, memory.subject) for memory in export.memories()] == [
        ("Ada binds books.", None),
        ("Ada lives in Ghent.", None),
        ("A missal in vellum.", "current project"),
    ]
    assert export.notes.skipped == {"block of the agent itself": 1}
    [chat] = transcripts(export)
    assert (chat.conversation, chat.title, chat.personal) == ("Sam", "Sam", True)
    assert turns_of(chat) == [
        ("user", None, "Which leather for a spine?"),
        ("assistant", None, "Goatskin, then."),
        ("user", None, "Thin it?"),
        ("assistant", None, "With a spokeshave."),
    ]
    assert [turn.sender for turn in chat.turns] == [None, "Sam", None, "Sam"]
    assert chat.turns[0].sent_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert export.notes.skipped == {
        "system message without words for the person": 1,
        "message of kind heartbeat": 1,
        "assistant message without words for the person": 1,
        "tool message without words for the person": 1,
    }
    assert export.notes.unknown == {
        "message.novelty": 1,
        "message.a": 1,
        "message.b": 1,
        "message.c": 1,
    }
    passages = opened(saved(tmp_path / "passages.json", exports.PASSAGES))
    [marbles] = passages.memories()
    assert marbles.metadata == {"letta_tags": ["craft"]}
    assert marbles.at == datetime(2025, 11, 5, 23, 4, 24, 901468, tzinfo=UTC)
    assert passages.notes.skipped == {"deleted passage": 1}


def test_langmem(tmp_path: Path) -> None:
    """Texts, and fields of a schema line by line; the namespace names the person."""
    export = opened(saved(tmp_path / "items.json", exports.langmem()))
    assert export.format is Format.LANGMEM
    memories = list(export.memories())
    assert [memory.content for memory in memories] == [
        "Ada grafts quinces.",
        "Ada has bees.",
        "category: fruit\nlikes: medlars",
    ]
    assert {memory.about for memory in memories} == {"ada-l"}
    assert memories[0].at == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert [memory.metadata for memory in memories] == [
        None, {"langmem_kind": "Memory"}, {"langmem_kind": "Taste"},
    ]  # fmt: skip


def test_hindsight(tmp_path: Path) -> None:
    """Kinds and times come over; what is valid no more is named and left."""
    answer = exports.hindsight()
    for name, content in (("a.json", answer), ("b.json", answer["items"])):
        export = opened(saved(tmp_path / name, content))
        assert export.format is Format.HINDSIGHT
        pears, canker = export.memories()
        assert (pears.kind.value, canker.kind.value) == ("fact", "event")
        assert pears.at == datetime(2025, 7, 1, 10, tzinfo=UTC)
        assert canker.metadata == {
            "hindsight_type": "experience",
            "hindsight_context": "garden",
            "hindsight_entities": "Ada (PERSON)",
            "hindsight_occurred_start": "2025-07-02T09:00:00+00:00",
        }
        assert export.notes.skipped == {"memory that is not valid": 1}


def test_mcp_memory(tmp_path: Path) -> None:
    """Entities, observations that say whom they are about, relations associated with both ends."""
    export = opened(saved(tmp_path / "memory.jsonl", exports.MCP))
    memories = list(export.memories())
    assert [memory.content for memory in memories] == [
        "Ada Berg is of type person.",
        "Ada Berg: Speaks fluent Catalan",
        "Ada_Berg bakes rye bread",
        "Fjord is of type project.",
        "Ada Berg works at Fjord.",
    ]
    assert [[key for key, _ in memory.associations] for memory in memories] == [
        [],
        [memories[0].key],
        [memories[0].key],
        [],
        [memories[0].key, memories[3].key],
    ]
    assert export.notes.unknown == {"record of type chord": 1}


def test_an_entity_of_the_mcp_server_is_nobodys_identity(tmp_path: Path) -> None:
    """A person or a project is a fact; a type that is a kind says so."""
    types = ["person", "Project", "", "Event", "task", "place"]
    lines = [{"type": "entity", "name": f"N{n}", "entityType": t} for n, t in enumerate(types)]
    export = opened(saved(tmp_path / "memory.jsonl", exports.lines(*lines)))
    kinds = [memory.kind.value for memory in export.memories()]
    assert kinds == ["fact", "fact", "fact", "event", "todo", "fact"]


# What is broken -------------------------------------------------------------------------


def _without(content: Any, *path: Any) -> Any:
    at = content
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return content


@pytest.mark.parametrize(
    ("content", "format_", "reason"),
    [
        (
            _without(exports.chatgpt(), 0, "mapping", "root"),
            "chatgpt",
            "mapping.root: is named as a parent",
        ),
        (
            _without(exports.chatgpt(), 0, "mapping", "new", "message", "author"),
            "chatgpt",
            "f.json, 1, mapping.new, author: is required",
        ),
        (_without(exports.chatgpt(), 0, "conversation_id"), "chatgpt", "conversation_id: is miss"),
        (_without(exports.claude(), 0, "chat_messages", 0, "uuid"), "claude", "1, message 1, uuid"),
        (_without(exports.discord(), "messages", 1, "author"), "discord", "message 2, author"),
        (_without(exports.telegram(), "messages", 1, "id"), "telegram", "message 2, id"),
        (_without(exports.mem0(), "results", 1, "memory"), "mem0", "memory 2, memory"),
        (_without(exports.zep(), "edges", 0, "fact"), "zep", "edge 1, fact: is required"),
        ({"agents": []}, "letta", "has no blocks; save an agent file"),
        (_without(exports.langmem(), 1, "key"), "langmem", "f.json, 2, key: is required"),
        (_without(exports.hindsight(), "items", 1, "id"), "hindsight", "memory 2, id"),
        ({"type": "entity"}, "mcp-memory", "line 1, name: is required"),
        (["x"], "chatgpt", "f.json, 1: is not an object"),
        ('[{"uuid": "x", "chat_messages": []},', "claude", "f.json, line 1: is not valid JSON"),
        ('[{"a": 1} {"b": 2}]', "chatgpt", "f.json, 1"),
        ("{}", "slack", "has no users.json"),
        ("[" * 100_000, "telegram", "is nested too deeply"),
        ("[1, 2]", "mem0", "memory 1: is not an object"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, content: Any, format_: str, reason: str) -> None:
    """The error names the file, the place in it and the reason, and nothing that was said."""
    export = open_export(saved(tmp_path / "f.json", content), Format(format_))
    with pytest.raises(InvalidInput) as error:
        list(chain(export.transcripts(), export.memories()))
    assert str(error.value).startswith("f.json")
    assert reason in str(error.value)
    assert "glaze" not in str(error.value)


def test_a_tree_that_bites_its_tail_is_refused(tmp_path: Path) -> None:
    """A message that is its own ancestor does not make the import go on for ever."""
    content = exports.chatgpt()
    content[0]["mapping"]["root"]["parent"] = "answer"
    with pytest.raises(InvalidInput, match="is its own ancestor"):
        transcripts(opened(saved(tmp_path / "f.json", content)))


def test_text_that_cannot_be_stored_is_mended(tmp_path: Path) -> None:
    """NUL and lone surrogates go; what is then blank is left out; long messages become several."""
    content = exports.claude()
    first, second = content[0]["chat_messages"]
    first["content"][0]["text"] = "a\x00b \ud800 " + "word " * 20
    first["attachments"] = []
    second["content"] = [{"type": "text", "text": "\x00 \u200b"}]
    export = opened(saved(tmp_path / "f.json", json.dumps(content)), longest=50)
    [transcript] = transcripts(export)
    assert [len(turn.content) <= 50 for turn in transcript.turns] == [True] * 3
    assert " ".join(turn.content for turn in transcript.turns) == "ab ? " + " ".join(["word"] * 20)
    ids = [message.platform_message_id for message in transcript.messages()]
    assert ids == [first["uuid"], f"{first['uuid']}-2", f"{first['uuid']}-3"]
    assert export.notes.skipped["message without text"] == 1


def _with(content: Any, value: Any, *path: Any) -> Any:
    at = content
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return content


_HIDDEN_NOTE = json.dumps(
    {"type": "entity", "name": "A", "entityType": "x", "observations": ["\u200b"]}
)


_ODD_KINDS = exports.lines(
    {
        "type": "user", "uuid": "b", "sessionId": "s",
        "message": {"content": [{"type": {}}, {"type": "text", "text": "Hi."}]},
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "format_", "items"),
    [
        (_with(exports.mem0(), "x" * 9000, "results", 0, "metadata", "a"), "mem0", 2),
        (_with(exports.zep(), "0001-01-01T00:00:00", "edges", 0, "valid_at"), "zep", 2),
        (_ODD_KINDS, "claude-code", 1),
        (exports.ANDROID.replace("The goose", "\x00The goose"), "whatsapp", 4),
        (_with(exports.mem0(), "\u200b", "results", 0, "memory"), "mem0", 1),
        (_HIDDEN_NOTE, "mcp-memory", 1),
        (_with(exports.claude(), "x" * 255, 0, "chat_messages", 0, "uuid"), "claude", 5),
        (_with(exports.telegram(), 10**300, "messages", 1, "id"), "telegram", "message 2, id"),
    ],
)
def test_what_a_store_would_refuse_is_mended_or_refused_before(
    tmp_path: Path, content: Any, format_: str, items: int | str
) -> None:
    """NUL goes, hidden text is none, ids have their length, parts of a message included."""
    options = Options(time_zone=UTC, me="ada", longest=20 if format_ == "claude" else 32_000)
    export = open_export(saved(tmp_path / "f.json", content), Format(format_), options)
    if isinstance(items, str):
        with pytest.raises(InvalidInput, match=items):
            transcripts(export)
    else:
        messages = [message for one in export.transcripts() for message in one.messages()]
        statements = [_statement(memory) for memory in export.memories()]
        assert len(messages) + len(statements) == items


def test_splitting_loses_no_word() -> None:
    """Parts are as long as they may be at most, cut between words where there are any."""
    assert split("one two three", 9) == ["one two", "three"]
    assert split("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_elements_of_a_list_come_one_by_one() -> None:
    """A list of any spacing is read without the rest; what is no list is its own element."""
    assert [v for _, v in elements(' [ 1 ,{"a": [2]}\n, "x", 12] ', "f")] == [
        1,
        {"a": [2]},
        "x",
        12,
    ]
    assert list(elements("[]", "f")) == []
    assert list(elements('{"a": 1}', "f")) == [("f", {"a": 1})]
    for broken in ("[1,]", "[1 2]", "[1] 2", "[1", "[", ""):
        with pytest.raises(InvalidInput, match="is not valid JSON"):
            list(elements(broken, "f"))


# Archives -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../conversations.json", "/etc/x.json", "a/../../b", "a\\..\\b"])
def test_paths_that_lead_out_of_an_archive_are_refused(tmp_path: Path, name: str) -> None:
    """Nothing is unpacked to disk anyway, but such an archive is no export."""
    file = zipped(tmp_path / "e.zip", {"conversations.json": "[]", name: "[]"})
    with pytest.raises(InvalidInput, match="has a path out of the archive"):
        open_export(file)


def test_a_file_packed_beyond_belief_is_not_unpacked(tmp_path: Path) -> None:
    """A zip bomb is refused by what it says of itself, and by what comes out of it."""
    file = tmp_path / "bomb.zip"
    bomb = "[" + " " * (MAX_RATIO * 20_000) + "]"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", bomb)
    with pytest.raises(InvalidInput, match="compressed too much"):
        open_export(file)
    # One that claims to be small is read no further than that.
    content = file.read_bytes()
    for size in (len(bomb).to_bytes(4, "little"),):
        content = content.replace(size, (10).to_bytes(4, "little"))
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"bomb\.zip"):
        open_export(file)


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    """Cut off, empty, or damaged inside: one line each."""
    whole = zipped(tmp_path / "e.zip", {"conversations.json": exports.chatgpt()}).read_bytes()
    for name, content, reason in (
        ("cut.zip", whole[:-30] + b"PK\x05\x06" + bytes(18), "is an empty archive"),
        ("bad.zip", whole[:60] + bytes(40) + whole[100:], "cannot be unpacked"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=reason):
            open_export(tmp_path / name)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    """A link to a file elsewhere is not part of an export."""
    saved(tmp_path / "secret.json", exports.claude())
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "conversations.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(InvalidInput, match="empty folder"):
        open_export(folder)


def test_what_is_no_known_export_is_refused(tmp_path: Path) -> None:
    """An archive of anything else is not guessed at."""
    file = zipped(tmp_path / "e.zip", {"a.json": "[]", "b.json": "[]"})
    with pytest.raises(InvalidInput, match="is not a known export"):
        open_export(file)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("messages.html", b"<!DOCTYPE html><p>Hi</p>", "a web page; export the chats again"),
        ("a.pdf", b"%PDF-1.7\xff", "a PDF document"),
        ("chat.db", b"SQLite format 3\x00\xff", "a database of an application"),
        ("a.tgz", b"\x1f\x8b\x08\xff", "a gzip archive; unpack it"),
        ("a.txt", "Hi".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        ("a.txt", b"\xe9t\xe9", "is not UTF-8 text"),
        ("a.txt", b"Dear diary, hello", "no line begins with a date"),
        ("signal-2024.backup", b"\x00\x00\x00\xff", "backup of a telephone, which is encrypted"),
        (
            "sms.xml",
            b"<?xml version='1.0'?>\n<!-- x -->\n<smses count='1'>",
            "export Signal on a computer",
        ),
        ("a.xml", b"<?xml version='1.0'?><x/>", "looks like XML"),
        ("a.csv", b"when,who,what\n1,2,3", "a table; name its format"),
        ("a.json", b'{"entries": [], "owner": 1}', "JSON with the fields entries, owner"),
        ("a.json", b'[{"entry": 1}]', "JSON with the fields entry, but no known export"),
        ("a.txt", b"BEGIN:VCARD\n", "contacts; import it with --format contacts"),
        ("a.json", b'[{"entry": 1}', "is not valid JSON"),
    ],
)
def test_an_unknown_file_says_what_it_looks_like(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    """And what could be done with it."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        transcripts(opened(tmp_path / name))


def test_an_upload_is_unpacked_to_a_bound(tmp_path: Path) -> None:
    """What the pages read may be smaller than what the command line does."""
    file = zipped(tmp_path / "e.zip", {"conversations.json": list(range(400_000))})
    with pytest.raises(InvalidInput, match="is over 2 MB"):
        open_export(file, most=2 << 20)
    assert open_export(file).format is Format.JSON


def test_an_export_of_one_person_is_theirs_whatever_they_are_called(tmp_path: Path) -> None:
    """No platform id and no conversation of a platform is left in it; others are refused."""
    user_id = uuid4()
    files = {"conversations.json": exports.chatgpt(), "user.json": {"id": "user-1", "email": "a@b"}}
    export = open_export(zipped(tmp_path / "c.zip", files))
    check_alone(export)
    export.owner = user_id
    [transcript] = export.transcripts()
    assert transcript.conversation.startswith(f"{user_id}:")
    assert transcript.people == {}
    assert {turn.platform_user_id for turn in transcript.turns} == {None}
    assert export.account() is None
    with pytest.raises(InvalidInput, match="ask an admin"):
        check_alone(open_export(zipped(tmp_path / "s.zip", exports.slack())))
