"""Work that is done again and again beside everything else."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from remembrancer.errors import Unavailable

log = logging.getLogger(__name__)


class Periodic:
    """Calls ``work`` every so many seconds until it is closed, and once more then.

    Whatever goes wrong costs a warning and one call; the next may succeed.
    """

    def __init__(self, work: Callable[[], Awaitable[object]], *, every: float, what: str) -> None:
        self._work = work
        self._every = every
        self._what = what
        self._task: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    def start(self) -> None:
        """Begin; the first call comes after one interval."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Let a call that is under way come to its end, and make no other.

        It is not cancelled: half of its work would be lost, and whoever waited for it could wait
        for ever if an error took the place of the cancellation.
        """
        self._stopped.set()
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Stop, and do the rest."""
        await self.stop()
        with suppress(Unavailable):
            await self._work()

    async def _run(self) -> None:
        while not await self._stops_within(self._every):
            try:
                await self._work()
            except Unavailable:
                log.warning("%s: not done, the database does not answer", self._what)
            except Exception as error:
                # A loop that ended would be missed by nobody. The text of an error may quote data.
                log.warning("%s: not done (%s)", self._what, type(error).__name__)

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        return self._stopped.is_set()
