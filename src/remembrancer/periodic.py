"""Work repeated in the background."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from remembrancer.errors import Unavailable

log = logging.getLogger(__name__)

LAST_SECONDS: Final = 3.0
"""Seconds that all last calls get together: a database that hangs must not hold up the end."""

CALM_SECONDS: Final = 60.0
"""The same where nobody waits for the end."""


class Periodic:
    """Calls ``work`` every so many seconds until it is closed, and once more then.

    An error is logged; the next call may succeed.
    """

    def __init__(
        self,
        work: Callable[[], Awaitable[object]],
        *,
        every: float,
        what: str,
        first: float | None = None,
    ) -> None:
        self._work = work
        self._every = every
        self._first = every if first is None else first
        self._what = what
        self._task: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    def start(self) -> None:
        """Start; the first call is after ``first`` seconds, by default one interval."""
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
        wait = self._first
        while not await self._is_stopped_within(wait):
            wait = self._every
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


async def close_all(periodics: Iterable[Periodic], hurry: asyncio.Event | None = None) -> None:
    """Close all at once; leave behind what does not end in time.

    With ``hurry``, nobody waits for that until it is set.
    """
    closing = [asyncio.create_task(periodic.close()) for periodic in periodics]
    if hurry is not None:
        closed = asyncio.create_task(asyncio.wait(closing))
        hurried = asyncio.create_task(hurry.wait())
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait([closed, hurried], timeout=CALM_SECONDS, return_when=first)
        closed.cancel()
        hurried.cancel()
    done, left = await asyncio.wait(closing, timeout=LAST_SECONDS)
    for task in left:
        log.warning("the end does not wait for a last call that hangs")
        task.cancel()
    for task in done:
        task.result()
