"""How far imports are, for admins to see while they run elsewhere. Numbers, never content."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from remembrancer.db.engine import Database
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.errors import Unavailable
from remembrancer.ids import new_uuid
from remembrancer.periodic import Periodic

MOST_SHOWN: Final = 10
_sql = partial(statement, "remembrancer.importers", "progress")


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An import: the messages and memories in it, and how many are stored."""

    id: UUID
    started_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    total: int
    done: int
    reason: str | None
    """The kind of the error that ended it."""
    interrupted: bool

    @property
    def is_running(self) -> bool:
        return self.ended_at is None and not self.interrupted


class ImportProgress:
    """Notes how far an import of ``total`` messages and memories is, about once a second."""

    def __init__(self, database: Database, total: int = 0) -> None:
        self._database = database
        self._id = new_uuid()
        self.total = total
        self._done = 0
        self._writing = Periodic(self._note, every=1.0, what="progress of an import")

    def advance(self, count: int) -> None:
        """Note that so many more are stored."""
        self._done += count

    async def __aenter__(self) -> Self:
        await self._write("begin", total=self.total)
        self._writing.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._writing.stop()
        # Where the database is lost, the error that said so is the one to tell.
        with suppress(Unavailable):
            await self._write("finish", done=self._done, reason=kind and kind.__name__)

    async def _note(self) -> None:
        await self._write("note", done=self._done)

    async def _write(self, name: str, **values: object) -> None:
        async with self._database.system() as connection:
            await connection.execute(_sql(name), {"id": self._id, **values})


async def recent(database: Database) -> Sequence[ImportRow]:
    """Return the imports of the last day, the latest first. The caller checks the access rule."""
    async with database.system() as connection:
        return await all_rows(connection, ImportRow, _sql("recent"), {"count": MOST_SHOWN})
