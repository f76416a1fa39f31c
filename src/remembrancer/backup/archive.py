"""The file of a backup: a zip archive of the rows of each table, and a manifest of them.

Rows are in the text format of Postgres' COPY, which any version reads. The manifest comes last,
so a file that was cut off has none.
"""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from remembrancer.errors import InvalidInput

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_BLOCK = 1 << 18


class TableEntry(BaseModel):
    """The rows of one table as they are in the archive."""

    model_config = ConfigDict(extra="forbid")

    name: str
    """With its schema: ``public.users``."""
    columns: list[str]
    rows: int
    sha256: str


class Manifest(BaseModel):
    """What is in an archive, and which shape the tables had."""

    model_config = ConfigDict(extra="forbid")

    format: int
    revision: str
    """The migration that the store was at."""
    version: str
    """Of Remembrancer."""
    created_at: datetime
    tables: list[TableEntry]
    sequences: dict[str, int]
    """The last value of each sequence that has given one."""

    @property
    def rows(self) -> int:
        """All rows of all tables."""
        return sum(table.rows for table in self.tables)


class Rows:
    """Takes the rows of one table on their way into an archive."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._held: list[bytes] = []
        self._size = 0
        self.count = 0
        """Rows that were written; each ends with the only line break that is in it."""

    def write(self, part: bytes) -> None:
        """Add a part of the table's text."""
        self._held.append(part)
        self._size += len(part)
        if self._size >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        block = b"".join(self._held)
        self.count += block.count(b"\n")
        self._hash.update(block)
        self._file.write(block)
        self._held, self._size = [], 0

    @property
    def sha256(self) -> str:
        """The hash of all of it."""
        return self._hash.hexdigest()


@contextmanager
def new_archive(path: Path, *, replace: bool) -> Iterator[zipfile.ZipFile]:
    """Yield an archive that is at ``path``, with mode 0600, once all of it is on disk.

    Raises ``InvalidInput`` if there is a file already, or none can be written.
    """
    if path.exists() and not replace:
        raise InvalidInput("is there already; replace it with --replace", field=str(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _cannot(path, error) from None
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
        raise _cannot(path, error) from None
    finally:
        fresh.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _cannot(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput((error.strerror or "cannot be written").lower(), field=str(path))


class Archive:
    """A backup that was opened to be read. Raises ``InvalidInput`` for what is none."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError):
            raise self._wrong("is no backup, or was cut off") from None
        except OSError as error:
            raise _cannot(path, error) from None
        try:
            self.manifest = Manifest.model_validate_json(self._zip.read(MANIFEST))
        except (KeyError, ValidationError, zipfile.BadZipFile, zlib.error, OSError):
            self._zip.close()
            raise self._wrong("is no backup, or was cut off") from None
        if self.manifest.format > FORMAT:
            self._zip.close()
            raise self._wrong("was made by a newer version; upgrade first")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._zip.close()

    def parts(self, table: TableEntry) -> Iterator[bytes]:
        """Yield the text of a table; raise ``InvalidInput`` at its end if it is damaged."""
        hashed, rows = hashlib.sha256(), 0
        try:
            with self._zip.open(table.name) as file:
                while part := file.read(_BLOCK):
                    hashed.update(part)
                    rows += part.count(b"\n")
                    yield part
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise self._wrong(f"is damaged: {table.name} cannot be read") from None
        if (hashed.hexdigest(), rows) != (table.sha256, table.rows):
            raise self._wrong(f"is damaged: {table.name} is not what the manifest says")

    def check(self, progress: Callable[[int], None]) -> None:
        """Read all of it; raise ``InvalidInput`` if anything is damaged."""
        for table in self.manifest.tables:
            for part in self.parts(table):
                progress(part.count(b"\n"))

    def _wrong(self, reason: str) -> InvalidInput:
        return InvalidInput(reason, field=self._name)
