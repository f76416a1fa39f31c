"""Log reads: in the background, and before the answer for an admin."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from remembrancer.access import Actor, Role
from remembrancer.audit import line, write
from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.trips import together
from remembrancer.errors import Unavailable
from remembrancer.ids import SHARED_OWNER
from remembrancer.periodic import Periodic

AT_ONCE = 1000
"""Lines of one statement."""
MOST_WAITING = 100_000
"""Lines that are kept while the database does not answer; older ones are lost."""


class Reads:
    """Collects lines about reads in memory and writes them about once a second.

    Nobody waits for the log. In return, a line may arrive a second late, and a crash loses the
    lines of the last second. An admin's read is logged before the answer.
    """

    def __init__(
        self, database: Database, *, whose: Literal["all", "admin"], every: float = 1.0
    ) -> None:
        self._database = database
        self._everybody = whose == "all"
        self._lines: list[dict[str, Any]] = []
        self.writing = Periodic(self.flush, every=every, what="audit lines of the last second")

    async def note(
        self, actor: Actor, action: str, read: Iterable[tuple[UUID | None, object]]
    ) -> None:
        """Note a read of things, each with its owner (null for shared knowledge) and id."""
        by_owner: dict[UUID, dict[str, None]] = {}
        for owner_id, thing in read:
            by_owner.setdefault(owner_id or SHARED_OWNER, {})[str(thing)] = None
        lines = [
            line(actor, action, list(ids), owner_id, "done") | {"at": datetime.now(UTC)}
            for owner_id, ids in by_owner.items()
        ]
        if actor.role is Role.ADMIN:
            await self._write(lines)
        elif self._everybody:
            self._lines += lines

    async def flush(self) -> None:
        lines, self._lines = self._lines, []
        if not lines:
            return
        try:
            await self._write(lines)
        except Unavailable:
            self._lines = [*lines, *self._lines][-MOST_WAITING:]
            raise

    @retries_deadlock
    async def _write(self, lines: Sequence[Mapping[str, object]]) -> None:
        async with self._database.system() as connection, together(connection) as trip:
            for start in range(0, len(lines), AT_ONCE):
                write(trip, lines[start : start + AT_ONCE])
