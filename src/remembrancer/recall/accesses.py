"""Which memories were recalled, and when: counted beside the recall path, not on it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import text

from remembrancer.db.engine import Database
from remembrancer.errors import Unavailable
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.schemas import Hit

log = logging.getLogger(__name__)

# Not updated_at: being read does not change a memory.
_COUNT = text("""
    UPDATE memories AS m
       SET access_count = m.access_count + a.times,
           last_accessed_at = greatest(m.last_accessed_at, CAST(:at AS timestamptz))
      FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:times AS int[]))
           AS a (owner_id, id, times)
     WHERE m.owner_id = a.owner_id AND m.id = a.id
""")


class Accesses:
    """Collects accesses in memory and writes them together, about once a second.

    A count may arrive a second late, and those of the last second are lost in a crash;
    in return recall never waits for a write.
    """

    def __init__(self, database: Database, *, every: float = 1.0) -> None:
        self._database = database
        self._every = every
        self._counts: Counter[tuple[UUID, str]] = Counter()
        self._task: asyncio.Task[None] | None = None

    def note(self, memories: Sequence[Hit]) -> None:
        """Count one access of each memory."""
        self._counts.update((hit.user_id or SHARED_OWNER, hit.id) for hit in memories)

    def start(self) -> None:
        """Write from now on, until ``close``."""
        self._task = asyncio.create_task(self._run())

    async def flush(self) -> None:
        """Write what has been counted so far."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        # Always in the same order, so that two processes cannot wait for each other.
        accessed = sorted(counts.items())
        binds = {
            "at": datetime.now(UTC),
            "owners": [owner for (owner, _), _ in accessed],
            "ids": [memory_id for (_, memory_id), _ in accessed],
            "times": [times for _, times in accessed],
        }
        async with self._database.system() as connection:
            await connection.execute(_COUNT, binds)

    async def close(self) -> None:
        """Stop, and write the rest."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        with suppress(Unavailable):
            await self.flush()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.flush()
            except Unavailable:
                log.warning("access counts of the last second were not written")
