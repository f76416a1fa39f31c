"""Large exports: read from disk as from memory, in the same memory whatever their size."""

import re
import tracemalloc
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
import test_foreign_input as foreign
from exports import saved, zipped

from benchmarks.imports import FORMATS
from remembrancer.cli import output
from remembrancer.importers import Format, Options, archives, open_export, spool, tally
from remembrancer.importers.tally import Tally

OPTIONS = Options(time_zone=UTC, me="Ada")


def limited(monkeypatch: pytest.MonkeyPatch, chunk: int, held: int) -> None:
    """Take any export for a large one."""
    monkeypatch.setattr(archives, "_CHUNK", chunk)
    monkeypatch.setattr(spool, "MOST_HELD", held)
    monkeypatch.setattr(spool, "_BATCH", held + 1)
    monkeypatch.setattr(tally, "_RECENT", held + 1)


def said(path: Path, format_: Format) -> list[Any]:
    # The people of Messenger have their full names.
    options = replace(OPTIONS, me=None) if format_ is Format.MESSENGER else OPTIONS
    export = open_export(path, format_, options)
    chats: list[Any] = [
        (chat.platform, chat.conversation, chat.title, chat.people, chat.partner, len(chat.turns),
         list(chat.messages()))
        for chat in export.transcripts()
    ]  # fmt: skip
    return [*chats, *export.memories(), export.notes, export.account()]


@pytest.mark.parametrize("format_", foreign.FILES)
def test_a_large_export_is_read_as_a_small_one(
    format_: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts of a few bytes, with its turns on disk: the same comes of it, and its format."""
    files = foreign.FILES[format_]
    if len(files) > 1:
        path = zipped(tmp_path / "export.zip", files)
    else:
        [(name, content)] = files.items()
        path = saved(tmp_path / name, content)
    whole = said(path, format_)
    limited(monkeypatch, 7, 0)
    assert said(path, format_) == whole
    assert open_export(path, options=OPTIONS).format is format_


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "mail"])
def test_memory_does_not_grow_with_an_export(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what tells messages apart does: 16 bytes for each, and some while they are sorted."""
    limited(monkeypatch, 16_384, 50)
    file, make, _ = FORMATS[name]
    peaks = []
    for count in (200, 200, 1_200):  # the first reads what is read once
        make(tmp_path / file, count)
        tracemalloc.start()
        export = open_export(tmp_path / file, options=OPTIONS)
        assert count == sum(1 for chat in export.transcripts() for _ in chat.messages())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] + 64 * 1_000


def test_a_tally_counts_in_memory_and_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same before and after keys are sorted in."""
    monkeypatch.setattr(tally, "_RECENT", 3)
    keys = Tally()
    assert [keys.add(str(number % 10)) for number in range(30)] == [1] * 10 + [2] * 10 + [3] * 10


def test_progress_is_told_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line now and then, with the rate and the time left."""
    monkeypatch.setattr(output, "LINE_EVERY", 10)
    seconds = iter(range(0, 1000, 4))
    with output.progress() as bar:
        bar.get_time = lambda: float(next(seconds))
        task = bar.add_task("Storing", total=1_000_000)
        for _ in range(9):
            bar.advance(task, 1_000)
    lines = capsys.readouterr().err.splitlines()
    assert 1 < len(lines) < 9
    assert re.fullmatch(r"Storing: [\d,]+ of 1,000,000, [\d,]+/s, \d+:\d\d:\d\d left", lines[-1])
