"""Preferences, the deprecated toggle and the admin's policy in the database."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Row, Uuid, and_, any_, cast, delete, func, select, text, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import agents, memory_policy, memory_preferences, users
from remembrancer.ids import new_uuid

Rows = Sequence[Row[*tuple[Any, ...]]]

_LIVING = agents.c.deleted_at.is_(None)

# What access.effective_scope decides from, a row for each living agent and user.
_FACTS = (
    select(
        users.c.id.label("user_id"),
        agents.c.memory_scope.label("agent_default"),
        memory_preferences.c.allow_agent_specific_memory.label("preference"),
        users.c.allow_agent_specific_memory.label("toggle"),
        select(memory_policy.c.allow_agent_specific_memory)
        .scalar_subquery()
        .label("policy_allows"),
    )
    .select_from(
        agents.join(users, true()).outerjoin(
            memory_preferences,
            and_(
                memory_preferences.c.user_id == users.c.id,
                memory_preferences.c.agent_id == agents.c.id,
            ),
        )
    )
    .where(_LIVING)
)
_PREFERENCES = (
    select(memory_preferences)
    .join(agents, agents.c.id == memory_preferences.c.agent_id)
    .where(_LIVING)
    .order_by(memory_preferences.c.user_id, memory_preferences.c.agent_id)
)

# A row that this statement made has one time in both columns. Sorted, so that two writers of
# the same rows cannot wait for each other.
_WRITE = text("""
    WITH wanted AS (
        SELECT *
          FROM unnest(CAST(:user_ids AS uuid[]), CAST(:agent_ids AS uuid[]),
                      CAST(:ids AS uuid[]), CAST(:allowed AS boolean[]))
               AS w (user_id, agent_id, id, allow)
    ),
    written AS (
        INSERT INTO memory_preferences AS p (user_id, agent_id, id, allow_agent_specific_memory)
        SELECT user_id, agent_id, id, allow FROM wanted ORDER BY user_id, agent_id
            ON CONFLICT (user_id, agent_id) DO UPDATE
           SET allow_agent_specific_memory = excluded.allow_agent_specific_memory,
               updated_at = now()
         WHERE p.allow_agent_specific_memory <> excluded.allow_agent_specific_memory
        RETURNING user_id, agent_id, created_at = updated_at AS is_new
    )
    SELECT user_id, agent_id, is_new FROM written
""")

_RESET_ALL = text("""
    DELETE FROM memory_preferences AS p
     USING agents AS a
     WHERE p.user_id = :user_id AND a.id = p.agent_id AND a.deleted_at IS NULL
    RETURNING p.agent_id
""")

# One row for each combination of what a user's agents look like: by preference (none, off,
# on) and default (global, agent), how many there are of each. People are few kinds.
_CELLS = text("""
    WITH agent AS (
        SELECT count(*) FILTER (WHERE memory_scope = 'global') AS of_global,
               count(*) FILTER (WHERE memory_scope = 'agent') AS of_agent
          FROM agents
         WHERE deleted_at IS NULL
    ),
    preferred AS (
        SELECT p.user_id,
               count(*) FILTER (WHERE NOT p.allow_agent_specific_memory
                                  AND a.memory_scope = 'global') AS off_global,
               count(*) FILTER (WHERE NOT p.allow_agent_specific_memory
                                  AND a.memory_scope = 'agent') AS off_agent,
               count(*) FILTER (WHERE p.allow_agent_specific_memory
                                  AND a.memory_scope = 'global') AS on_global,
               count(*) FILTER (WHERE p.allow_agent_specific_memory
                                  AND a.memory_scope = 'agent') AS on_agent
          FROM memory_preferences AS p
          JOIN agents AS a ON a.id = p.agent_id AND a.deleted_at IS NULL
         GROUP BY p.user_id
    )
    SELECT u.allow_agent_specific_memory AS toggle,
           coalesce(p.off_global, 0) AS off_global, coalesce(p.off_agent, 0) AS off_agent,
           coalesce(p.on_global, 0) AS on_global, coalesce(p.on_agent, 0) AS on_agent,
           a.of_global - coalesce(p.off_global + p.on_global, 0) AS none_global,
           a.of_agent - coalesce(p.off_agent + p.on_agent, 0) AS none_agent,
           count(*) AS users
      FROM users AS u
     CROSS JOIN agent AS a
      LEFT JOIN preferred AS p ON p.user_id = u.id
     WHERE u.merged_into IS NULL AND u.id <> :shared
     GROUP BY 1, 2, 3, 4, 5, 6, 7
""")

_AGENTS_BY_SCOPE = text("""
    SELECT memory_scope AS scope, count(*) AS number
      FROM agents WHERE deleted_at IS NULL GROUP BY memory_scope
