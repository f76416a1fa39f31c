"""The three formats of an export hold the same records, whatever is in their texts."""

import asyncio
import json
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from helpers import GENERATED
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pyld import jsonld
from sqlalchemy import Table

from remembrancer import InvalidInput
from remembrancer.db import tables
from remembrancer.importers import Format, open_export
from remembrancer.portability import json_ld, json_lines, markdown
from remembrancer.portability.records import (
    AssociationRecord,
    ConversationRecord,
    MemoryRecord,
    MentionRecord,
    MessageRecord,
    SummaryRecord,
    VersionRecord,
)
from remembrancer.portability.repository import _shown
from remembrancer.portability.schemas import Record

WRITERS: dict[str, Callable[[AsyncIterator[Record]], AsyncIterator[bytes]]] = {
    "jsonl": json_lines.write,
    "zip": markdown.write,
    "jsonld": json_ld.write,
}
AT = "2026-05-01T09:30:00.123456Z"
ME, TALK, SAID, EARLIER = (str(UUID(int=n)) for n in range(1, 5))
HOSTILE = [
    "---\ntype: user\n---\nNot a note.",
    '"quoted": [[A link]] {{x}} <!-- {"id": 1} -->\n<!-- {} -->\n> a quotation\n>  another',
    "```\n---\n```\r\nwith CRLF\r\n\n\n",
    " \t leading, trailing \t ",
    "\ufeffhidden \u202eright to left\u202c \u2028 \u2029 \x85 \x1b \x07 \u200b end",
    "- list\n# title\n!!python/object:os.system &anchor *alias <<: {a: b}",
    "null",
    "2026-05-01",
    "1e5",
    "~",
    '{"@context": "https://example.com", "@type": "Person"}',
    "emoji 👩‍👩‍👧 and ⚠️, ẞ, \u0130",
    "'single' \"double\" \\ back\\nslash %20 %%comment%%",
]


async def _each(records: Iterable[Record]) -> AsyncIterator[Record]:
    for record in records:
        yield deepcopy(record)


def written(kind: str, records: list[Record], folder: Path) -> Path:
    """Return the file of an export."""

    async def parts() -> bytes:
        return b"".join([part async for part in WRITERS[kind](_each(records))])

    path = folder / f"export.{kind}"
    path.write_bytes(asyncio.run(parts()))
    return path


def user(**fields: Any) -> Record:
    lists = ("platform_links", "preferences", "saved_filters", "spaces", "agents")
    known = {"type": "user", "remembrancer": 1, "id": ME, "display_name": "Ada"}
    known |= {"time_zone": "Europe/Paris", "created_at": AT}
    return {**known, **{name: [] for name in lists}, **fields}


def talk(**fields: Any) -> Record:
    known = {"type": "conversation", "id": TALK, "title": "Bees", "platform": None}
    return {**known, "created_at": AT, "updated_at": AT, "summaries": [], **fields}


def message(content: str, **fields: Any) -> Record:
    known = {"type": "message", "id": SAID, "conversation_id": TALK, "position": 1, "role": "user"}
    names = {"sender_name": "", "sent_at": AT, "created_at": AT, "withheld_by": []}
    return {**known, **names, "content": content, **fields}


def memory(content: str, **fields: Any) -> Record:
    said = {"source": "manual", "platform": None, "conversation_id": None, "message_id": None}
    version = {"version": 1, "content": content, "recorded_at": AT, **said}
    known = {"type": "memory", "id": "a1B2c3D4", "kind": "fact", "category": "other"}
    placed = {"space_id": None, "place_id": None, "subject": None, "importance": 0.5}
    lists = {"versions": [version], "mentions": [], "associations": []}
    times = {"created_at": AT, "updated_at": AT}
    return {**known, **placed, **said, **times, **lists, "content": content} | fields


def read(path: Path) -> list[Any]:
    return list(open_export(path, Format.REMEMBRANCER).records())


