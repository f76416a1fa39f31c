"""Which memories were recalled, and when: counted beside the recall path, not on it."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import text

from remembrancer.db.engine import Database
from remembrancer.ids import SHARED_OWNER
from remembrancer.periodic import Periodic
from remembrancer.recall.schemas import Hit

# Not updated_at: being read does not change a memory. Rows are locked in order, so that two
# processes, or an erasure, cannot wait for each other.
_COUNT = text("""
    WITH accessed AS MATERIALIZED (
        SELECT m.owner_id, m.id, a.times
          FROM unnest(CAST(:owners AS uuid[]), CAST(:ids AS text[]), CAST(:times AS int[]))
               AS a (owner_id, id, times)
          JOIN memories AS m ON m.owner_id = a.owner_id AND m.id = a.id
         ORDER BY m.owner_id, m.id
           FOR NO KEY UPDATE OF m
    )
    UPDATE memories AS m
       SET access_count = m.access_count + a.times,
           last_accessed_at = greatest(m.last_accessed_at, CAST(:at AS timestamptz))
      FROM accessed AS a
     WHERE m.owner_id = a.owner_id AND m.id = a.id
""")


class AccessCounts:
    """Collects accesses in memory and writes them together, about once a second.

    A count may arrive a second late, and those of the last second are lost in a crash;
    in return recall never waits for a write.
    """

    def __init__(self, database: Database, *, every: float = 1.0) -> None:
        self._database = database
        self._counts: Counter[tuple[UUID, str]] = Counter()
        self.writing = Periodic(self.flush, every=every, what="access counts of the last second")

    def note(self, memories: Sequence[Hit]) -> None:
        """Count one access of each memory."""
        self._counts.update((hit.user_id or SHARED_OWNER, hit.id) for hit in memories)

    async def flush(self) -> None:
        """Write what has been counted so far."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        binds = {
            "at": datetime.now(UTC),
            "owners": [owner for owner, _ in counts],
            "ids": [memory_id for _, memory_id in counts],
            "times": list(counts.values()),
        }
        async with self._database.system() as connection:
            await connection.execute(_COUNT, binds)
