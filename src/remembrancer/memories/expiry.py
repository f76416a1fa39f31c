"""Lets go of memories that have expired."""

from typing import Final
from uuid import UUID

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.ids import MemoryKey
from remembrancer.memories import repository
from remembrancer.periodic import Periodic

INTERVAL: Final = 60.0
"""Seconds between two sweeps. Recall, prompts, lists and reads do not wait for one."""
AT_ONCE: Final = 500
"""Memories that one transaction lets go."""


class Expiry:
    """Forgets memories that have expired, each with a version of the source ``expiry``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.sweeping = Periodic(self.sweep, every=INTERVAL, what="expiry of memories")

    async def sweep(self) -> int:
        """Forget what has expired; return how many memories."""
        total = 0
        while keys := await self._sweep():
            total += len(keys)
        return total

    async def _sweep(self) -> list[MemoryKey]:
        async with self._database.system() as connection:
            keys = await repository.expire(connection, AT_ONCE)
            by_owner: dict[UUID, list[str]] = {}
            for owner_id, memory_id in keys:
                by_owner.setdefault(owner_id, []).append(memory_id)
            actor = Actor(Role.SERVICE, entry_point="expiry")
            await audit.note_each(connection, actor, "memory.expire", by_owner)
        return keys
