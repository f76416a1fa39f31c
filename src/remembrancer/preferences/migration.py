"""Migrate the deprecated toggle to preferences.

If the toggle is off, agents without a preference are global. The migration adds these preferences.
New agents get theirs from :func:`repository.add_for_agent`, while the toggle's column exists.
"""

from collections.abc import Callable
from uuid import UUID

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.agents import repository as agents
from remembrancer.db.engine import Database
from remembrancer.preferences import repository
from remembrancer.preferences.schemas import MigrationCounts
from remembrancer.users import repository as users

BATCH = 200
"""Users migrated in one transaction."""


class ToggleMigration:
    """Migrates all users. It can be stopped and run again at any time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def plan(self, actor: Actor) -> MigrationCounts:
        """Return the number of users whose toggle is off, and of missing preferences."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            return await repository.count_migration(connection)

    async def apply(
        self, actor: Actor, progress: Callable[[int], None] = lambda _: None
    ) -> MigrationCounts:
        """Add missing preferences in batches; call ``progress`` with the users of each batch."""
        actor.require(Role.ADMIN)
        counts = MigrationCounts(users=0, preferences=0)
        after = UUID(int=0)
        while user_ids := await self._batch(actor, after, counts):
            after = user_ids[-1]
            counts.users += len(user_ids)
            progress(len(user_ids))
        return counts

    async def _batch(self, actor: Actor, after: UUID, counts: MigrationCounts) -> list[UUID]:
        async with self._database.system_for(actor) as (connection, actor):
            # A new agent between the query and the mark would get no preferences.
            await agents.hold_table(connection)
            user_ids = await users.with_toggle_off(connection, after, BATCH)
            if user_ids:
                added = await repository.add_missing(connection, user_ids)
                await users.set_toggle_migrated(connection, user_ids)
                by_user: dict[UUID, list[str]] = {}
                for row in added:
                    by_user.setdefault(row.user_id, []).append(str(row.agent_id))
                await audit.note_each(connection, actor, "preference.migrate", by_user)
                counts.preferences += len(added)
        return user_ids
