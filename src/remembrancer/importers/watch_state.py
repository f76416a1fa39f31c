"""What a watch has imported already, in a file that a crash at any moment leaves valid.

It saves work alone: an import of the same again changes nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from remembrancer.importers.exported_conversations import digest

FOLDER: Final = "watches"
_FEW: Final = 1000


class _Line(NamedTuple):
    """A file or folder, how it looked when it was imported, and the hash of a file's content."""

    name: str
    stamp: str
    content: str | None = None


class WatchState:
    """A line for each import. A line that was cut off is none; the latest of a name counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, _Line] = {}
        self._contents: set[str] = set()

    @classmethod
    def of(cls, data_dir: Path, parts: Sequence[str], *, again: bool = False) -> Self:
        """Return the state of the watch that ``parts`` describe; empty with ``again``."""
        folder = data_dir.expanduser() / FOLDER
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = cls(folder / f"{digest(parts)[:32]}.jsonl")
        if again:
            state._path.unlink(missing_ok=True)
        state._read()
        return state

    def has(self, name: str, stamp: str) -> bool:
        line = self._lines.get(name)
        return line is not None and line.stamp == stamp

    def has_content(self, content: str) -> bool:
        """Return whether a file with this hash was imported, under whatever name."""
        return content in self._contents

    def note(self, name: str, stamp: str, content: str | None = None) -> None:
        line = _Line(name, stamp, content)
        self._add(line)
        with self._path.open("a") as file:
            file.write(_text(line))

    def _add(self, line: _Line) -> None:
        self._lines[line.name] = line
        if line.content is not None:
            self._contents.add(line.content)

    def _read(self) -> None:
        if not self._path.exists():
            return
        written = self._path.read_text(errors="replace").split("\n")
        for text in written:
            try:
                self._add(_Line(*json.loads(text)))
            except (ValueError, TypeError):
                continue  # cut off
        if len(written) > 2 * len(self._lines) + _FEW or written[-1]:
            self._write_anew()

    def _write_anew(self) -> None:
        rest = [
            _Line("", "", content)
            for content in self._contents - {line.content for line in self._lines.values()}
        ]
        draft = self._path.with_suffix(".new")
        draft.write_text("".join(map(_text, [*rest, *self._lines.values()])))
        draft.replace(self._path)


def _text(line: _Line) -> str:
    return f"{json.dumps(line)}\n"