@GENERATED
@given(data=st.data())
@pytest.mark.parametrize("kind", WRITERS)
def test_any_text_comes_back(kind: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    """Of a message, a memory, its versions, a summary and values of programs."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    texts = st.one_of(st.sampled_from(HOSTILE), st.text(characters, min_size=1, max_size=80))
    said, earlier, value = (data.draw(texts) for _ in range(3))
    learnt = data.draw(texts.filter(lambda text: any(c.isprintable() and c > " " for c in text)))
    _check(kind, said, learnt, earlier, value, tmp_path_factory.mktemp("export"))


@pytest.mark.parametrize("kind", WRITERS)
def test_hostile_texts_come_back(kind: str, tmp_path: Path) -> None:
    """What would end a note, a comment or a string of each format."""
    for text in HOSTILE:
        _check(kind, text, text, text, text, tmp_path)


def _check(kind: str, said: str, learnt: str, earlier: str, value: str, folder: Path) -> None:
    record = memory(learnt, metadata={"tag": value, value: [1, 2.5, True, None, {value: value}]})
    old = {**record["versions"][0], "content": earlier, "superseded_at": AT}
    record |= {"version": 2, "versions": [old, {**record["versions"][0], "version": 2}]}
    summary = {"id": EARLIER, "range_start": 1, "range_end": 2, "content": said, "created_at": AT}
    records = [
        user(),
        talk(message_count=30, summarised_to=5, summaries=[summary]),
        message(said, metadata={"raw": value}, withheld_by=["zzzzzzzz"]),
        message(value, id=EARLIER, position=2),
        record,
    ]
    path = written(kind, records, folder)
    assert open_export(path).format is Format.REMEMBRANCER
    _, back, first, second, kept = read(path)
    assert back.summaries[0].content == said
    assert (first.content, first.metadata, first.withheld_by) == (
        said,
        {"raw": value},
        ["zzzzzzzz"],
    )
    assert (second.content, second.position) == (value, 2)
    assert (kept.content, kept.metadata) == (learnt, record["metadata"])
    assert [version.content for version in kept.versions] == [earlier, learnt]
    assert first.sent_at.isoformat() == "2026-05-01T09:30:00.123456+00:00"


@pytest.mark.parametrize("kind", WRITERS)
def test_a_long_conversation_is_written_as_it_is_read(kind: str) -> None:
    """In parts of some kilobytes; in Markdown it is several notes, in order."""
    sizes: list[int] = []

    async def work() -> bytes:
        def records() -> Iterable[Record]:
            yield user()
            yield talk(message_count=1200)
            for n in range(1200):
                yield message(f"Message {n}", id=str(UUID(int=1000 + n)), position=n + 1)

        parts = []
        async for part in WRITERS[kind](_each(records())):
            sizes.append(len(part))
            parts.append(part)
        return b"".join(parts)

    file = asyncio.run(work())
    assert max(sizes) < len(file)
    assert max(sizes) < 60_000


def test_notes_are_for_people(tmp_path: Path) -> None:
    """Names of files say what is in them; an association is a link to the other note."""
    other = {
        "target_id": "k2J4h6G8",
        "target_owner_id": None,
        "target_content": "Ada: #1 [bees]",
    }
    edge = {**other, "relation": "related_to", "weight": 0.5, "created_at": AT, "updated_at": AT}
    records = [
        user(),
        talk(),
        message("I keep bees.", metadata={"raw": "--> <b>"}),
        memory("Ada keeps bees in Gent.", category="hobby", associations=[edge]),
        memory("Ada: #1 [bees]", id="k2J4h6G8"),
        memory("Market: on Fridays", id="p1", place_id="x", kind="place"),
    ]
    with zipfile.ZipFile(written("zip", records, tmp_path)) as archive:
        assert archive.namelist() == [
            "Profile.md",
            "Conversations/2026-05-01 Bees (000000000002).md",
            "Memories/Hobby/Ada keeps bees in Gent (a1B2c3D4).md",
            "Memories/Other/Ada 1 bees (k2J4h6G8).md",
            "Places/Market on Fridays (p1).md",
        ]
        note = archive.read(archive.namelist()[2]).decode()
        assert "- '[[Ada 1 bees (k2J4h6G8)]]'" in note
        assert note.endswith("---\nAda keeps bees in Gent.\n")
        said = archive.read(archive.namelist()[1]).decode()
        assert said.count("-->") == 1
        assert "**user**, 2026-05-01 11:30\n> I keep bees." in said


def test_json_ld_is_json_ld(tmp_path: Path) -> None:
    """A processor reads it without a network, and finds the words of schema.org."""
    records = [user(), talk(), message(HOSTILE[0]), memory(HOSTILE[1], metadata={"@id": "x"})]
    document = json.loads(written("jsonld", records, tmp_path).read_text(encoding="utf-8"))

    def no_network(url: str, *_: object) -> None:
        raise AssertionError(url)

    nodes = jsonld.expand(document, {"documentLoader": no_network})
    assert [node["@type"] for node in nodes] == [
        [f"https://schema.org/{name}"] for name in ("Person", "Conversation", "Message", "Claim")
    ]
    said, claim = nodes[2], nodes[3]
    assert said["https://schema.org/text"] == [{"@value": HOSTILE[0]}]
    assert said["https://schema.org/isPartOf"] == [{"@id": f"urn:uuid:{TALK}"}]
    assert claim["https://schema.org/author"] == [{"@id": f"urn:uuid:{ME}"}]
    assert claim["https://schema.org/dateCreated"][0]["@value"] == AT
    assert claim[f"{json_ld.TERMS}metadata"] == [{"@type": "@json", "@value": {"@id": "x"}}]


MENTION = {"id": SAID, "mentioned_at": AT}
SUMMARY = {"id": SAID, "range_start": 1, "range_end": 2, "content": "x", "created_at": AT}
VERSION = {"version": 1, "content": "x", "recorded_at": AT}
WRONG: list[tuple[list[Record], str]] = [
    ([memory("x")], "must begin with its user"),
    ([user(), user()], "must begin with its user"),
    ([user(remembrancer=2)], "remembrancer"),
    ([user(time_zone="Mars/Base")], "time_zone"),
    ([user(), {"type": "song"}], "type: must be one of"),
    ([user(), {"type": ["memory"]}], "type: must be one of"),
    ([user(), memory("x", id="../x")], "id"),
    ([user(), memory("x", importance=2)], "importance"),
    ([user(), memory("a\x00b")], "content"),
    ([user(), memory("x", created_at="2026-05-01T09:30:00")], "created_at"),
    ([user(), memory("x", versions=[VERSION | {"content": "y"}])], "versions: must end with"),
    ([user(), memory("x", version=2, versions=[VERSION, VERSION])], "versions: must be in order"),
    ([user(), memory("x", metadata={"a": "\x00"})], "metadata"),
    ([user(), talk(message_count=10, summarised_to=5)], "summarised_to"),
    ([user(), talk(message_count=50, summarised_to=9, summaries=[SUMMARY] * 2)], "summaries"),
    ([user(), memory("x", mentions=[MENTION, MENTION], versions=[])], "mentions"),
    ([user(), memory("x", address=["one"])], "address: must have from 2"),
    ([user(saved_filters=[{"name": "x", "filters": {"colour": 1}}])], "filters"),
    ([user(), message("x", position=0)], "position"),
    ([user(), message("x", role="god")], "role"),
]


@pytest.mark.parametrize(("records", "reason"), WRONG)
def test_a_wrong_record_is_named(records: list[Record], reason: str, tmp_path: Path) -> None:
    """With its place in the file and its field, and without its content."""
    with pytest.raises(InvalidInput, match=reason) as caught:
        read(written("jsonl", records, tmp_path))
    assert "a\x00b" not in str(caught.value)


def test_a_note_that_is_broken_is_named(tmp_path: Path) -> None:
    """Aliases of YAML, which may grow without a bound, are none of ours."""
    path = written("zip", [user(), talk(), message("Hello"), memory("x")], tmp_path)
    folder = tmp_path / "vault"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
        note = folder / archive.namelist()[-1]
    good = note.read_text(encoding="utf-8")
    assert len(read(folder)) == 4
    for bad in (
        good.replace("kind: fact", "kind: &a fact\nother: *a"),
        good.replace("kind: fact", "kind: [fact"),
        good.replace("kind: fact", "kind: !!python/name:os.system ''"),
        good.replace("kind: fact", "- kind"),
    ):
        note.write_text(bad, encoding="utf-8")
        with pytest.raises(InvalidInput, match=r"cannot be read|type"):
            read(folder)
    note.write_text("My own note", encoding="utf-8")
    export = open_export(folder)
    assert len(list(export.records())) == 3
    assert export.notes.skipped == {"note that is not of the export": 1}


def test_every_column_is_brought_back_or_known() -> None:
    """A new column of a person is in all formats at once; this says that an import lacks it."""
    known: list[tuple[Table, type[BaseModel], set[str]]] = [
        (tables.conversations, ConversationRecord, set()),
        (tables.messages, MessageRecord, set()),
        (tables.chunks, SummaryRecord, {"conversation_id"}),
        (tables.memories, MemoryRecord, {"tokens", "quoted", "mention_count", "forgotten_at"}),
        (tables.memory_versions, VersionRecord, {"memory_id"}),
        (tables.mentions, MentionRecord, {"memory_id"}),
        (tables.associations, AssociationRecord, {"memory_id"}),
    ]
    for table, model, left in known:
        columns = {column.key for column in _shown(table)}
        assert columns - model.model_fields.keys() == left, table.name


def test_what_was_forgotten_or_of_a_server_is_left(tmp_path: Path) -> None:
    """Counted, and never brought back."""
    records = [user(), memory("x", status="forgotten"), {"type": "api_key", "id": ME}]
    export = open_export(written("jsonl", records, tmp_path))
    assert len(list(export.records())) == 1
    assert export.notes.skipped == {"forgotten memory": 1, "api key": 1}
