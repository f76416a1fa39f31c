"""Work repeated in the background."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from remembrancer.errors import Unavailable

log = logging.getLogger(__name__)


class Periodic:
    """Calls ``work`` every so many seconds until it is closed, and once more then.

    An error is logged; the next call may succeed.
    """

    def __init__(self, work: Callable[[], Awaitable[object]], *, every: float, what: str) -> None:
        self._work = work
        self._every = every
        self._what = what
        self._task: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    def start(self) -> None:
        """Start; the first call is after one interval."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Wait for the running call, and make no other.

        The call is not cancelled: half of its work would be lost, and an error in place of the
        cancellation could make the caller wait for ever.
        """
        self._stopped.set()
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Stop, and call once more."""
        await self.stop()
        with suppress(Unavailable):
            await self._work()

    async def _run(self) -> None:
        while not await self._is_stopped_within(self._every):
            try:
                await self._work()
            except Unavailable:
                log.warning("%s: failed, the database does not answer", self._what)
            except Exception as error:
                # An error must not end the loop. Its text is not logged: it may quote data.
                log.warning("%s: failed (%s)", self._what, type(error).__name__)

    async def _is_stopped_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        return self._stopped.is_set()
