"""The collaborators of every service."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.errors import HiddenMemory, RemembrancerError
from remembrancer.guard.guard import Guard
from remembrancer.search.index import SearchIndex
from remembrancer.settings import LimitSettings
from remembrancer.usage.counts import UsageCounts


@dataclass(frozen=True, slots=True)
class Backend:
    """The collaborators of every service."""

    database: Database
    search: SearchIndex
    guard: Guard
    reads: Reads
    limits: LimitSettings
    usage_counts: UsageCounts

    async def refuse(
        self, actor: Actor, action: str, target_ids: Sequence[str], error: RemembrancerError
    ) -> NoReturn:
        """Log a refused action in its own transaction, and raise ``error``."""
        await self._note_refusal(actor, action, target_ids)
        raise error

    @retries_deadlock
    async def _note_refusal(self, actor: Actor, action: str, target_ids: Sequence[str]) -> None:
        async with self.database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, target_ids, outcome="refused")

    @asynccontextmanager
    async def transaction(
        self, actor: Actor, action: str, *, system: bool = False
    ) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
        """Open a transaction for ``action``. Log and refuse hidden memories.

        With ``system`` it is one across all owners: the caller checks the access rule.
        """
        begin = self.database.system_for if system else self.database.transaction
        try:
            async with begin(actor) as (connection, actor):
                yield connection, actor
        except HiddenMemory as hidden:
            # The log has no text: the id of a writer may be one.
            ids = [hidden.memory_id] if hidden.memory_id.isalnum() else []
            await self.refuse(actor, action, ids, hidden.error)