""")

_MEMORIES_BY_SCOPE = text("""
    SELECT CASE
               WHEN owner_id = :shared THEN 'shared'
               WHEN space_id IS NOT NULL THEN 'space'
               WHEN agent_id IS NULL THEN 'global'
               ELSE 'agent'
           END AS scope,
           count(*) AS number
      FROM memories
     WHERE status = 'active'
     GROUP BY 1
""")


async def facts(connection: AsyncConnection, agent_id: UUID, user_ids: Collection[UUID]) -> Rows:
    """Return what decides the scope of each known user with one living agent."""
    asked = any_(cast(list(user_ids), ARRAY(Uuid)))
    statement = _FACTS.where(agents.c.id == agent_id, users.c.id == asked)
    return (await connection.execute(statement)).all()


async def facts_of_agents(
    connection: AsyncConnection, user_id: UUID, limit: int, after: UUID | None
) -> Rows:
    """Return agents, in the order they were made, with what decides a user's scope with each.

    One more than ``limit``.
    """
    statement = _FACTS.add_columns(*agents.c).where(users.c.id == user_id)
    if after is not None:
        statement = statement.where(agents.c.id > after)
    return (await connection.execute(statement.order_by(agents.c.id).limit(limit + 1))).all()


async def find(connection: AsyncConnection, user_id: UUID, agent_id: UUID) -> Row[Any] | None:
    """Return a preference, if there is one."""
    statement = _PREFERENCES.where(
        memory_preferences.c.user_id == user_id, memory_preferences.c.agent_id == agent_id
    )
    return (await connection.execute(statement)).first()


async def of_user(connection: AsyncConnection, user_id: UUID) -> Rows:
    """Return a user's preferences for living agents."""
    mine = _PREFERENCES.where(memory_preferences.c.user_id == user_id)
    return (await connection.execute(mine)).all()


async def of_everybody(connection: AsyncConnection) -> Rows:
    """Return all preferences for living agents."""
    return (await connection.execute(_PREFERENCES)).all()


async def write(connection: AsyncConnection, wanted: Collection[tuple[UUID, UUID, bool]]) -> Rows:
    """Set preferences, given as user, agent and value, in one statement.

    Returns those that were not so before, each with whether it ``is_new``.
    """
    columns = list(zip(*wanted, strict=True)) or [(), (), ()]
    binds = {
        "user_ids": list(columns[0]),
        "agent_ids": list(columns[1]),
        "ids": [new_uuid() for _ in wanted],
        "allowed": list(columns[2]),
    }
    return (await connection.execute(_WRITE, binds)).all()


async def reset(connection: AsyncConnection, user_id: UUID, agent_id: UUID) -> bool:
    """Delete a preference; say whether there was one."""
    statement = delete(memory_preferences).filter_by(user_id=user_id, agent_id=agent_id)
    return (await connection.execute(statement)).rowcount > 0


async def reset_all(connection: AsyncConnection, user_id: UUID) -> list[UUID]:
    """Delete a user's preferences for living agents; return which agents they were for."""
    return list((await connection.execute(_RESET_ALL, {"user_id": user_id})).scalars())


async def living_agents(
    connection: AsyncConnection, agent_ids: Collection[UUID] | None = None
) -> set[UUID]:
    """Return the ids of living agents, of those asked for or of all."""
    statement = select(agents.c.id).where(_LIVING)
    if agent_ids is not None:
        statement = statement.where(agents.c.id == any_(cast(list(agent_ids), ARRAY(Uuid))))
    return set((await connection.execute(statement)).scalars())


async def set_toggle(connection: AsyncConnection, user_id: UUID, allow: bool | None) -> None:
    """Set the deprecated toggle anew: what it says stands in no preference yet."""
    await connection.execute(
        update(users)
        .where(users.c.id == user_id)
        .values(allow_agent_specific_memory=allow, toggle_migrated_at=None)
    )


async def policy(connection: AsyncConnection) -> Row[Any]:
    """Return the admin's word for everybody."""
    return (await connection.execute(select(memory_policy))).one()


async def set_policy(connection: AsyncConnection, allow: bool) -> Row[Any]:
    """Set the admin's word for everybody."""
    changed = (
        update(memory_policy)
        .values(allow_agent_specific_memory=allow, updated_at=func.now())
        .returning(memory_policy)
    )
    row: Row[Any] = (await connection.execute(changed)).one()
    return row


async def cells(connection: AsyncConnection, shared: UUID) -> Rows:
    """Return how many users have how many agents of each kind, by toggle."""
    return (await connection.execute(_CELLS, {"shared": shared})).all()


async def agents_by_scope(connection: AsyncConnection) -> dict[str, int]:
    """Return how many living agents have which default."""
    return {row.scope: row.number for row in await connection.execute(_AGENTS_BY_SCOPE)}


async def memories_by_scope(connection: AsyncConnection, shared: UUID) -> dict[str, int]:
    """Return how many active memories lie where."""
    rows = await connection.execute(_MEMORIES_BY_SCOPE, {"shared": shared})
    return {row.scope: row.number for row in rows}
