"""Usage, counted in memory and written in the background."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from functools import partial, wraps
from typing import Final, Protocol, TypeVar, cast
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.deletions import delete_rows
from remembrancer.db.engine import Database
from remembrancer.db.sql import json_rows, statement
from remembrancer.db.tables import daily_usage
from remembrancer.errors import RemembrancerError, Unavailable
from remembrancer.ids import SHARED_OWNER
from remembrancer.periodic import Periodic
from remembrancer.usage.durations import BOUNDS, place
from remembrancer.usage.schemas import UsageKind

F = TypeVar("F", bound=Callable[..., Awaitable[object]])

NO_AGENT: Final = SHARED_OWNER
"""The agent's id, in storage, of what no agent did."""
MOST_DAYS: Final = 400
"""Days of one request."""
sql = partial(statement, "remembrancer.usage", "usage")


@dataclass(slots=True)
class _Count:
    amount: int = 0
    durations: list[int] = field(default_factory=list)

    def add(self, other: "_Count") -> None:
        self.amount += other.amount
        if other.durations:
            mine = self.durations or [0] * len(other.durations)
            self.durations = [a + b for a, b in zip(mine, other.durations, strict=True)]


class UsageCounts:
    """Counts what agents do, by day.

    Nobody waits for the counts: they are written every ten seconds, and a crash loses those of the
    last ten.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: dict[tuple[date, UUID, UsageKind], _Count] = {}
        self.writing = Periodic(self.flush, every=10.0, what="usage of the last ten seconds")
        self._measured: date | None = None

    def note(
        self, actor: Actor, kind: UsageKind, amount: int = 1, *, seconds: float | None = None
    ) -> None:
        """Count something that ``actor`` did, with its duration if it has one."""
        count = _Count(amount)
        if seconds is not None:
            count.durations = [0] * (len(BOUNDS) + 1)
            count.durations[place(1000 * seconds)] = amount
        key = datetime.now(UTC).date(), actor.agent_id or NO_AGENT, kind
        self._counts.setdefault(key, _Count()).add(count)

    @contextmanager
    def timed(self, actor: Actor, kind: UsageKind) -> Iterator[None]:
        """Count and time what happens inside; count it as a refusal if it is refused."""
        began = time.perf_counter()
        try:
            yield
        except RemembrancerError as error:
            if error.status < 500:
                self.note(actor, UsageKind.REFUSAL)
            raise
        self.note(actor, kind, seconds=time.perf_counter() - began)

    async def flush(self) -> None:
        """Add the counts to those of the database; the first time in a day, note its size too."""
        counts, self._counts = self._counts, {}
        if not counts:
            return
        rows = [
            {"day": day, "agent_id": agent_id, "kind": kind, **asdict(count)}
            for (day, agent_id, kind), count in counts.items()
        ]
        try:
            async with self._database.system() as connection:
                await connection.execute(sql("add"), {"rows": json_rows(rows)})
        except Unavailable:
            for key, count in counts.items():
                self._counts.setdefault(key, _Count()).add(count)
            raise
        if self._measured != (today := datetime.now(UTC).date()):
            self._measured = today
            await self.measure()

    async def measure(self) -> None:
        """Note the size of the database."""
        async with self._database.system() as connection:
            await connection.execute(sql("measure"))


async def delete_old(connection: AsyncConnection, before: datetime, most: int) -> int:
    """Delete up to ``most`` rows of days before a time; return how many."""
    return await delete_rows(connection, daily_usage, daily_usage.c.day < before.date(), most)


class _HasCounts(Protocol):
    @property
    def usage_counts(self) -> UsageCounts: ...


class _Service(Protocol):
    @property
    def _backend(self) -> _HasCounts: ...


def counted(kind: UsageKind) -> Callable[[F], F]:
    """Count and time the calls of a method of a service."""

    def decorate(method: F) -> F:
        @wraps(method)
        async def call(service: _Service, actor: Actor, *args: object, **kwargs: object) -> object:
            with service._backend.usage_counts.timed(actor, kind):
                return await method(service, actor, *args, **kwargs)

        return cast("F", call)

    return decorate
