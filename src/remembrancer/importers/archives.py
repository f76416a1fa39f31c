"""Open an export, be it a file, a folder or a zip archive. Nothing is ever unpacked to disk."""

import os
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from remembrancer.importers.bundle import Bundle
from remembrancer.importers.exported_conversations import wrong

LARGEST: int = 1 << 30
"""Bytes that one file may have, unpacked if it was packed."""
MOST_FILES = 200_000
DENSEST = 200
"""How many times larger than packed a file may be that is larger than a megabyte."""
_SMALL = 1 << 20


def open_bundle(path: Path) -> Bundle:
    """Return what is at ``path``; raise ``InvalidInput`` that says why it cannot be read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise wrong(str(path), (error.strerror or "cannot be read").lower()) from None
    if stat.S_ISDIR(mode):
        return Folder(path)
    if not stat.S_ISREG(mode):
        raise wrong(str(path), "is neither a file nor a folder")
    return Archive(path) if zipfile.is_zipfile(path) else Single(path)


class Single:
    """One file by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def names(self) -> Sequence[str]:
        """Return its name."""
        return [self.name]

    def text(self, name: str) -> str:
        """Return its text."""
        return _read(self._path, name)


class Folder:
    """A folder, such as an archive that was unpacked. Links are not followed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.resolve().name
        self._names = sorted(self._found())
        if not self._names:
            raise wrong(self.name, "is an empty folder")

    def _found(self) -> list[str]:
        found: list[str] = []
        for at, folders, files in os.walk(self._path):
            folder = Path(at)
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                file = folder / name
                if not name.startswith(".") and not file.is_symlink():
                    found.append(file.relative_to(self._path).as_posix())
            if len(found) > MOST_FILES:
                raise wrong(self.name, f"holds more than {MOST_FILES:,} files")
        return found

    def names(self) -> Sequence[str]:
        """Return the paths of all files."""
        return self._names

    def text(self, name: str) -> str:
        """Return the text of one."""
        return _read(self._path / name, f"{self.name}, {name}")


class Archive:
    """A zip archive, of which only what is asked for is unpacked, in memory and within limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError):
            raise wrong(self.name, "is a broken zip archive") from None
        if len(entries) > MOST_FILES:
            raise wrong(self.name, f"holds more than {MOST_FILES:,} files")
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            self._add(entry)
        if not self._entries:
            raise wrong(self.name, "is an empty archive")

    def _add(self, entry: zipfile.ZipInfo) -> None:
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise wrong(self.name, "holds a path that leads out of it")
        if entry.filename in self._entries:
            raise wrong(self.name, "holds two files of one name")
        hidden = path.name.startswith(".") or "__MACOSX" in path.parts
        if not entry.is_dir() and not hidden:
            self._entries[entry.filename] = entry

    def names(self) -> Sequence[str]:
        """Return the paths of all files."""
        return list(self._entries)

    def text(self, name: str) -> str:
        """Return the text of one."""
        where, entry = f"{self.name}, {name}", self._entries[name]
        if entry.flag_bits & 1:
            raise wrong(where, "is encrypted")
        most = min(LARGEST, max(_SMALL, entry.compress_size * DENSEST))
        if entry.file_size > most:
            raise _too_large(where)
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(entry) as file:
                # What the archive says of sizes may be wrong, on purpose.
                content = file.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError):
            raise wrong(where, "cannot be unpacked: the archive is broken") from None
        if len(content) > most:
            raise _too_large(where)
        return _decoded(content, where)


def _read(path: Path, where: str) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise _too_large(where)
        return _decoded(path.read_bytes(), where)
    except OSError as error:
        raise wrong(where, (error.strerror or "cannot be read").lower()) from None


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise wrong(where, "is not UTF-8 text") from None


def _too_large(where: str) -> Exception:
    return wrong(where, f"is larger than {LARGEST >> 20:,} MB, or packed beyond belief")
