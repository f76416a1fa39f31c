"""Access counts of recalled memories, written in the background."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import repository as memories
from remembrancer.periodic import Periodic
from remembrancer.recall.schemas import Hit


class AccessCounts:
    """Collects accesses in memory and writes them about once a second.

    Recall never waits for a write. In return, a crash loses the counts of the last second. What
    cannot be written waits for the next time.
    """

    def __init__(self, database: Database, *, every: float = 1.0) -> None:
        self._database = database
        self._counts: Counter[tuple[UUID, str]] = Counter()
        self.writing = Periodic(self.flush, every=every, what="access counts of the last second")

    def note(self, hits: Sequence[Hit]) -> None:
        self._counts.update((hit.user_id or SHARED_OWNER, hit.id) for hit in hits)

    async def flush(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            await self._write(counts)
        except Exception:
            self._counts.update(counts)
            raise

    @retries_deadlock
    async def _write(self, counts: Counter[tuple[UUID, str]]) -> None:
        async with self._database.system() as connection:
            await memories.count_accesses(connection, counts, datetime.now(UTC))
