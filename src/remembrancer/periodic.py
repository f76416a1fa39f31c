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

    def start(self) -> None:
        """Begin; the first call comes after one interval."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, and do the rest."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        with suppress(Unavailable):
            await self._work()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self._work()
            except Unavailable:
                log.warning("%s: not written, the database does not answer", self._what)
            except Exception as error:
                # A loop that ended would be missed by nobody. The text of an error may quote data.
                log.warning("%s: not written (%s)", self._what, type(error).__name__)
