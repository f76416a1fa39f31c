"""From the deprecated toggle to preferences: one for each user and agent that it governs.

A user's toggle that is off makes every agent global that they set no preference for. What
it says is written down as preferences; agents that are made later get one as well
(``agents.repository.prefer_as_migrated``), until the column goes.
"""

from collections.abc import Callable
from uuid import UUID

from sqlalchemy import text

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.preferences.schemas import MigrationCounts

BATCH = 200
"""Users migrated in one transaction."""

_GOVERNED = """
      FROM users AS u
     CROSS JOIN agents AS a
     WHERE u.allow_agent_specific_memory IS FALSE AND u.merged_into IS NULL
       AND a.deleted_at IS NULL
       AND NOT EXISTS (SELECT FROM memory_preferences AS p
                        WHERE p.user_id = u.id AND p.agent_id = a.id)
"""
_COUNT = text(f"""
    SELECT (SELECT count(*) FROM users
             WHERE allow_agent_specific_memory IS FALSE AND merged_into IS NULL) AS users,
           (SELECT count(*) {_GOVERNED}) AS preferences
""")
# No agent is made between counting them and saying that this user is migrated.
_HOLD_AGENTS = text("LOCK TABLE agents IN SHARE MODE")
_NEXT = text("""
    SELECT id FROM users
     WHERE allow_agent_specific_memory IS FALSE AND merged_into IS NULL
       AND id > :after
     ORDER BY id
     LIMIT :batch
       FOR NO KEY UPDATE
""")
_PREFER = text(f"""
    INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)
    SELECT u.id, a.id, gen_random_uuid(), false
    {_GOVERNED} AND u.id = ANY (CAST(:ids AS uuid[]))
    ON CONFLICT DO NOTHING
    RETURNING user_id, agent_id
""")
_MARK = text("""
    UPDATE users SET toggle_migrated_at = now()
     WHERE id = ANY (CAST(:ids AS uuid[])) AND toggle_migrated_at IS NULL
""")


class ToggleMigration:
    """One run of the migration. May be interrupted and repeated at any time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def plan(self, actor: Actor) -> MigrationCounts:
        """Say how many users have their toggle off, and how many preferences are missing."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            row = (await connection.execute(_COUNT)).one()
        return MigrationCounts(users=row.users, preferences=row.preferences)

    async def apply(
        self, actor: Actor, advanced: Callable[[int], None] = lambda _: None
    ) -> MigrationCounts:
        """Make the missing preferences, in batches; ``advanced`` is told of users done."""
        actor.require(Role.ADMIN)
        done = MigrationCounts(users=0, preferences=0)
        after = UUID(int=0)
        while ids := await self._batch(actor, after, done):
            after = ids[-1]
            done.users += len(ids)
            advanced(len(ids))
        return done

    async def _batch(self, actor: Actor, after: UUID, done: MigrationCounts) -> list[UUID]:
        async with self._database.system_for(actor) as (connection, actor):
            await connection.execute(_HOLD_AGENTS)
            found = await connection.execute(_NEXT, {"after": after, "batch": BATCH})
            ids = list(found.scalars())
            if ids:
                made = (await connection.execute(_PREFER, {"ids": ids})).all()
                await connection.execute(_MARK, {"ids": ids})
                touched: dict[UUID, list[str]] = {}
                for row in made:
                    touched.setdefault(row.user_id, []).append(str(row.agent_id))
                await audit.note_each(connection, actor, "preference.migrate", touched)
                done.preferences += len(made)
        return ids
