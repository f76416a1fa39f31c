"""Exports on their way in: parsed, stored, and recalled by whom they may be."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import exports
import exports_of_people
import pytest
from exports import saved, zipped
from helpers import audit_lines, empty, person, rows

from remembrancer import InvalidInput, Remembrancer, User, as_actor
from remembrancer.importers import (
    Format,
    Importer,
    ImportResult,
    Options,
    importer,
    open_export,
    spool,
)
from remembrancer.recall.schemas import RecallQuery

TABLES = (
    "users",
    "platform_links",
    "conversations",
    "participants",
    "messages",
    "recall_items",
    "postings",
    "spaces",
    "memories",
    "memory_versions",
    "mentions",
    "associations",
)


async def import_file(
    memory: Remembrancer,
    file: Path,
    user: User | None = None,
    *,
    together: bool = False,
    **options: Any,
) -> ImportResult:
    """Import a file as the command does."""
    export = open_export(file, options=Options(**options))
    importer = Importer(memory, as_actor(user), lambda _: None, together=together)
    await importer.check(export)
    await importer.store(export)
    return importer.result


def stored_rows() -> dict[str, list[Any]]:
    """Every row of what an import writes."""
    return {table: sorted(map(str, rows(f"SELECT * FROM {table}"))) for table in TABLES}


async def best_hit(memory: Remembrancer, question: str, user: Any) -> Any:
    answer = await memory.memories.recall(as_actor(user), RecallQuery(query=question, limit=3))
    return answer.hits[0] if answer.hits else None


async def by_platform(memory: Remembrancer, platform: str, key: str) -> User:
    return await memory.users.find(as_actor(), platform, key)


QUERIES = (
    "SELECT c.title, m.position, m.role, m.sender_name, m.sent_at, m.content FROM messages AS m "
    "JOIN conversations AS c ON c.id = m.conversation_id ORDER BY 1, 2, 5, 6",
    "SELECT u.display_name, p.platform, p.platform_user_id FROM platform_links AS p "
    "JOIN users AS u ON u.id = p.user_id "
    "WHERE p.platform NOT IN ('whatsapp', 'messenger', 'signal') ORDER BY 1, 2, 3",
    "SELECT content, subject, category, version, mention_count FROM memories ORDER BY 1",
    "SELECT s.content, a.relation, t.content FROM associations AS a "
    "JOIN memories AS s ON s.id = a.memory_id JOIN memories AS t ON t.id = a.target_id "
    "ORDER BY 1, 2, 3",
)


CLAUDE_ID = "99999999-0000-4000-8000-000000000001"


class CutOffError(Exception):
    """The import stops here."""


class Cut:
    """Lets so many batches pass, then stops the import; never, for null."""

    def __init__(self, batches: int | None) -> None:
        self._left = batches

    def __call__(self, _count: int) -> None:
        if self._left is None:
            return
        if self._left == 0:
            raise CutOffError
        self._left -= 1


@dataclass(frozen=True)
class Case:
    """An export, whom it is for, and what its people are reason afterwards."""

    name: str
    content: Any
    platform: str
    owner: str | None
    question: str
    reason: str
    sender: str
    at: str
    options: dict[str, Any]
    for_ada: bool = False


CASES = [
    Case(
        "chatgpt.zip",
        exports.chatgpt_parts(),
        "chatgpt",
        "user-Qx7",
        "Which glaze is used?",
        "[photo: vase.jpg]\nI glaze pots in celadon green.",
        "ada",
        "2024-05-08T09:21:00.500000+00:00",
        {},
    ),
    Case(
        "conversations.json",
        exports.claude(),
        "claude",
        "99999999-0000-4000-8000-000000000001",
        "Where do I hike?",
        "[file: route.gpx]\nI hike the Vercors in June.",
        "Ada",
        "2025-03-01T08:00:00+00:00",
        {},
        for_ada=True,
    ),
    Case(
        "slack.zip",
        exports.slack(),
        "slack",
        "U2",
        "At which cone do you fire?",
        "[photo: cones.png]\nI fire at cone six.",
        "Bob Chen",
        "2024-05-09T07:33:20.000300+00:00",
        {},
    ),
    Case(
        "general.json",
        exports.discord(),
        "discord",
        "18Ada",
        "Which potter's wheel?",
        "My wheel is a Brent.",
        "Ada",
        "2024-05-08T12:01:00.500000+00:00",
        {},
    ),
    Case(
        "package.zip",
        exports.discord_package(),
        "discord",
        "18Ada",
        "Which potter's wheel?",
        "My wheel is a Brent.",
        "Ada",
        "2024-05-08T12:01:00+00:00",
        {},
    ),
    Case(
        "result.json",
        exports.telegram(),
        "telegram",
        "22",
        "What do you weave with?",
        "[sticker: 🧶]\nI weave with alpaca.",
        "Bob",
        "2024-05-08T12:02:00+00:00",
        {},
    ),
    Case(
        "WhatsApp Chat with Bob.txt",
        exports.ANDROID,
        "whatsapp",
        None,
        "What is in the oven?",
        "The goose is in the oven\nand the plums: too",
        "Ada",
        "2023-12-25T20:06:00+00:00",
        {"time_zone": ZoneInfo("Europe/Paris"), "me": "Ada"},
        for_ada=True,
    ),
]


def written(folder: Path, case: Case) -> Path:
    write = zipped if case.name.endswith(".zip") else saved
    return write(folder / case.name, case.content)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_what_was_said_is_recalled_with_sender_and_time(
    memory: Remembrancer, ada: User, tmp_path: Path, case: Case
) -> None:
    """By owner it is and nobody else; the same export again changes no row at all."""
    file = written(tmp_path, case)
    user = ada if case.for_ada else None
    result = await import_file(memory, file, user, **case.options)
    assert result.messages_added
    owner = await by_platform(memory, case.platform, case.owner) if case.owner else ada
    assert not case.for_ada or owner.id == ada.id
    hit = await best_hit(memory, case.question, owner)
    assert hit.content == case.reason
    assert hit.sender_name == case.sender
    assert hit.at.isoformat() == case.at
    stranger = await person(memory, "Stranger")
    assert await best_hit(memory, case.question, stranger) is None
    await memory.access_counts.flush()
    before = stored_rows()
    again = await import_file(memory, file, user, **case.options)
    assert (again.messages_added, again.messages_skipped) == (0, result.messages_added)
    assert stored_rows() == before


async def test_two_imports_of_a_file_at_once_come_to_one(
    memory: Remembrancer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message once, in its order; the people and the conversations once, too."""
    monkeypatch.setattr(importer, "BATCH", 2)
    lines = [
        {"conversation": f"c{n % 2}", "sender": f"P{n % 3}", "content": f"Line {n}."}
        for n in range(12)
    ]
    file = saved(tmp_path / "talk.jsonl", exports.lines(*lines))
    results = await asyncio.gather(*(import_file(memory, file, together=True) for _ in range(2)))
    assert sum(result.messages_added for result in results) == len(lines)
    stored = rows(
        "SELECT c.platform_conversation_id, m.content FROM messages AS m "
        "JOIN conversations AS c ON c.id = m.conversation_id ORDER BY 1, m.position"
    )
    said = [(line["conversation"], line["content"]) for line in lines]
    assert stored == sorted(said, key=lambda each: each[0])
    assert rows("SELECT count(*) FROM platform_links WHERE platform = 'import'") == [(3,)]
    assert rows("SELECT count(*) FROM spaces") == [(2,)]


