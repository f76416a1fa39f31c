"""What in a watched folder can be imported: files, and folders that are one export each."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from remembrancer.importers.archives import MAX_FILES, Folder
from remembrancer.importers.exports import ENDINGS, Format, is_one_export
from remembrancer.importers.formats import notes
from remembrancer.importers.parse import invalid

_LINES: Final = frozenset({".jsonl", ".zip"})
_OF_FORMAT: Final[Mapping[Format, frozenset[str]]] = {
    Format.CLAUDE_CODE: _LINES,
    Format.CODEX: _LINES,
    Format.SILLYTAVERN: _LINES,
    Format.JSONL: _LINES,
    Format.WHATSAPP: frozenset({".txt", ".zip"}),
    **{
        one: frozenset({".zip"} | {ending for ending, other in ENDINGS.items() if other is one})
        for one in set(ENDINGS.values())
    },
}
"""Endings of the files of a format, if it has its own."""
_ANY: Final = frozenset({".json", ".jsonl", ".jsonld", ".txt", ".zip", ".af", *ENDINGS})


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    size: int
    changed_at: int
    """In nanoseconds since 1970."""

    @property
    def ending(self) -> str:
        path = PurePosixPath(self.name.casefold())
        return f".{path.name}" if path.name == "mbox" else path.suffix


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a folder that is one export. Its stamp changes when its content does."""

    name: str
    """The path within the watched folder; ``.`` for that itself."""
    path: Path
    stamp: str
    changed_at: float
    """In seconds since 1970."""
    is_folder: bool


@dataclass(slots=True)
class Look:
    """``left`` has the files of other kinds by ending, ``closed`` folders that cannot be read."""

    entries: list[Entry] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    closed: list[str] = field(default_factory=list)


class WatchedFolder:
    """Looks into a folder and all below it. Links and hidden files are not followed.

    A folder in it is one export if its files say so, such as Slack's, or, directly in the watched
    folder, notes. With the format ``notes``, the watched folder is one export itself.
    """

    def __init__(self, path: Path, format_: Format) -> None:
        self.path = path
        self._format = format_
        self._endings = _OF_FORMAT.get(format_, _ANY)
        self._decided: dict[str, tuple[int, bool]] = {}
        """By folder: a hash of the names in it, and whether they are one export."""

    def look(self) -> Look:
        """Return what is in the folder now; raise ``InvalidInput`` if it cannot be read."""
        found = Look()
        if not self.path.is_dir():
            raise invalid(str(self.path), "is no folder")
        files = self._files(found)
        if self._format is Format.NOTES:
            found.entries = list(self._whole("", files))
        else:
            found.entries = list(self._entries("", files, found))
        return found

    def _files(self, found: Look) -> list[_File]:
        files: list[_File] = []

        def closed(error: OSError) -> None:
            found.closed.append(self._name(Path(error.filename)))

        for parent, folders, names in os.walk(self.path, onerror=closed):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(parent, name)
                try:
                    info = path.lstat()
                except OSError:
                    continue  # it has gone meanwhile
                if stat.S_ISREG(info.st_mode) and not name.startswith("."):
                    files.append(_File(self._name(path), info.st_size, info.st_mtime_ns))
            if len(files) > MAX_FILES:
                reason = f"has more than {MAX_FILES:,} files; watch a folder in it"
                raise invalid(str(self.path), reason)
        return files

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _entries(self, folder: str, files: list[_File], found: Look) -> Iterator[Entry]:
        if folder and self._is_one_export(folder, files):
            yield from self._whole(folder, files)
            return
        below: dict[str, list[_File]] = {}
        for file in files:
            name, slash, _ = file.name.removeprefix(folder).partition("/")
            if slash:
                below.setdefault(f"{folder}{name}/", []).append(file)
            elif file.ending not in self._endings or (folder and file.ending in notes.ENDINGS):
                found.left[file.ending] += 1
            else:
                stamp, path = f"{file.size}-{file.changed_at}", self.path / file.name
                yield Entry(file.name, path, stamp, file.changed_at / 1e9, is_folder=False)
        for name, inner in below.items():
            yield from self._entries(name, inner, found)

    def _whole(self, folder: str, files: list[_File]) -> Iterator[Entry]:
        if self._format is Format.NOTES:
            files = [file for file in files if file.ending in notes.ENDINGS]
        if files:
            lines = (f"{file.name}\0{file.size}\0{file.changed_at}\n" for file in files)
            stamp = hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
            changed_at = max(file.changed_at for file in files) / 1e9
            name = folder.rstrip("/") or "."
            yield Entry(name, self.path / name, stamp, changed_at, is_folder=True)

    def _is_one_export(self, folder: str, files: list[_File]) -> bool:
        names = hash(tuple(file.name for file in files))
        if (known := self._decided.get(folder)) is None or known[0] != names:
            endings = {file.ending for file in files} & (_ANY - {".json", ".txt"})
            is_vault = folder.count("/") == 1 and bool(endings) and endings <= notes.ENDINGS
            bundle = Folder(self.path / folder)
            is_one = is_one_export(bundle) or (is_vault and notes.is_vault(bundle))
            known = self._decided[folder] = names, is_one
        return known[1]
