"""Token budget per user: evict the least important memories over it; preview evictions."""

import logging
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.db.plans import plan_anew
from remembrancer.db.rows import TextRow
from remembrancer.db.sql import statement
from remembrancer.db.trips import Trip, together
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import repository
from remembrancer.memories.decay import decayed_sql
from remembrancer.memories.schemas import BudgetPreview, EvictionCandidate, Status
from remembrancer.usage.counts import UsageCounts
from remembrancer.usage.schemas import UsageKind

log = logging.getLogger(__name__)

ACTION: Final = "memory.evict"

_IMPORTANCE = decayed_sql(
    "m.importance", "m.kind", "greatest(m.updated_at, m.last_accessed_at)", "now()"
)
_sql = partial(statement, "remembrancer.memories", "budget", importance=_IMPORTANCE)


class Budget:
    """Limits a user's memories to a number of ``tokens`` (cl100k_base); 0 is no limit.

    The content of active and inactive memories counts, whichever agent they are for. Memories
    in spaces and shared knowledge do not count.
    """

    def __init__(self, tokens: int, counts: UsageCounts) -> None:
        self.tokens = tokens
        self._counts = counts

    async def enforce(
        self, connection: AsyncConnection, actor: Actor, owner_id: UUID, written: Collection[str]
    ) -> list[str]:
        """Evict the memories over an owner's budget; return their ids, in order of eviction.

        Call under the owner's lock, in the transaction that wrote ``written``: these are evicted
        last.
        """
        async with together(connection) as trip:
            found = self.find(trip, owner_id, written)
        return await self.evict(connection, actor, owner_id, found)

    def find(self, trip: Trip, owner_id: UUID, written: Collection[str]) -> Sequence[TextRow]:
        """Let a trip find the memories to evict."""
        if not self.tokens or owner_id == SHARED_OWNER:
            return []
        binds = {"owner_id": owner_id, "written": list(written), "budget": self.tokens}
        return trip.add(_sql("evict"), binds, TextRow)

    async def evict(
        self, connection: AsyncConnection, actor: Actor, owner_id: UUID, found: Sequence[TextRow]
    ) -> list[str]:
        """Evict the memories that :meth:`find` found; return their ids."""
        evicted = [row.value for row in found]
        if evicted:
            await plan_anew(connection)
            await repository.set_status(connection, owner_id, evicted, Status.EVICTED)
            await audit.note(connection, actor, ACTION, evicted, owner_id=owner_id)
            self._counts.note(actor, UsageKind.EVICTION, len(evicted))
            log.warning(
                "evicted %d memories of user %s, over %d tokens: %s",
                len(evicted),
                owner_id,
                self.tokens,
                " ".join(evicted),
            )
        return evicted

    async def preview(
        self, connection: AsyncConnection, owner_id: UUID, adding: int
    ) -> BudgetPreview:
        """Return the memories that ``adding`` more tokens of an owner would evict."""
        binds = {"owner_id": owner_id}
        used = (await connection.execute(_sql("used"), binds)).one()
        candidates = []
        if self.tokens:
            more = {**binds, "budget": self.tokens, "adding": adding}
            rows = (await connection.execute(_sql("candidates"), more)).mappings()
            candidates = [EvictionCandidate.model_validate(dict(row)) for row in rows]
        return BudgetPreview(
            budget=self.tokens,
            used=used.tokens,
            pinned=used.pinned,
            adding=adding,
            would_go=candidates,
        )