async def test_an_account_is_linked_to_whom_the_import_is_for(
    memory: Remembrancer, ada: User, bob: User, tmp_path: Path
) -> None:
    """--user is the account of the export; one that is somebody else's stops the import."""
    file = saved(tmp_path / "result.json", exports.telegram_account())
    await import_file(memory, file, ada)
    assert (await by_platform(memory, "telegram", "11")).id == ada.id
    before = stored_rows()
    with pytest.raises(InvalidInput, match="telegram:11: is linked to another user"):
        await import_file(memory, file, bob)
    assert stored_rows() == before


@pytest.mark.parametrize("me", ["U2", "bob chen"])
async def test_as_says_who_in_a_file_the_user_is(
    memory: Remembrancer, bob: User, tmp_path: Path, me: str
) -> None:
    """By platform id or name; a name that nobody has is refused before anything is written."""
    file = zipped(tmp_path / "slack.zip", exports.slack())
    before = stored_rows()
    for wrong, user, reason in (
        ("Eve", bob, "nobody has the id or name"),
        ("Ada", None, "needs --user"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            await import_file(memory, file, user, me=wrong)
    assert stored_rows() == before
    await import_file(memory, file, bob, me=me)
    assert (await by_platform(memory, "slack", "U2")).id == bob.id
    assert (await best_hit(memory, "At which cone do you fire?", bob)).sender_name == "Bob Chen"


async def test_whom_an_import_is_for_joins_no_conversation_of_others(
    memory: Remembrancer, tmp_path: Path
) -> None:
    """--user with an archive of a workspace makes them no participant where they never spoke."""
    eve = await person(memory, "Eve")
    await import_file(memory, zipped(tmp_path / "slack.zip", exports.slack()), eve)
    assert rows("SELECT 1 FROM participants WHERE user_id = %s", eve.id) == []
    assert await best_hit(memory, "At which cone do you fire?", eve) is None


async def test_together_all_recall_what_anybody_said(memory: Remembrancer, tmp_path: Path) -> None:
    """With --together a chat lies in a space of those who speak in it; without, each has theirs."""
    alone = saved(tmp_path / "general.json", exports.discord())
    await import_file(memory, alone)
    bob = await by_platform(memory, "discord", "18Bob")
    assert (await best_hit(memory, "Brent", bob)).content != "My wheel is a Brent."
    shared = exports.discord()
    shared["channel"]["id"] = "79"
    await import_file(memory, saved(tmp_path / "shared.json", shared), together=True)
    assert (
        await best_hit(memory, "Whose wheel is a Brent?", bob)
    ).content == "My wheel is a Brent."


async def test_together_adds_people_who_first_appear_in_a_later_import(
    memory: Remembrancer, tmp_path: Path
) -> None:
    """Whoever joined the chat later recalls it from its beginning; who left its space stays out."""
    chat = exports.discord()
    await import_file(memory, saved(tmp_path / "general.json", chat), together=True)
    bob = await by_platform(memory, "discord", "18Bob")
    [(space_id,)] = rows("SELECT id FROM spaces")
    await memory.spaces.leave(as_actor(bob), space_id)
    later = chat["messages"][0] | {"id": "999", "content": "Mine is a kick wheel."}
    later["author"] = {"id": "18Cid", "name": "cid", "isBot": False}
    # An export from a later day on has only who spoke since.
    for messages in ([later], [*chat["messages"], later]):
        chat["messages"] = messages
        file = saved(tmp_path / "general.json", chat)
        added = (await import_file(memory, file, together=True)).messages_added
        assert added == (len(messages) == 1)
    cid = await by_platform(memory, "discord", "18Cid")
    ada = await by_platform(memory, "discord", "18Ada")
    for user, words in ((cid, "My wheel is a Brent."), (ada, "Mine is a kick wheel.")):
        assert (await best_hit(memory, words, user)).content == words
    members = rows("SELECT user_id FROM space_members WHERE space_id = %s", space_id)
    assert {user_id for (user_id,) in members} == {ada.id, cid.id}


async def test_the_same_name_in_two_address_books_is_two_people(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Ada's Bob and Cid's Bob are not one; a telephone number is the same everywhere."""
    cid = await person(memory, "Cid")
    text = exports.ANDROID
    options = {"time_zone": ZoneInfo("UTC")}
    file = saved(tmp_path / "WhatsApp Chat with Bob.txt", text)
    await import_file(memory, file, ada, me="Ada", **options)
    other = saved(tmp_path / "2" / file.name, text.replace("Ada:", "Cid:").replace("goose", "duck"))
    await import_file(memory, other, cid, me="Cid", **options)
    bobs = rows("SELECT id FROM users WHERE display_name = 'Bob'")
    assert len(bobs) == 2
    assert "goose" in (await best_hit(memory, "What is in the oven?", ada)).content
    assert "duck" in (await best_hit(memory, "What is in the oven?", cid)).content
    numbers = rows("SELECT user_id FROM platform_links WHERE platform_user_id = '+447700900123'")
    assert len(numbers) == 1


async def test_a_longer_export_adds_what_is_new(memory: Remembrancer, tmp_path: Path) -> None:
    """The next export of the same chat adds its new messages at the end, in their order."""
    content = exports.telegram()
    file = saved(tmp_path / "result.json", content)
    await import_file(memory, file)
    more = content["messages"][1] | {"id": 9, "text": "The loom is a Glimåkra.", "photo": None}
    content["messages"].append(more)
    assert (await import_file(memory, saved(file, content))).messages_added == 1
    stored = rows("SELECT position, platform_message_id FROM messages ORDER BY position")
    assert stored == [(1, "2"), (2, "3"), (3, "9")]


def sent_to_ada(*numbers: int, **changes: Any) -> dict[str, Any]:
    """A chat that Bob began; the third message is Ada's first reply."""
    chat = exports.telegram(**changes)
    template = chat["messages"][2]
    people = {1: ("Bob", "user22"), 2: ("Bob", "user22"), 3: ("Ada", "user11")}
    chat["messages"] = [
        {
            **template,
            "id": number,
            "from": people[number][0],
            "from_id": people[number][1],
            "date_unixtime": str(1715169660 + number),
        }
        for number in numbers
    ]
    return chat


@pytest.mark.parametrize("with_user", [False, True])
@pytest.mark.parametrize("parts", [[(1,), (1, 2, 3)], [(1, 2, 3), (1,)], [(1,), (1, 2), (1, 2, 3)]])
async def test_case_45_a_private_chat_is_one_before_and_after_the_first_reply(
    memory: Remembrancer, tmp_path: Path, ada: User, with_user: bool, parts: list[tuple[int, ...]]
) -> None:
    """Whichever export comes first, and with the whole account after them."""
    user = ada if with_user else None
    file = tmp_path / "result.json"
    for numbers in parts:
        await import_file(memory, saved(file, sent_to_ada(*numbers)), user)
    account = exports.telegram_account() | {"chats": {"list": [sent_to_ada(1, 2, 3)]}}
    assert (await import_file(memory, saved(file, account))).messages_added == 0
    assert rows("SELECT platform_message_id FROM messages ORDER BY position") == [
        ("1",), ("2",), ("3",)
    ]  # fmt: skip
    assert rows("SELECT count(*) FROM conversations") == [(1,)]


async def test_case_45_two_peoples_chats_with_one_person_stay_two(
    memory: Remembrancer, tmp_path: Path
) -> None:
    """Cid's chat with Bob goes nowhere near Ada's; without proof it is refused."""
    file = tmp_path / "result.json"
    await import_file(memory, saved(file, sent_to_ada(1)))
    of_cid = sent_to_ada(2)
    with pytest.raises(InvalidInput, match="telegram chat 22: shows one side alone"):
        await import_file(memory, saved(file, of_cid))
    of_cid["messages"].append(of_cid["messages"][0] | {"id": 8, "from": "Cid", "from_id": "user33"})
    await import_file(memory, saved(file, of_cid))
    assert rows("SELECT platform_conversation_id, message_count FROM conversations ORDER BY 2") == [
        ("unknown-22", 1),
        ("33-22", 2),
    ]


async def test_case_45_a_second_download_of_a_whatsapp_chat_is_the_same_chat(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """A browser numbers the file."""
    for name in ("WhatsApp Chat - Bob.zip", "WhatsApp Chat - Bob (1).zip"):
        file = zipped(tmp_path / name, {"_chat.txt": exports.IOS})
        await import_file(memory, file, ada, time_zone=ZoneInfo("Europe/Paris"))
    assert rows("SELECT count(*), sum(message_count) FROM conversations") == [(1, 4)]


TODAY = [
    (
        "chatgpt.zip", exports.chatgpt_parts(), False, (8, 4), ("chatgpt", "user-Qx7"),
        "Recipe with parts of ash", "[canvas: Recipe]\nTwo parts ash.", "ChatGPT",
        "2026-03-01T10:06:40+00:00",
    ),
    (
        "claude.zip", exports.claude_archive(), False, (4, 6), ("claude", CLAUDE_ID),
        "Do I love tents?", "I love tents.", "Ada Berg", "2026-03-01T10:02:00+00:00",
    ),
    (
        "slack.zip", exports.slack(), False, (7, 0), ("slack", "U1"),
        "thermocouple", "Alert for @Bob Chen\nKiln 2\nThermocouple drifts\nDegrees: 1222",
        "Kilnbot", "2024-05-09T07:33:22.000300+00:00",
    ),
    (
        "package.zip", exports.discord_package(), False, (3, 0), ("discord", "18Ada"),
        "Which wheel?", "My wheel is a Brent.", "Ada", "2024-05-08T12:01:00+00:00",
    ),
    (
        "result.json", exports.telegram_before_2021(shifted=True), False, (2, 0),
        ("telegram", "22"), "alpaca", "[sticker: 🧶]\nI weave with alpaca.", "Bob",
        "2024-05-08T12:02:00+00:00",
    ),
    (
        "takeout.zip", exports.gemini(), True, (6, 0), None,
        "rosin for the hurdy-gurdy", "Which rosin for a hurdy-gurdy?", "Ada",
        "2026-09-13T09:01:00.250000+00:00",
    ),
    (
        "takeout-pages.zip", exports.gemini_html(), True, (4, 0), None, "boxwood",
        "Boxwood turns well.\n- Shape it\nfirst", "Gemini", "2026-09-13T11:01:02+00:00",
    ),
    (
        "projects.zip", exports.claude_code(), True, (5, 0), None,
        "herringbone twill", "I weave herringbone twill.\n[photo]", "Ada",
        "2026-01-20T11:53:17.716000+00:00",
    ),
    (
        "sessions.zip", exports.codex(), True, (5, 0), None,
        "Uranus", "Add Uranus in brass.", "Ada", "2026-02-01T10:08:00.500000+00:00",
    ),
    (
        "chats.json", exports.open_webui(), True, (2, 0), ("open-webui", "owui-ada"),
        "alum", "Madder wants alum.", "Gemma", "2026-03-01T10:06:03+00:00",
    ),
    (
        "strings.json", exports.librechat(), True, (3, 0), None,
        "lute", "[photo: lute.png]\nMy lute has gut strings.", "Ada",
        "2026-03-01T10:03:00+00:00",
    ),
    (
        "Seraphina.jsonl", exports.SILLYTAVERN, True, (3, 0), None,
        "theorbo", "[photo: theorbo.png]\nI carry a theorbo.", "Ada",
        "2024-05-08T10:01:30+00:00",
    ),
    *(
        (
            f"WhatsApp Chat with {name}.txt",
            f"{head}Ada: {content}\n{head}{name}: <{media}>\n{head}{name}: {deleted}\n",
            True, (2, 0), None, word, content, "Ada", "2024-03-13T20:06:00+00:00",
        )
        for head, name, content, word, media, deleted in (
            ("13/03/2024 à 21:06 - ", "Zoé", "J'apprends le saxophone.", "saxophone",
             "Médias omis", "Ce message a été supprimé"),
            ("13/3/2024، 9:06 م - ", "علي", "أعزف على العود كل مساء", "العود",
             "تم استبعاد الوسائط", "تم حذف هذه الرسالة"),
            ("2024/3/13 下午9:06 - ", "小明", "我养了一只乌龟", "乌龟",
             "省略多媒体文件", "您已删除这条消息"),
            ("2024. 3. 13. 오후 9:06 - ", "민지", "저는 도자기를 굽습니다", "도자기",
             "미디어 파일을 생략한 대화내용", "삭제된 메시지입니다"),
            ("13.3.2024 klo 21.06 - ", "Aino", "Soitan kanteletta.", "kanteletta",
             "Media jätetty pois", "Tämä viesti poistettiin"),
            ("13/3/2024, 9:06 μ.μ. - ", "Ελένη", "Παίζω μπουζούκι.", "μπουζούκι",
             "Εξαίρεση πολυμέσων", "Αυτό το μήνυμα διαγράφηκε"),
            ("2024. 03. 13. 21:06 - ", "Zsófi", "Cimbalmon tanulok.", "cimbalmon",
             "Hiányzó médiafájl", "Ez az üzenet törlésre került"),
        )
    ),
    *exports_of_people.TODAY,
    (
        "mem0.json", exports.mem0(), False, (0, 2), ("mem0", "ada-m"), "viola",
        "Plays the viola on Thursdays", None, "2025-01-05T17:00:00+00:00",
    ),
    (
        "zep.json", exports.zep(), True, (0, 2), None, "nyckelharpa",
        "Ada plays the nyckelharpa.", None, "2025-05-01T10:00:00+00:00",
    ),
    (
        "agent.af", exports.letta(), True, (4, 3), None, "spokeshave", "With a spokeshave.",
        "Sam", "2025-03-01T10:03:00+00:00",
    ),
    (
        "passages.json", exports.PASSAGES, True, (0, 1), None, "carrageen",
        "Ada marbles paper with carrageen.", None, "2025-11-05T23:04:24.901468+00:00",
    ),
    (
        "items.json", exports.langmem(), False, (0, 3), ("langmem", "ada-l"), "quinces",
        "Ada grafts quinces.", None, "2025-06-01T10:00:00+00:00",
    ),
    (
        "bank.json", exports.hindsight(), True, (0, 2), None, "canker", "I told Ada of canker.",
        None, "2025-07-02T10:00:00+00:00",
    ),
    (
        "memory.jsonl", exports.MCP, True, (0, 5), None, "rye bread", "Ada_Berg bakes rye bread",
        None, None,
    ),
    (
        "talk.jsonl", exports.JSONL, False, (2, 0), ("import", "Wim"), "kites",
        "I fly kites at Scheveningen.", "Wim", "2026-05-01T07:30:00+00:00",
    ),
    (
        "crew.json", exports.CONVERSATIONS, False, (2, 0), ("radio", "Elke"), "sextant",
        "My sextant is by Plath.", "Elke", "2026-05-01T07:31:00+00:00",
    ),
    (
        "locomo.json", exports.LOCOMO, False, (2, 0), ("locomo", "conv-9:Ines"), "sloop",
        "I caulk the sloop.", "Ines", "2023-05-08T13:56:00+00:00",
    ),
]  # fmt: skip


async def test_case_57_exports_of_today_come_in_whole_and_once(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Counts, who said what and when, and a recall of the right line; again, nothing changes."""
    imports = []
    for name, content, for_ada, counts, key, question, line, sender, at in TODAY:
        file = (zipped if name.endswith(".zip") else saved)(tmp_path / name, content)
        user = ada if for_ada else None
        result = await import_file(memory, file, user, time_zone=ZoneInfo("Europe/Paris"))
        assert (result.messages_added, result.memories_added) == counts, name
        owner = await by_platform(memory, *key) if key else ada
        hit = await best_hit(memory, question, owner)
        assert (hit.content, hit.sender_name) == (line, sender), name
        assert at is None or hit.at.isoformat() == at, name
        imports.append((file, user, counts))
    assert rows("SELECT 1 FROM messages WHERE content LIKE %s", "%hate tents%") == []
    await memory.access_counts.flush()
    before = stored_rows()
    for file, user, counts in imports:
        again = await import_file(memory, file, user, time_zone=ZoneInfo("Europe/Paris"))
        assert (again.messages_added, again.memories_added) == (0, 0)
        assert (again.messages_skipped, again.memories_skipped) == counts
    assert stored_rows() == before


QUICK = {
    "claude.zip",
    "takeout.zip",
    "mem0.json",
    "zep.json",
    "memory.jsonl",
    "mail.mbox",
    "bells.ics",
}
"""Exports of today that are cut off without ``make soak`` too."""
CUT_OFF = [
    *((case.name, case.content, case.for_ada, case.options) for case in CASES),
    *(
        pytest.param(
            (name, content, for_ada, {"time_zone": ZoneInfo("Europe/Paris")}),
            marks=() if name in QUICK else pytest.mark.soak,
        )
        for name, content, for_ada, counts, *_ in TODAY
        if sum(counts) > 1 and not name.startswith("WhatsApp Chat")
    ),
]


@pytest.mark.parametrize("export", CUT_OFF, ids=lambda export: export[0])
async def test_an_import_cut_off_after_any_batch_goes_on(
    memory: Remembrancer,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    export: tuple[str, Any, bool, dict[str, Any]],
) -> None:
    """Started again after each batch that it stored, it comes to what one import comes to."""
    name, content, for_ada, options = export
    monkeypatch.setattr(spool, "MOST_HELD", 0)
    file = (zipped if name.endswith(".zip") else saved)(tmp_path / name, content)
    monkeypatch.setattr(importer, "BATCH", 1)
    stored = []
    for cut in (False, True):
        await asyncio.to_thread(empty, database_url)
        ada = await person(memory, "Ada")
        result = cuts = 0
        while True:
            importing = Importer(
                memory, as_actor(ada if for_ada else None), Cut(result if cut else None)
            )
            export = open_export(file, options=Options(**options))
            await importing.check(export)
            try:
                await importing.store(export)
                break
            except CutOffError:
                result, cuts = result + 1, cuts + 1
        assert cuts > 1 if cut else cuts == 0
        stored.append({statement: rows(statement) for statement in QUERIES})
    assert stored[0] == stored[1]


def test_every_format_is_tried(tmp_path: Path) -> None:
    """Whole, and cut off: a new format needs its row."""
    cut_off = [getattr(export, "values", [export])[0][:2] for export in CUT_OFF]
    today = [*((case.name, case.content) for case in CASES), *(row[:2] for row in TODAY)]
    for table in (today, cut_off):
        found = set()
        for number, (name, content) in enumerate(table):
            write = zipped if name.endswith(".zip") else saved
            found.add(open_export(write(tmp_path / str(number) / name, content)).format)
        # Of a person's whole memory, `test_portability_of_people.py` has all of it.
        assert found == {*Format} - {Format.AUTO, Format.REMEMBRANCER}


async def test_case_46_imported_history_was_known_when_it_was_said(
    memory: Remembrancer, tmp_path: Path, ada: User
) -> None:
    """Its messages were said to somebody then, and its memories stored elsewhere."""
    line = '{"content": "I keep bees in Porto", "sent_at": "2020-05-01T10:00:00Z"}'
    await import_file(memory, saved(tmp_path / "talk.jsonl", line), ada)
    bees = {"id": "1", "memory": "Ada keeps bees.", "created_at": "2020-06-01T00:00:00Z"}
    await import_file(memory, saved(tmp_path / "m.json", {"results": [bees]}), ada)
    for year, count in ((2020, 0), (2021, 2)):
        as_of = datetime(year, 1, 1, tzinfo=UTC)
        answer = await memory.memories.recall(as_actor(ada), RecallQuery(query="bees", as_of=as_of))
        assert len(answer.hits) == count


async def test_a_dry_run_counts_and_writes_nothing(memory: Remembrancer, tmp_path: Path) -> None:
    """What is new and what is there is reason apart, for messages and memories."""
    messages = saved(tmp_path / "result.json", exports.telegram())
    memories = saved(tmp_path / "m.json", exports.mem0())
    for stored in (0, 2):
        for file in (messages, memories):
            before, lines = stored_rows(), len(audit_lines())
            export = open_export(file)
            importer = Importer(memory, as_actor(), lambda _: None)
            await importer.check(export)
            await importer.preview(export)
            result = importer.result
            assert (
                result.messages_skipped + result.memories_skipped,
                result.messages_added + result.memories_added,
            ) == (stored, 2 - stored)
            assert stored_rows() == before
            if stored == 0:
                assert len(audit_lines()) == lines
                await import_file(memory, file)


# Memories -------------------------------------------------------------------------------


async def test_case_28_imported_memories_that_differ_in_a_sign_are_two(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Beside each other, and beside what is there already."""
    await memory.remember("Ada's blood type is O+", user=ada)
    said = ("Ada's blood type is O+", "Ada's blood type is O-", "Milk: \u2705", "Milk: \u274c")
    results = [{"id": str(n), "memory": text} for n, text in enumerate(said)]
    result = await import_file(memory, saved(tmp_path / "m.json", {"results": results}), ada)
    assert (result.memories_added, result.memories_skipped) == (3, 1)


async def test_memories_of_mem0(memory: Remembrancer, tmp_path: Path) -> None:
    """They belong to the platform's user, keep their times, and come once."""
    file = saved(tmp_path / "m.json", exports.mem0())
    result = await import_file(memory, file)
    assert (result.memories_added, result.memories_skipped) == (2, 0)
    owner = await by_platform(memory, "mem0", "ada-m")
    hit = await best_hit(memory, "Which instrument?", owner)
    assert hit.content == "Plays the viola on Thursdays"
    stored = await memory.memories.get(as_actor(owner), "bf4d4092cf914181bfebb6fa2ed3061b")
    assert stored.created_at.isoformat() == "2025-01-05T17:00:00+00:00"
    assert (stored.source, stored.platform, stored.category) == ("import", "mem0", "hobby")
    await memory.access_counts.flush()
    before = stored_rows()
    again = await import_file(memory, file)
    assert (again.memories_added, again.memories_skipped) == (0, 2)
    assert stored_rows() == before


@pytest.mark.parametrize(
    ("content", "count", "question", "line", "kind"),
    [
        (exports.zep(), 2, "nyckelharpa", "Ada plays the nyckelharpa.", "fact"),
        (exports.hindsight(), 2, "canker", "I told Ada of canker.", "event"),
    ],
    ids=["zep", "hindsight"],
)
async def test_memories_of_other_systems(
    memory: Remembrancer, ada: User, tmp_path: Path,
    content: Any, count: int, question: str, line: str, kind: str,
) -> None:  # fmt: skip
    """They are recalled, with their kinds and the times of their truth, and come once."""
    file = saved(tmp_path / "memories.json", content)
    assert (await import_file(memory, file, ada)).memories_added == count
    hit = await best_hit(memory, question, ada)
    assert (hit.content, hit.kind) == (line, kind)
    if line == "Ada plays the nyckelharpa.":
        assert hit.valid_from.isoformat() == "2025-04-01T00:00:00+00:00"
    await memory.access_counts.flush()
    before = stored_rows()
    again = await import_file(memory, file, ada)
    assert (again.memories_added, again.memories_skipped) == (0, count)
    assert stored_rows() == before


async def test_what_was_forgotten_does_not_come_back(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """An import again neither restores a forgotten memory nor takes an update back."""
    file = saved(tmp_path / "m.json", exports.mem0())
    await import_file(memory, file, ada)
    await memory.memories.forget(as_actor(ada), "bf4d4092cf914181bfebb6fa2ed3061b")
    assert (await import_file(memory, file, ada)).memories_added == 0
    assert (await by_platform(memory, "mem0", "ada-m")).id == ada.id


async def test_memories_of_several_users(memory: Remembrancer, ada: User, tmp_path: Path) -> None:
    """Each is known by their own id; --user with all of them needs to say which they are."""
    content = exports.mem0()
    content["results"][1]["user_id"] = "bob-m"
    file = saved(tmp_path / "m.json", content)
    with pytest.raises(InvalidInput, match="memories of 2 users; name the one of --user"):
        await import_file(memory, file, ada)
    await import_file(memory, file, ada, me="ada-m")
    bob = await by_platform(memory, "mem0", "bob-m")
    assert (await best_hit(memory, "Work?", bob)).content == "Works as a luthier in Cremona"
    assert (await best_hit(memory, "Instrument?", ada)).content == "Plays the viola on Thursdays"


async def test_memories_of_the_mcp_server_keep_their_links(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Observations are part of their entity, relations related to both ends; once."""
    file = saved(tmp_path / "memory.jsonl", exports.MCP)
    with pytest.raises(InvalidInput, match="does not name the user of its memories"):
        await import_file(memory, file)
    result = await import_file(memory, file, ada)
    assert (result.memories_added, result.memories_skipped) == (5, 0)
    assert (await best_hit(memory, "Who bakes bread?", ada)).content == "Ada_Berg bakes rye bread"
    links = rows(
        "SELECT s.content, a.relation, t.content FROM associations AS a "
        "JOIN memories AS s ON s.id = a.memory_id JOIN memories AS t ON t.id = a.target_id "
        "ORDER BY 1, 3"
    )
    assert links == [
        ("Ada Berg works at Fjord.", "related_to", "Ada Berg is of type person."),
        ("Ada Berg works at Fjord.", "related_to", "Fjord is of type project."),
        ("Ada Berg: Speaks fluent Catalan", "part_of", "Ada Berg is of type person."),
        ("Ada_Berg bakes rye bread", "part_of", "Ada Berg is of type person."),
    ]
    await memory.access_counts.flush()
    before = stored_rows()
    assert (await import_file(memory, file, ada)).memories_skipped == 5
    assert stored_rows() == before


async def test_what_may_not_be_stored_is_counted(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """A memory with a secret in it is left out, and the others come over."""
    content = exports.mem0()
    content["results"][0]["memory"] = "Card number is 4111 1111 1111 1111"
    content["results"].append({"id": "x" * 40, "memory": "y" * 3000, "user_id": "ada-m"})
    result = await import_file(memory, saved(tmp_path / "m.json", content), ada)
    assert (result.memories_added, result.memories_refused) == (1, 2)
    assert len(rows("SELECT 1 FROM memories")) == 1


async def test_with_one_wrong_file_nothing_is_written(memory: Remembrancer, tmp_path: Path) -> None:
    """An error late in an export comes before its first write."""
    content = exports.slack()
    content["team/D1/2024-05-09.json"][0]["ts"] = "yesterday"
    file = zipped(tmp_path / "slack.zip", content)
    before = stored_rows()
    with pytest.raises(InvalidInput, match=r"slack\.zip, team/D1/2024-05-09\.json, 1, ts: is not"):
        await import_file(memory, file)
    assert stored_rows() == before
