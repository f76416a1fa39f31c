"""Remove what is older than the settings say, in small batches, or count it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, idempotency, undo
from remembrancer.access import Actor, Role
from remembrancer.audit import months
from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.sql import statement
from remembrancer.ids import SHARED_OWNER
from remembrancer.jobs import queue
from remembrancer.keys import sessions
from remembrancer.periodic import LAST_SECONDS, Periodic
from remembrancer.retention import removals
from remembrancer.retention.removals import AT_ONCE, Removal
from remembrancer.retention.schemas import RetentionLine, RetentionReport, What
from remembrancer.settings import RetentionSettings
from remembrancer.uploads import repository as uploads
from remembrancer.usage import counts as usage

INTERVAL: Final = 3600.0
"""Seconds between two runs in the background."""
FIRST: Final = 300.0
"""Seconds until the first one: short commands make none."""
LONGEST_RUN: Final = 30.0
"""Seconds after which a run that somebody asked for answers, complete or not."""

_sql = partial(statement, "remembrancer.retention", "retention")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of row: how many are older than a time, and the removal of a batch of them."""

    what: What
    count: Callable[[AsyncConnection, datetime], Awaitable[int]]
    removal: Callable[[], Removal]


class Retention:
    """Removes old rows for good, as the settings say.

    Each batch is a transaction of its own: a run may end at any moment, and the next one goes on.
    """

    def __init__(self, database: Database, settings: RetentionSettings) -> None:
        self._database = database
        self._settings = settings
        self._is_closing = False
        self._hourly = Periodic(
            self.remove_old, every=INTERVAL, first=FIRST, what="removal of old rows"
        )

    async def run(self, actor: Actor, *, dry_run: bool = True) -> RetentionReport:
        """Remove what is older than the settings say, or count it. For admins.

        Ends after 30 seconds; then the report says that it is not complete, and another run goes
        on. It cannot be undone.
        """
        actor.require(Role.ADMIN)
        if not dry_run:
            await self._note_removal(actor)
            return await self._remove(actor, time.monotonic() + LONGEST_RUN)
        now = datetime.now(UTC)
        lines = []
        async with self._database.system() as connection:
            for rule in RULES:
                before = self._before(rule.what, now)
                count = 0 if before is None else await rule.count(connection, before)
                lines.append(self._line(rule.what, count))
        return RetentionReport(items=lines, dry_run=True, is_complete=True, at=now)

    def start(self) -> None:
        """Start the runs in the background."""
        self._hourly.start()

    async def stop(self) -> None:
        """End the runs in the background, after the batch that is being removed.

        A batch that hangs is taken back.
        """
        self._is_closing = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hourly.stop(), LAST_SECONDS)

    async def remove_old(self) -> None:
        """Remove what is older than the settings say, all of it."""
        await self._remove(Actor(Role.SERVICE, entry_point="retention"), None)

    async def _remove(self, actor: Actor, end: float | None) -> RetentionReport:
        now = datetime.now(UTC)
        lines, is_complete = [], True
        await self._add_months()
        for rule in RULES:
            total, before = 0, self._before(rule.what, now)
            remove = rule.removal()
            while before is not None:
                if self._is_closing or (end is not None and time.monotonic() > end):
                    is_complete = False
                    break
                removed = await self._batch(remove, actor, before)
                if removed is None:
                    break
                total += removed
            lines.append(self._line(rule.what, total))
        return RetentionReport(items=lines, dry_run=False, is_complete=is_complete, at=now)

    @retries_deadlock
    async def _note_removal(self, actor: Actor) -> None:
        async with self._database.system_for(actor) as (connection, actor):
            await audit.note(connection, actor, "retention.remove", [], owner_id=SHARED_OWNER)

    @retries_deadlock
    async def _add_months(self) -> None:
        async with self._database.system() as connection:
            await months.add(connection)

    @retries_deadlock
    async def _batch(self, remove: Removal, actor: Actor, before: datetime) -> int | None:
        async with self._database.system() as connection:
            return await remove(connection, actor, before)

    def _before(self, what: What, now: datetime) -> datetime | None:
        """Return the time before which rows are old; null if they are stored for ever."""
        days: int = getattr(self._settings, what)
        return now - timedelta(days=days) if days else None

    def _line(self, what: What, count: int) -> RetentionLine:
        return RetentionLine(what=what, days=getattr(self._settings, what) or None, count=count)


def _counted(name: str, **binds: object) -> Callable[[AsyncConnection, datetime], Awaitable[int]]:
    async def count(connection: AsyncConnection, before: datetime) -> int:
        values = {"before": before, **binds}
        return int((await connection.execute(_sql(name), values)).scalar_one())

    return count


def _some(
    delete: Callable[[AsyncConnection, datetime, int], Awaitable[int]],
) -> Callable[[], Removal]:
    """Return the removal of rows that nothing else refers to."""

    async def remove(connection: AsyncConnection, _actor: Actor, before: datetime) -> int | None:
        return await delete(connection, before, AT_ONCE) or None

    return lambda: remove


def _jobs(statuses: Sequence[str]) -> Callable[[], Removal]:
    return _some(
        lambda connection, before, most: queue.delete_old(connection, statuses, before, most)
    )


async def _drop_month(connection: AsyncConnection, _actor: Actor, before: datetime) -> int | None:
    return await months.drop_old(connection, before)


RULES: Final = (
    Rule("messages", _counted("count_messages"), removals.Messages),
    Rule(
        "evicted",
        _counted("count_memories", status="evicted"),
        lambda: removals.Memories("evicted"),
    ),
    Rule(
        "forgotten",
        _counted("count_memories", status="forgotten"),
        lambda: removals.Memories("forgotten"),
    ),
    Rule("versions", _counted("count_versions"), removals.Versions),
    Rule("undo", _counted("count_undo"), _some(undo.delete_old)),
    Rule("audit", months.count_old, lambda: _drop_month),
    Rule("usage", _counted("count_usage"), _some(usage.delete_old)),
    Rule("jobs", _counted("count_jobs", statuses=list(queue.ENDED)), _jobs(queue.ENDED)),
    Rule("failed_jobs", _counted("count_jobs", statuses=list(queue.FAILED)), _jobs(queue.FAILED)),
    Rule(
        "sessions",
        _counted("count_sessions"),
        _some(lambda connection, _, most: sessions.delete_expired(connection, most)),
    ),
    Rule("uploads", _counted("count_uploads"), _some(uploads.delete_old)),
    Rule(
        "idempotency_keys",
        _counted("count_idempotency_keys"),
        _some(idempotency.delete_old),
    ),
)
