"""A cap on the connections of several pools together."""

import asyncio
from collections import OrderedDict
from typing import Protocol

from remembrancer.errors import DatabaseUnavailable


class HasIdle(Protocol):
    """A pool that may let go of connections nobody uses."""

    async def close_idle(self) -> bool:
        """Close one that is not lent; return whether there was any."""


class Cap:
    """At most ``most`` open connections of all pools.

    Over it, a pool that opens one takes the place of an idle one, of the pool that was used longest
    ago, or waits for one.
    """

    def __init__(self, most: int, *, wait_seconds: float) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._open = 0
        self._pools: OrderedDict[HasIdle, None] = OrderedDict()
        self._changed = asyncio.Event()

    async def take(self, pool: HasIdle) -> None:
        """Count a connection that ``pool`` opens; raise ``DatabaseUnavailable`` after a while."""
        self._pools[pool] = None
        try:
            async with asyncio.timeout(self._wait_seconds):
                while self._open >= self._most:
                    self._changed.clear()
                    if not await self._make_room():
                        await self._changed.wait()
        except TimeoutError:
            raise DatabaseUnavailable(
                "all connections are busy; try again later or raise workspaces.connections"
            ) from None
        self._open += 1

    async def _make_room(self) -> bool:
        for pool in list(self._pools):
            if await pool.close_idle():
                return True
        return False

    def give_back(self) -> None:
        """Count a connection that was closed."""
        self._open -= 1
        self._changed.set()

    def note_idle(self, pool: HasIdle) -> None:
        """Tell those who wait that a pool has a connection nobody uses."""
        if pool in self._pools:
            self._pools.move_to_end(pool)
        self._changed.set()

    def forget(self, pool: HasIdle) -> None:
        """Forget a pool that was closed."""
        self._pools.pop(pool, None)
