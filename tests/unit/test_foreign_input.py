"""Whatever a file, a model or a person hands over is read, or refused with a clear error.

Exports are taken as other systems write them and changed at random: in their bytes, and in the
values of their JSON. Parsers get texts that are put together at random, of parts made to be
difficult.
"""

import json
import random
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final
from uuid import UUID

import exports
import exports_of_people
import pytest
from foreign_text import FUNCTIONS, PARTS, REFUSALS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remembrancer import InvalidInput
from remembrancer.importers import Format, Options, open_export
from remembrancer.importers.address_book import scoped
from remembrancer.importers.importer import owner_of
from remembrancer.importers.memory_import import _statement

FEW: Final = 30
MANY: Final = pytest.param(3_000, marks=pytest.mark.soak)
SAID: Final = ["Zanzibar", "glaze", "tents", "kiln", "Brent", "loom", "goose", "viola", "Catalan",
    "rosin", "treadles", "orrery", "Madder", "gut strings", "theorbo", "nyckelharpa",
    "missal", "quinces", "espaliers", *exports_of_people.SAID,
]  # fmt: skip
"""Words of what is said in the exports, which no error may tell."""

_LINES = [
    {"content": "Zanzibar!", "sender": "Ada", "sent_at": "2026-01-02T03:04", "message_id": key}
    for key in "ab"
]
_LOCOMO = {
    "speaker_a": "Ines",
    "speaker_b": "Tomas",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [{"speaker": "Ines", "dia_id": "D1:1", "text": "Zanzibar!"}],
}
FILES: Final[Mapping[Format, Mapping[str, Any]]] = {
    Format.JSONL: {"a.jsonl": "\n".join(map(json.dumps, _LINES))},
    Format.JSON: {"a.json": [{"messages": _LINES, "conversation": "a", "title": "b"}]},
    Format.LOCOMO: {"a.json": [{"sample_id": "1", "conversation": _LOCOMO}]},
    Format.CHATGPT: exports.chatgpt_parts(),
    Format.CLAUDE: exports.claude_archive(),
    Format.SLACK: exports.slack(),
    Format.DISCORD: exports.discord_package(),
    Format.TELEGRAM: {"result.json": exports.telegram_account()},
    Format.WHATSAPP: {"WhatsApp Chat with Bob.txt": exports.ANDROID},
    Format.GEMINI: exports.gemini(),
    Format.CLAUDE_CODE: exports.claude_code(),
    Format.CODEX: exports.codex(),
    Format.OPEN_WEBUI: {"chats.json": exports.open_webui()},
    Format.LIBRECHAT: {"strings.json": exports.librechat()},
    Format.SILLYTAVERN: {"Seraphina.jsonl": exports.SILLYTAVERN},
    Format.MEM0: {"memories.json": exports.mem0()},
    Format.ZEP: {"facts.json": exports.zep()},
    Format.LETTA: {"agent.af": exports.letta()},
    Format.LANGMEM: {"items.json": exports.langmem()},
    Format.HINDSIGHT: {"bank.json": exports.hindsight()},
    Format.MCP_MEMORY: {"memory.jsonl": exports.MCP},
    **{Format(name): files for name, files in exports_of_people.FILES},
}
VALUES: Final[Sequence[Any]] = [
    None, True, 0, -1, 10**30, 1e308, float("nan"), "", " ", "x" * 300, "\x00", "\ud800", "\u202e",
    "9" * 5000, "2024-02-30T00:00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00",
    "99999999999", 10**300, "\u200b", "x" * 255, "x" * 40_000,
    [], [[]], {}, [None], {"": None}, ["x"], {"x": {"y": []}},
    json.loads("[" * 300 + "]" * 300),
]  # fmt: skip
TOKENS: Final = [
    *map(str.encode, '"{}[],:\\\n\x00'),
    b"null",
    b"1e999",
    b"\xff",
    b"PK\x03\x04",
    b"\xef\xbb\xbf",
]


