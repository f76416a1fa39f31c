"""Open an export: a file, a folder or a zip archive. Nothing is unpacked to disk."""

import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from remembrancer.importers import unknown
from remembrancer.importers.bundle import Bundle
from remembrancer.importers.parse import invalid

MAX_BYTES: int = 1 << 30
"""Maximum unpacked size of one file."""
MAX_FILES = 200_000
MAX_RATIO = 200
"""Maximum ratio of unpacked to packed size, for a file over a megabyte."""
_SMALL = 1 << 20
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
)


def open_bundle(path: Path, most: int | None = None) -> Bundle:
    """Open the export at ``path``; raise ``InvalidInput`` with the reason if it cannot be read.

    ``most`` is the maximum unpacked size of a file in an archive, if it is below the usual one.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise invalid(str(path), (error.strerror or "cannot be read").lower()) from None
    if stat.S_ISDIR(mode):
        return Folder(path)
    if not stat.S_ISREG(mode):
        raise invalid(str(path), "is neither a file nor a folder; name an export")
    return Archive(path, most) if zipfile.is_zipfile(path) else Single(path)


class Single:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def names(self) -> Sequence[str]:
        return [self.name]

    def content(self, name: str) -> bytes:
        return _read(self._path, name)

    def text(self, name: str) -> str:
        return _decoded(self.content(name), name)


class Folder:
    """A folder, such as an unpacked archive. Links are not followed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.resolve().name
        self._names = sorted(self._files())
        if not self._names:
            raise invalid(self.name, "is an empty folder; name one that holds an export")

    def _files(self) -> list[str]:
        paths: list[str] = []
        for parent, folders, files in os.walk(self._path):
            folder = Path(parent)
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                file = folder / name
                if not name.startswith(".") and not file.is_symlink():
                    paths.append(file.relative_to(self._path).as_posix())
            if len(paths) > MAX_FILES:
                raise invalid(self.name, f"has more than {MAX_FILES:,} files; import it in parts")
        return paths

    def names(self) -> Sequence[str]:
        return self._names

    def content(self, name: str) -> bytes:
        return _read(self._path / name, f"{self.name}, {name}")

    def text(self, name: str) -> str:
        return _decoded(self.content(name), f"{self.name}, {name}")


class Archive:
    """Unpacks files on request, in memory and within limits."""

    def __init__(self, path: Path, most: int | None = None) -> None:
        self._most = min(most or MAX_BYTES, MAX_BYTES)
        self.name = path.name
        try:
            # It stays open: an archive of many notes is not looked through anew for each.
            self._archive = zipfile.ZipFile(path)
            entries = self._archive.infolist()
        except _BROKEN:
            raise invalid(self.name, "is a broken zip archive; download it again") from None
        if len(entries) > MAX_FILES:
            raise invalid(self.name, f"has more than {MAX_FILES:,} files; import it in parts")
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            self._add(entry)
        if not self._entries:
            raise invalid(self.name, "is an empty archive; download it again")

    def _add(self, entry: zipfile.ZipInfo) -> None:
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise invalid(
                self.name,
                "has a path out of the archive; import it unpacked",
            )
        if entry.filename in self._entries:
            raise invalid(self.name, "has two files of one name; import it unpacked")
        hidden = path.name.startswith(".") or "__MACOSX" in path.parts
        if not entry.is_dir() and not hidden:
            self._entries[entry.filename] = entry

    def names(self) -> Sequence[str]:
        return list(self._entries)

    def content(self, name: str) -> bytes:
        where, entry = f"{self.name}, {name}", self._entries[name]
        if entry.flag_bits & 1:
            raise invalid(where, "is encrypted; import it unpacked")
        limit = min(self._most, max(_SMALL, entry.compress_size * MAX_RATIO))
        if entry.file_size > limit:
            raise _too_large(where, self._most)
        try:
            with self._archive.open(entry) as file:
                # What the archive says of sizes may be invalid, on purpose.
                content = file.read(limit + 1)
        except _BROKEN:
            raise invalid(where, "cannot be unpacked; download the archive again") from None
        if len(content) > limit:
            raise _too_large(where, self._most)
        return content

    def text(self, name: str) -> str:
        return _decoded(self.content(name), f"{self.name}, {name}")


def _read(path: Path, where: str) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _too_large(where)
        return path.read_bytes()
    except OSError as error:
        raise invalid(where, (error.strerror or "cannot be read").lower()) from None


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise unknown.binary(content, where) from None


def _too_large(where: str, most: int = MAX_BYTES) -> Exception:
    return invalid(where, f"is over {most >> 20:,} MB or compressed too much; split it")
