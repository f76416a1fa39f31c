"""What every service is built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import NotFound, RemembrancerError
from remembrancer.guard.guard import Guard
from remembrancer.search.index import SearchIndex
from remembrancer.settings import LimitSettings


@dataclass(frozen=True, slots=True)
class Backend:
    """The collaborators of every service."""

    database: Database
    search: SearchIndex
    guard: Guard
    reads: Reads
    limits: LimitSettings

    async def refuse(
        self, actor: Actor, action: str, target_ids: Sequence[str], error: RemembrancerError
    ) -> NoReturn:
        """Log a refused action in its own transaction, and raise ``error``."""
        async with self.database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, target_ids, outcome="refused")
        raise error

    async def refuse_memory(
        self, actor: Actor, action: str, memory_id: str, *, field: str = "memory_id"
    ) -> NoReturn:
        """Refuse with ``NotFound``: a memory exists only for those who see it."""
        error = NotFound("no such memory", field=field)
        await self.refuse(actor, action, [memory_id], error)
