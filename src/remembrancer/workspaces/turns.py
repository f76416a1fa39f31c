"""Background work of all workspaces, in turns: a busy one never starves another."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Final, Generic, Protocol, TypeVar

from remembrancer.db.engine import Database
from remembrancer.errors import Forbidden, NotFound, Unavailable
from remembrancer.periodic import Periodic
from remembrancer.workspaces import repository
from remembrancer.workspaces.host import Host

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at the workspaces that were used."""
ROUND_SECONDS: Final = 60.0
"""Seconds between two rounds through all workspaces."""
REMOVAL_SECONDS: Final = 3600.0
"""Seconds between two looks for old rows in each workspace."""
TURN_SECONDS: Final = 10.0
"""Seconds after which a workspace with more to do lets others go first."""

MOST_BESIDE: Final = 16
"""Workspaces whose long jobs run beside the turns of others."""

Store = TypeVar("Store")
StoreT_contra = TypeVar("StoreT_contra", contravariant=True)


class Turn(Protocol[StoreT_contra]):
    """Works in a store for so many seconds."""

    async def __call__(
        self, store: StoreT_contra, seconds: float, *, sweep: bool, remove_old: bool
    ) -> bool:
        """Run jobs; with ``sweep`` look for work without one, with ``remove_old`` for old rows.

        Returns whether the time was up before the work.
        """


class Turns(Generic[Store]):
    """Gives each workspace its turn: at once after it was used, and once a minute.

    There are ``at_once`` places. Those that were used, or have more to do, come before the others.
    A job that takes longer than a turn gives its place to the next workspace, and runs on.
    """

    def __init__(
        self,
        database: Database,
        host: Host[Store],
        turn: Turn[Store],
        recover: Callable[[], Awaitable[int]],
        *,
        at_once: int,
    ) -> None:
        self._database = database
        self._host = host
        self._turn = turn
        self._recover = recover
        self._places = at_once
        self._beside = 0
        self._first: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self._unswept: set[str] = set()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._seconds = TURN_SECONDS
        self._looked_at = datetime.now(UTC)
        self._recovering: asyncio.Task[None] | None = None
        self._round_at = -inf
        self._removed_at: dict[str, float] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Give turns until the end."""
        looking = Periodic(self.look, every=LOOK_SECONDS, first=0, what="turns of workspaces")
        looking.start()
        try:
            yield
        finally:
            await looking.stop()
            self._first, self._others = {}, {}
            tasks = [*self._running.values(), *([self._recovering] if self._recovering else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def look(self) -> None:
        """Begin the turns of those that were used since the last look, or of all."""
        is_round = time.monotonic() - self._round_at >= ROUND_SECONDS
        if is_round:
            self._round_at = time.monotonic()
        if self._recovering is None or self._recovering.done():
            self._recovering = asyncio.create_task(self._recover_all())
        # Two servers need not have one clock; a turn too many costs a short query.
        since = None if is_round else self._looked_at - timedelta(seconds=5)
        self._looked_at = datetime.now(UTC)
        async with self._database.system() as connection:
            names = await repository.used(connection, since)
        if is_round:
            self._others |= dict.fromkeys(names)
            self._unswept.update(names)
        else:
            self._first |= dict.fromkeys(names)
        self._begin_due()

    async def once(self) -> None:
        """Work in each workspace until nothing is due."""
        self._seconds = inf
        await self._recover()
        async with self._database.system() as connection:
            names = await repository.used(connection, None)
        self._others |= dict.fromkeys(names)
        self._unswept.update(names)
        self._begin_due()
        while self._running:
            await asyncio.wait(self._running.values())

    async def _recover_all(self) -> None:
        """End what died, beside the turns: a server that does not answer must not hold them up."""
        with suppress(Unavailable):
            if recovered := await self._recover():
                log.info("ended what died amid %d workspaces", recovered)

    def _begin_due(self) -> None:
        for name in [*self._first, *self._others]:
            if self._places and name not in self._running:
                self._begin(name)

    def _begin(self, name: str) -> None:
        for due in (self._first, self._others):
            due.pop(name, None)
        self._places -= 1
        task = asyncio.create_task(self._take_turn(name), name="turn")
        self._running[name] = task
        task.add_done_callback(lambda _: self._end(name))

    def _end(self, name: str) -> None:
        del self._running[name]
        self._begin_due()

    async def _take_turn(self, name: str) -> None:
        now = time.monotonic()
        sweep = name in self._unswept
        self._unswept.discard(name)
        remove_old = sweep and now - self._removed_at.get(name, -inf) >= REMOVAL_SECONDS
        if remove_old:
            self._removed_at[name] = now
        with self._place():
            try:
                async with self._host.use(name, is_noted=False) as store:
                    has_more = await self._turn(
                        store, self._seconds, sweep=sweep, remove_old=remove_old
                    )
                if has_more:
                    self._first[name] = None
            except (NotFound, Forbidden, Unavailable):
                log.info("%s had no turn: it is not there, suspended or unavailable", name)
            except Exception as error:
                # One must not end the turns of the others. Its text may quote data.
                log.warning("the turn of workspace %s failed (%s)", name, type(error).__name__)

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Give the place back at the end, or when the time of the turn is over."""
        is_beside = False

        def leave() -> None:
            nonlocal is_beside
            if self._beside < MOST_BESIDE:
                is_beside = True
                self._beside += 1
                self._places += 1
                self._begin_due()

        loop = asyncio.get_running_loop()
        timer = None if self._seconds == inf else loop.call_later(self._seconds, leave)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            if is_beside:
                self._beside -= 1
            else:
                self._places += 1
