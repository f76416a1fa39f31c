"""The only writer of preferences and of the admin's policy."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, any_, cast, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import scope_facts
from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.sql import statement
from remembrancer.db.tables import agents, memory_policy, memory_preferences
from remembrancer.db.transfers import change_owner
from remembrancer.db.trips import Trip, together
from remembrancer.ids import SHARED_OWNER, new_uuid
from remembrancer.preferences.rows import (
    CellRow,
    ChangeRow,
    PolicyRow,
    PreferenceKeyRow,
    ScopeRow,
)
from remembrancer.preferences.rules import Setting
from remembrancer.preferences.schemas import MigrationCounts, Preference

_sql = partial(
    statement,
    "remembrancer.preferences",
    "preferences",
    facts=lambda ids: scope_facts(*ids.split()),
)
_migration = partial(statement, "remembrancer.preferences", "migration")
_statistics = partial(statement, "remembrancer.preferences", "statistics")
_CURRENT: Final = agents.c.deleted_at.is_(None)


async def facts(
    connection: AsyncConnection, agent_ids: Collection[UUID], user_ids: Collection[UUID]
) -> Sequence[ScopeRow]:
    """Return the facts that decide the scope of each known user with each current agent."""
    async with together(connection) as trip:
        return read_facts(trip, agent_ids, user_ids)


def read_facts(
    trip: Trip, agent_ids: Collection[UUID], user_ids: Collection[UUID]
) -> Sequence[ScopeRow]:
    """Let a trip do what :func:`facts` does."""
    binds = {"agent_ids": list(agent_ids), "user_ids": list(user_ids)}
    return trip.add(_sql("facts"), binds, ScopeRow)


def _preferences(user_id: UUID | None = None) -> Select[Any]:
    query = (
        select(memory_preferences)
        .join(agents, agents.c.id == memory_preferences.c.agent_id)
        .where(_CURRENT)
        .order_by(memory_preferences.c.user_id, memory_preferences.c.agent_id)
    )
    return query if user_id is None else query.where(memory_preferences.c.user_id == user_id)


async def find(connection: AsyncConnection, user_id: UUID, agent_id: UUID) -> Preference | None:
    query = _preferences(user_id).where(memory_preferences.c.agent_id == agent_id)
    return await first_row(connection, Preference, query)


async def find_all(connection: AsyncConnection, user_id: UUID | None = None) -> list[Preference]:
    """Return the preferences of a user, or of all users, for current agents."""
    return await all_rows(connection, Preference, _preferences(user_id))


async def set_all(connection: AsyncConnection, settings: Collection[Setting]) -> list[ChangeRow]:
    """Return the preferences that changed."""
    columns = list(zip(*settings, strict=True)) or [(), (), ()]
    binds = {
        "user_ids": list(columns[0]),
        "agent_ids": list(columns[1]),
        "ids": [new_uuid() for _ in settings],
        "allowed": list(columns[2]),
    }
    return await all_rows(connection, ChangeRow, _sql("set"), binds)


async def reset(connection: AsyncConnection, user_id: UUID, agent_id: UUID) -> bool:
    removal = delete(memory_preferences).filter_by(user_id=user_id, agent_id=agent_id)
    return (await connection.execute(removal)).rowcount > 0


async def reset_all(connection: AsyncConnection, user_id: UUID) -> list[UUID]:
    """Return the agents of the deleted preferences; those for retired agents stay."""
    return list((await connection.execute(_sql("reset_all"), {"user_id": user_id})).scalars())


async def current_agents(
    connection: AsyncConnection, agent_ids: Collection[UUID] | None = None
) -> set[UUID]:
    query = select(agents.c.id).where(_CURRENT)
    if agent_ids is not None:
        query = query.where(agents.c.id == any_(cast(list(agent_ids), ARRAY(Uuid))))
    return set((await connection.execute(query)).scalars())


async def policy(connection: AsyncConnection) -> PolicyRow:
    return await one_row(connection, PolicyRow, select(memory_policy))


async def set_policy(connection: AsyncConnection, allow: bool) -> PolicyRow:
    change = update(memory_policy).values(allow_agent_specific_memory=allow, updated_at=func.now())
    return await one_row(connection, PolicyRow, change.returning(memory_policy))


async def cells(connection: AsyncConnection) -> list[CellRow]:
    """Return the number of users by toggle and numbers of agents of each kind."""
    return await all_rows(connection, CellRow, _statistics("cells"), {"shared": SHARED_OWNER})


async def agents_by_scope(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(_statistics("agents_by_scope"))
    return {row.scope: row.number for row in rows}


async def memories_by_scope(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(_statistics("memories_by_scope"), {"shared": SHARED_OWNER})
    return {row.scope: row.number for row in rows}


async def count_migration(connection: AsyncConnection) -> MigrationCounts:
    return await one_row(connection, MigrationCounts, _migration("count"))


async def add_missing(
    connection: AsyncConnection, user_ids: Collection[UUID]
) -> list[PreferenceKeyRow]:
    """Add preferences for the global scope where there are none; return them."""
    binds = {"user_ids": list(user_ids)}
    return await all_rows(connection, PreferenceKeyRow, _migration("add_missing"), binds)


async def add_for_agent(connection: AsyncConnection, agent_id: UUID) -> None:
    """Add preferences for a new agent, for users whose toggle was migrated and is off."""
    await connection.execute(_migration("add_for_agent"), {"agent_id": agent_id})


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> dict[str, Any]:
    """Move the preferences; where the taker has one, delete the giver's."""
    both = {"giver": giver, "taker": taker}
    return {"preferences": await all_rows(connection, dict, _sql("transfer"), both)}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    moved = [UUID(row["agent_id"]) for row in record["preferences"] if row["moved"]]
    dropped = [row for row in record["preferences"] if not row["moved"]]
    these = memory_preferences.c.agent_id.in_(moved)
    await connection.execute(change_owner(memory_preferences, taker, giver, these, key="user_id"))
    columns = {
        "dropped": [row["agent_id"] for row in dropped],
        "allowed": [row["allow"] for row in dropped],
    }
    await connection.execute(_sql("add_dropped"), {"giver": giver, **columns})


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    removal = delete(memory_preferences).where(memory_preferences.c.user_id == user_id)
    return Counter(memory_preferences=(await connection.execute(removal)).rowcount)
