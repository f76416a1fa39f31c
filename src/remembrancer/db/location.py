"""Where a database is. A workspace may move to another server while it is used."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from remembrancer.db.cap import Cap
from remembrancer.db.connections import new_pool
from remembrancer.db.failures import MOVED_ADVICE
from remembrancer.db.slow import SlowTrips
from remembrancer.db.urls import driver_url
from remembrancer.errors import WorkspaceMoved, WorkspaceUnavailable

WAIT_SECONDS: Final = 30.0
"""Seconds that a request waits for a workspace that is moved."""
LOOK_SECONDS: Final = 0.05


class Location:
    """The address of a database, and the pool of connections to it.

    Both change when it moves. ``find`` says where the database is now; without it, it stays.
    """

    def __init__(
        self,
        url: str,
        pool_size: int,
        slow: SlowTrips | None,
        cap: Cap | None,
        find: Callable[[], Awaitable[str]] | None,
    ) -> None:
        self.url = driver_url(url)
        self.pool = new_pool(self.url, pool_size, slow, cap)
        self._new_pool = partial(new_pool, size=pool_size, slow=slow, cap=cap)
        self._find = find
        self._leaving = asyncio.Lock()

    async def has_moved(self, url: str) -> bool:
        """Return whether the database is elsewhere than at ``url``."""
        return self._find is not None and driver_url(await self._find()) != url

    async def follow(self, left: str) -> None:
        """Go where the database is now, unless that has been done since ``left`` was its address.

        Waits until it has moved; raises ``WorkspaceUnavailable`` if that takes too long, and
        ``WorkspaceMoved`` if nobody can say where to.
        """
        if self._find is None:
            raise WorkspaceMoved(MOVED_ADVICE)
        try:
            async with asyncio.timeout(WAIT_SECONDS), self._leaving:
                if self.url != left:
                    return
                while not await self.has_moved(left):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                self.url, pool = driver_url(await self._find()), self.pool
                self.pool = self._new_pool(self.url)
        except TimeoutError:
            raise WorkspaceUnavailable("the workspace is being moved; try again") from None
        await pool.leave()
