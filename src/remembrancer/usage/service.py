"""Usage, for admins."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.replica import may_use_replica
from remembrancer.db.rows import all_rows
from remembrancer.errors import InvalidInput
from remembrancer.paging import Items
from remembrancer.usage.counts import MOST_DAYS, UsageCounts, sql
from remembrancer.usage.schemas import DailyUsage


class Usage:
    """What agents did, by day."""

    def __init__(self, database: Database, counts: UsageCounts) -> None:
        self._database = database
        self._counts = counts

    async def list(
        self,
        actor: Actor,
        *,
        since: date | None = None,
        until: date | None = None,
        agent_id: UUID | None = None,
    ) -> Items[DailyUsage]:
        """Return usage by day, kind and agent, in this order. For admins.

        ``since`` and ``until`` are days in UTC, both included; by default the last 30. Counts of
        the last ten seconds may be missing if several processes serve. Raises ``InvalidInput`` for
        more than 400 days.
        """
        actor.require(Role.ADMIN)
        until = until or datetime.now(UTC).date()
        since = since or until - timedelta(days=29)
        if not 0 <= (until - since).days < MOST_DAYS:
            raise InvalidInput(
                f"must be a day up to {MOST_DAYS - 1} days before `until`", field="since"
            )
        await self._counts.flush()
        return Items(items=await self._days(since=since, until=until, agent_id=agent_id))

    @may_use_replica
    async def _days(self, **binds: object) -> Sequence[DailyUsage]:
        async with self._database.system() as connection:
            return await all_rows(connection, DailyUsage, sql("list"), binds)
