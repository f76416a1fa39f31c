"""Open an export: a file, a folder or a zip archive. Nothing is unpacked to disk."""

import lzma
import os
import stat
import zipfile
import zlib
from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from remembrancer.importers import unknown
from remembrancer.importers.bundle import Bundle
from remembrancer.importers.parse import invalid

MAX_BYTES: int = 1 << 30
"""Maximum unpacked size of a file that is read as a whole."""
MAX_FILES = 200_000
MAX_RATIO = 200
"""Maximum ratio of unpacked to packed size, for a file over a megabyte."""
_SMALL = 1 << 20
_CHUNK = 1 << 20
_START = 1 << 10
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

    ``most`` is the maximum unpacked size of a file in an archive, if there is one.
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


class _Files(ABC):
    """What is the same for files wherever they are."""

    name: str
    is_stopped = False

    @abstractmethod
    def names(self) -> Sequence[str]: ...

    @abstractmethod
    def _read(self, name: str) -> Iterator[bytes]: ...

    @abstractmethod
    def _where(self, name: str) -> str:
        """Return the position of a file for errors."""

    def chunks(self, name: str) -> Iterator[bytes]:
        for chunk in self._read(name):
            if self.is_stopped:
                raise InterruptedError
            yield chunk

    def content(self, name: str) -> bytes:
        chunks, size = [], 0
        for chunk in self.chunks(name):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                raise _too_large(self._where(name))
        return b"".join(chunks)

    def text(self, name: str) -> str:
        content = self.content(name)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise unknown.binary(content, self._where(name)) from None

    def texts(self, name: str) -> Iterator[str]:
        decoder, start = getincrementaldecoder("utf-8-sig")(), b""
        try:
            for chunk in self.chunks(name):
                start = start or chunk[:_START]
                if text := decoder.decode(chunk):
                    yield text
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise unknown.binary(start, self._where(name)) from None


class Single(_Files):
    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def names(self) -> Sequence[str]:
        return [self.name]

    def _read(self, name: str) -> Iterator[bytes]:
        return _chunks(self._path, name)

    def _where(self, name: str) -> str:
        return name


class Folder(_Files):
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

    def _read(self, name: str) -> Iterator[bytes]:
        return _chunks(self._path / name, self._where(name))

    def _where(self, name: str) -> str:
        return f"{self.name}, {name}"


class Archive(_Files):
    """Unpacks files on request, in memory and within limits."""

    def __init__(self, path: Path, most: int | None = None) -> None:
        self._most = most
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

    def _read(self, name: str) -> Iterator[bytes]:
        where, entry = self._where(name), self._entries[name]
        if entry.flag_bits & 1:
            raise invalid(where, "is encrypted; import it unpacked")
        limit = max(_SMALL, entry.compress_size * MAX_RATIO)
        if self._most is not None:
            limit = min(self._most, limit)
        left = limit
        try:
            with self._archive.open(entry) as file:
                # What the archive says of sizes may be invalid, on purpose.
                while entry.file_size <= limit and (chunk := file.read(min(_CHUNK, left + 1))):
                    left -= len(chunk)
                    if left < 0:
                        break
                    yield chunk
        except _BROKEN:
            raise invalid(where, "cannot be unpacked; download the archive again") from None
        if entry.file_size > limit or left < 0:
            raise _too_large(where, self._most or MAX_BYTES)

    def _where(self, name: str) -> str:
        return f"{self.name}, {name}"


def _chunks(path: Path, where: str) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise invalid(where, (error.strerror or "cannot be read").lower()) from None


def _too_large(where: str, most: int = MAX_BYTES) -> Exception:
    return invalid(where, f"is over {most >> 20:,} MB or compressed too much; split it")