_generated = partial(
    settings,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container in a value with each of its keys."""
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def _change_value(content: Any, chance: random.Random) -> None:
    """Put something else in a place, take the place away, or write what is in another one."""
    places = _places(content)
    if not places:
        return
    container, key = chance.choice(places)
    change = chance.randrange(4)
    if change == 0:
        del container[key]
    elif change == 1:
        other, of = chance.choice(places)
        container[key] = deepcopy(other[of])
    else:
        container[key] = deepcopy(chance.choice(VALUES))


def _change_bytes(content: bytes, chance: random.Random) -> bytes:
    """Cut, double, exchange or insert some bytes."""
    start, end = sorted(chance.choices(range(len(content) + 1), k=2))
    short = min(end, start + chance.choice((1, 1, 4, 30)))
    inserted = chance.choice([chance.randbytes(chance.randint(1, 4)), *TOKENS])
    return chance.choice(
        [
            content[:start] + content[short:],
            content[:start] + inserted + content[short:],
            content[:start] + inserted + content[start:],
            content[:short] + content[start:],
            content[:end],
        ]
    )


def _changed(name: str, content: Any, chance: random.Random) -> bytes:
    """A file, most often as it is, else with other values, other bytes, or both."""
    way = chance.choice((0, 0, 0, 1, 2, 3))
    text = content
    if not isinstance(content, str):
        whole = [deepcopy(content)]
        for _ in range(chance.randint(1, 3) if way & 1 else 0):
            _change_value(whole, chance)
        text = json.dumps(whole[0] if whole else None, ensure_ascii=chance.random() < 0.5)
    elif way & 1 and name.endswith("jsonl"):
        lines = [json.loads(line) for line in content.split("\n") if line]
        _change_value(lines, chance)
        text = "\n".join(map(json.dumps, lines))
    encoded = text.encode("utf-8", "surrogatepass")
    for _ in range(chance.randint(1, 3) if way & 2 else 0):
        encoded = _change_bytes(encoded, chance)
    return encoded


def _write(folder: Path, files: Mapping[str, Any], chance: random.Random) -> Path:
    """The files as one, as a folder or as an archive that may have been changed, too."""
    contents = {name: _changed(name, content, chance) for name, content in files.items()}
    if len(contents) == 1 and chance.random() < 0.6:
        [(name, content)] = contents.items()
        (folder / name).write_bytes(content)
        return folder / name
    if chance.random() < 0.5:
        for name, content in contents.items():
            path = folder / "export" / PurePosixPath(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder / "export"
    path = folder / "export.zip"
    packed = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, packed)
    if chance.random() < 0.6:
        path.write_bytes(_change_bytes(path.read_bytes(), chance))
    return path


def _read(path: Path, format_: Format, chance: random.Random) -> int:
    """Read an export as an import does before it stores anything; return what is in it."""
    options = Options(
        time_zone=chance.choice((UTC, UTC, None)),
        me=chance.choice((None, None, "Ada")),
        longest=chance.choice((32_000, 20)),
    )
    export = open_export(path, format_, options)
    items = 0
    people = {}
    for transcript in export.transcripts():
        items += len(list(scoped(transcript, UUID(int=1)).messages()))
        people |= {(transcript.platform, key): name for key, name in transcript.people.items()}
    for memory in export.memories():
        _statement(memory)
        items += 1
        if memory.about is not None:
            people[memory.platform, memory.about] = memory.about
    owner_of(export, people)
    return items


@pytest.mark.parametrize("examples", [FEW, MANY])
@pytest.mark.parametrize("format_", FILES)
def test_a_changed_export_is_read_or_refused(
    format_: Format, examples: int, tmp_path: Path
) -> None:
    """Never with another error than that of a wrong field; it tells nothing of what was said."""
    outcomes: Counter[str] = Counter()

    @given(st.randoms(use_true_random=False))
    @_generated(max_examples=examples)
    def each(chance: random.Random) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            path = _write(Path(folder), FILES[format_], chance)
            # Most files are read as what they are, some as what somebody takes them for.
            other = chance.choice((format_, format_, Format.AUTO, chance.choice(list(Format))))
            try:
                outcomes["read"] += _read(path, other, chance) > 0
            except InvalidInput as error:
                outcomes["refused"] += 1
                outcomes["told"] += any(word in str(error) for word in SAID)

    each()
    assert not outcomes["told"]
    assert outcomes["read"] > examples / 20, outcomes
    assert outcomes["refused"] > examples / 5, outcomes


@pytest.mark.parametrize("examples", [FEW, MANY])
def test_a_parser_takes_any_text(examples: int) -> None:
    """Or refuses it with an error of its own."""

    @given(st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=30).map("".join))
    @_generated(max_examples=examples)
    def each(text: str) -> None:
        for function in FUNCTIONS.values():
            with suppress(*REFUSALS):
                function(text)

    each()
