"""The backup file: a zip archive with the rows of each table and a manifest.

Rows are in the text format of Postgres' COPY, which any version reads. The manifest is last, so
an incomplete file has none.
"""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final, Self

from pydantic import ValidationError

from remembrancer.errors import InvalidInput
from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.validation import Input

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Observer:
    """Receives the total number of rows, then the number of rows of each part."""

    start: Callable[[int], None] = lambda _: None
    advance: Callable[[int], None] = lambda _: None


class TableEntry(Input):
    name: str
    """With its schema: ``public.users``. The store's own is ``public``, whatever its name."""
    columns: list[str]
    rows: int
    sha256: str


class Manifest(Input):
    """The content of an archive, and the revision of its tables."""

    format: int
    revision: str
    """The revision of the store's migrations."""
    version: str
    """The version of Remembrancer."""
    workspace: str = DEFAULT_WORKSPACE
    created_at: datetime
    tables: list[TableEntry]
    sequences: dict[str, int]
    """The last value of each used sequence."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


class TableWriter:
    """Writes, counts and hashes the rows of one table."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._buffer: list[bytes] = []
        self._size = 0
        self.count = 0
        """Written rows; each has one line break, at its end."""

    def write(self, part: bytes) -> None:
        self._buffer.append(part)
        self._size += len(part)
        if self._size >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        block = b"".join(self._buffer)
        self.count += block.count(b"\n")
        self._hash.update(block)
        self._file.write(block)
        self._buffer, self._size = [], 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def new_archive(path: Path, *, replace: bool) -> Iterator[zipfile.ZipFile]:
    """Yield an archive; move it to ``path``, with mode 0600, once it is complete on disk.

    Raises ``InvalidInput`` if the file exists or cannot be written.
    """
    if path.exists() and not replace:
        raise InvalidInput("exists already; replace it with --replace", field=str(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _file_error(path, error) from None
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _file_error(path, error) from None
    finally:
        fresh.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _file_error(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput((error.strerror or "cannot be written").lower(), field=str(path))


class Archive:
    """A backup, open for reading. Raises ``InvalidInput`` for any other file."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError):
            raise self._invalid("is not a complete backup; use another file") from None
        except OSError as error:
            raise _file_error(path, error) from None
        try:
            self.manifest = Manifest.model_validate_json(self._zip.read(MANIFEST))
        except (KeyError, ValidationError, zipfile.BadZipFile, zlib.error, OSError):
            self._zip.close()
            raise self._invalid("is not a complete backup; use another file") from None
        if self.manifest.format > FORMAT:
            self._zip.close()
            raise self._invalid("comes from a newer version; upgrade Remembrancer first")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._zip.close()

    def parts(self, table: TableEntry) -> Iterator[bytes]:
        """Yield the text of a table; raise ``InvalidInput`` if it is damaged."""
        hashed, rows = hashlib.sha256(), 0
        try:
            with self._zip.open(table.name) as file:
                while part := file.read(_BLOCK):
                    hashed.update(part)
                    rows += part.count(b"\n")
                    yield part
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise self._invalid(
                f"is damaged: {table.name} cannot be read; use another backup"
            ) from None
        if (hashed.hexdigest(), rows) != (table.sha256, table.rows):
            raise self._invalid(
                f"is damaged: {table.name} differs from the manifest; use another backup"
            )

    def check(self, observer: Observer) -> None:
        """Read the whole archive; raise ``InvalidInput`` if any part is damaged."""
        observer.start(self.manifest.rows)
        for table in self.manifest.tables:
            for part in self.parts(table):
                observer.advance(part.count(b"\n"))

    def _invalid(self, reason: str) -> InvalidInput:
        return InvalidInput(reason, field=self._name)
