"""Users and platform links in the database."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import agents, platform_links, users
from remembrancer.ids import SHARED_OWNER

_RESOLVE = text("""
    WITH linked AS (
        INSERT INTO platform_links (platform, platform_user_id, user_id)
        VALUES (:platform, :platform_user_id, :new_id)
        ON CONFLICT DO NOTHING
        RETURNING user_id
    )
    INSERT INTO users (id, display_name, time_zone)
    SELECT user_id, :display_name, coalesce(:time_zone, 'UTC') FROM linked
""")


# Users first, then the memories of those on the page: the count of 500,000 is not paid for 50.
_KNOWN = text("""
    SELECT u.id, u.display_name, u.created_at, counted.memory_count
      FROM (SELECT * FROM users
             WHERE id <> :shared_owner AND merged_into IS NULL
             ORDER BY id LIMIT :limit OFFSET :offset) AS u
     CROSS JOIN LATERAL (
           SELECT count(*) AS memory_count
             FROM memories AS m
            WHERE m.owner_id = u.id AND m.status = 'active'
              AND (CAST(:agent_id AS uuid) IS NULL OR m.agent_id IS NULL
                   OR m.agent_id = :agent_id)
           ) AS counted
     ORDER BY u.id
""")


async def create_if_new(connection: AsyncConnection, new_id: UUID, **identity: str | None) -> None:
    """Create a user and their link unless the link exists.

    The link's primary key decides a race: whoever loses waits, then creates nothing.
    """
    await connection.execute(_RESOLVE, {"new_id": new_id, **identity})


async def refresh(
    connection: AsyncConnection, user_id: UUID, display_name: str | None, time_zone: str | None
) -> Row[Any] | None:
    """Set the last-known name and zone where they differ; return the row if they did."""
    changes = {"display_name": display_name, "time_zone": time_zone}
    known = {name: value for name, value in changes.items() if value is not None}
    differs = [users.c[name] != value for name, value in known.items()]
    if not known:
        return None
    statement = (
        update(users)
        .where(users.c.id == user_id)
        .where(differs[0] if len(differs) == 1 else differs[0] | differs[1])
        .values(**known, version=users.c.version + 1, updated_at=func.now())
        .returning(users)
    )
    row: Row[Any] | None = (await connection.execute(statement)).first()
    return row


async def find(
    connection: AsyncConnection, user_id: UUID, *, lock: bool = False
) -> Row[Any] | None:
    """Return the user, following merges to the survivor; locked if asked."""
    if user_id == SHARED_OWNER:
        return None
    statement = select(users).where(users.c.id == user_id)
    if lock:
        statement = statement.with_for_update()
    row = (await connection.execute(statement)).first()
    if row is not None and row.merged_into is not None:
        return await find(connection, row.merged_into, lock=lock)
    return row


async def hold(connection: AsyncConnection, user_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Return who each known user is now, by the id asked for; nobody merges them meanwhile.

    Whoever writes for a user holds them: a merge or an erasure waits for the transaction's end,
    and one that was first shows here.
    """
    wanted = set(user_ids) - {SHARED_OWNER}
    while True:
        known = (
            select(users.c.id, users.c.merged_into)
            .where(users.c.id.in_(wanted))
            .order_by(users.c.id)
            .with_for_update(read=True, key_share=True)
        )
        now = {row.id: row.merged_into or row.id for row in await connection.execute(known)}
        # Who is asked for by a former id is written for as the survivor.
        if now.keys() >= set(now.values()):
            return {user_id: now[user_id] for user_id in set(user_ids) & now.keys()}
        wanted |= set(now.values())


async def find_by_platform(
    connection: AsyncConnection, platform: str, platform_user_id: str
) -> Row[Any] | None:
    """Return the user a platform id belongs to."""
    statement = (
        select(users)
        .join(platform_links, platform_links.c.user_id == users.c.id)
        .where(platform_links.c.platform == platform)
        .where(platform_links.c.platform_user_id == platform_user_id)
    )
    return (await connection.execute(statement)).first()


async def on_platform(
    connection: AsyncConnection, platform: str, platform_user_ids: Sequence[str]
) -> dict[str, Row[*tuple[Any, ...]]]:
    """Return the users that platform ids belong to, by platform id."""
    statement = (
        select(platform_links.c.platform_user_id, users.c.id, users.c.display_name)
        .join(users, platform_links.c.user_id == users.c.id)
        .where(platform_links.c.platform == platform)
        .where(platform_links.c.platform_user_id.in_(platform_user_ids))
    )
    return {row.platform_user_id: row for row in await connection.execute(statement)}


async def links_of(connection: AsyncConnection, user_ids: Sequence[UUID]) -> Sequence[Row[Any]]:
    """Return the links of several users, in a fixed order."""
    statement = (
        select(platform_links)
        .where(platform_links.c.user_id.in_(user_ids))
        .order_by(platform_links.c.platform, platform_links.c.platform_user_id)
    )
    return (await connection.execute(statement)).all()


async def add_link(
    connection: AsyncConnection, user_id: UUID, platform: str, platform_user_id: str
) -> UUID:
    """Link a platform id to a user unless it is taken; return whose it is now."""
    values = {"platform": platform, "platform_user_id": platform_user_id}
    await connection.execute(
        insert(platform_links).values(**values, user_id=user_id).on_conflict_do_nothing()
    )
    statement = select(platform_links.c.user_id).filter_by(**values)
    return UUID(str((await connection.execute(statement)).scalar_one()))


async def page(connection: AsyncConnection, limit: int, after: UUID | None) -> Sequence[Row[Any]]:
    """Return users in the order they came, one more than ``limit``."""
    statement = (
        select(users)
        .where(users.c.id != SHARED_OWNER, users.c.merged_into.is_(None))
        .order_by(users.c.id)
        .limit(limit + 1)
    )
    if after is not None:
        statement = statement.where(users.c.id > after)
    return (await connection.execute(statement)).all()


async def named(connection: AsyncConnection, name: str, limit: int) -> Sequence[Row[Any]]:
    """Return users of a name, in any case, in the order they came."""
    statement = (
        select(users)
        .where(users.c.id != SHARED_OWNER, users.c.merged_into.is_(None))
        .where(func.lower(users.c.display_name) == func.lower(name))
        .order_by(users.c.id)
        .limit(limit)
    )
    return (await connection.execute(statement)).all()


async def known(
    connection: AsyncConnection, agent_id: UUID | None, limit: int, offset: int
) -> Sequence[Row[Any]]:
    """Return users in the order they came, each with how many memories an agent may use."""
    binds = {
        "shared_owner": SHARED_OWNER,
        "agent_id": agent_id,
        "limit": limit,
        "offset": offset,
    }
    return (await connection.execute(_KNOWN, binds)).all()


async def count(connection: AsyncConnection) -> int:
    """Return how many users there are."""
    statement = (
        select(func.count())
        .select_from(users)
        .where(users.c.id != SHARED_OWNER, users.c.merged_into.is_(None))
    )
    return int((await connection.execute(statement)).scalar_one())


async def has_agent(connection: AsyncConnection, agent_id: UUID) -> bool:
    """Say whether there is such an agent."""
    statement = select(agents.c.id).where(agents.c.id == agent_id, agents.c.deleted_at.is_(None))
    return (await connection.execute(statement)).first() is not None
