"""The last use of keys, written in the background."""

from datetime import UTC, datetime
from uuid import UUID

from remembrancer.db.engine import Database
from remembrancer.keys import repository
from remembrancer.periodic import Periodic


class KeyUses:
    """Collects which keys were used and writes the times once a minute.

    No request waits for a write. In return, a crash loses the times of the last minute.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._times: dict[UUID, datetime] = {}
        self.writing = Periodic(self.flush, every=60.0, what="last use of keys")

    def note(self, key_id: UUID) -> None:
        """Note that a key is used now."""
        self._times[key_id] = datetime.now(UTC)

    async def flush(self) -> None:
        """Write the times."""
        times, self._times = self._times, {}
        if not times:
            return
        async with self._database.system() as connection:
            await repository.note_uses(connection, times)
