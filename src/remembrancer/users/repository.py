"""The only writer of users and platform links."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import namespace_in_effect, visible
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.sql import among, statement
from remembrancer.db.tables import agents, platform_links, users
from remembrancer.db.trips import Trip, together
from remembrancer.errors import Deadlock, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.paging import Page
from remembrancer.users.rows import HeldUser, LinkRow, PlatformUserRow, UserRow
from remembrancer.users.schemas import UserOverview

_sql = partial(statement, "remembrancer.users", "users")
_COUNTS: Final = _sql(
    "with_memory_counts",
    namespace=namespace_in_effect,
    own=partial(
        visible,
        namespace="namespace.agent_id",
        spaces="CAST(ARRAY[] AS uuid[])",
        user_id="someone.id",
    ),
)
_ORDER: Final = Keyset("users", users.c.id)
_CURRENT: Final = (users.c.id != SHARED_OWNER, users.c.merged_into.is_(None))


async def create_if_new(connection: AsyncConnection, new_id: UUID, **identity: str | None) -> None:
    await connection.execute(_sql("create_if_new"), {"new_id": new_id, **identity})


async def refresh(
    connection: AsyncConnection, user_id: UUID, display_name: str | None, time_zone: str | None
) -> UserRow | None:
    """Set the name and zone where they differ; return the user if one did."""
    given = {"display_name": display_name, "time_zone": time_zone}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        return None
    change = (
        update(users)
        .where(users.c.id == user_id)
        .where(or_(*(users.c[name] != value for name, value in values.items())))
        .values(**values, version=users.c.version + 1, updated_at=func.now())
        .returning(users)
    )
    return await first_row(connection, UserRow, change)


async def set_paused(connection: AsyncConnection, user_id: UUID, *, paused: bool) -> UserRow:
    """Pause or resume remembering of a user."""
    change = (
        update(users)
        .where(users.c.id == user_id)
        .values(
            paused_at=func.now() if paused else None,
            version=users.c.version + 1,
            updated_at=func.now(),
        )
        .returning(users)
    )
    return await one_row(connection, UserRow, change)


async def remembered(connection: AsyncConnection, user_ids: Collection[UUID]) -> list[UUID]:
    """Return those of whom remembering is not paused, in order."""
    query = select(users.c.id).where(among(users.c.id, user_ids), users.c.paused_at.is_(None))
    return list((await connection.execute(query.order_by(users.c.id))).scalars())


async def find(connection: AsyncConnection, user_id: UUID, *, lock: bool = False) -> UserRow | None:
    """Follow merges to the survivor."""
    query = select(users).where(users.c.id == user_id, users.c.id != SHARED_OWNER)
    row = await first_row(connection, UserRow, query.with_for_update() if lock else query)
    if row is None or row.merged_into is None:
        return row
    if lock:
        _check_order([row.id], [row.merged_into])
    return await find(connection, row.merged_into, lock=lock)


async def get(connection: AsyncConnection, user_id: UUID, *, lock: bool = False) -> UserRow:
    """Return a user as :func:`find` does, or raise ``NotFound``."""
    row = await find(connection, user_id, lock=lock)
    if row is None:
        raise NotFound("no such user", field="user_id")
    return row


async def hold(connection: AsyncConnection, user_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Hold users against merges and erasures; return the current id of each known user, by old id.

    Every writer for a user holds them: merges and erasures wait for the end of the transaction.
    Raises ``Deadlock`` where a merge of this moment would make it hold users out of order.
    """
    to_lock = set(user_ids) - {SHARED_OWNER}
    while True:
        async with together(connection) as trip:
            rows = read_held(trip, to_lock)
        current = {row.id: row.current_id for row in rows}
        # A write for a former id goes to the survivor: hold the survivor too.
        if not (missing := set(current.values()) - current.keys()):
            return {user_id: current[user_id] for user_id in set(user_ids) & current.keys()}
        _check_order(current, missing)
        to_lock |= missing


def read_held(trip: Trip, user_ids: Collection[UUID]) -> Sequence[HeldUser]:
    """Let a trip hold users, without the survivors of merges; its rows have their current ids."""
    return trip.add(_sql("hold"), {"ids": list(user_ids)}, HeldUser)


def _check_order(locked: Collection[UUID], further: Collection[UUID]) -> None:
    """Raise ``Deadlock`` unless all come after those that are locked: others lock by id."""
    if locked and min(further) < max(locked):
        raise Deadlock(Deadlock.AGAIN)


async def hold_current(connection: AsyncConnection, user_id: UUID) -> UUID:
    """Hold a user; return their current id. Raise ``NotFound`` for an unknown one."""
    current_id = (await hold(connection, [user_id])).get(user_id)
    if current_id is None:
        raise NotFound("no such user", field="user_id")
    return current_id


async def lock(connection: AsyncConnection, user_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Lock users against all other writers; return the current id of each known user, by old id.

    With their former ids: a merge changes these, and an erasure deletes them.
    """
    locked: set[UUID] = set()
    current_id = func.coalesce(users.c.merged_into, users.c.id)
    given = select(current_id).where(users.c.id.in_(user_ids))
    family = select(users.c.id, current_id.label("current_id")).where(
        or_(users.c.id.in_(given), users.c.merged_into.in_(given))
    )
    while True:
        current = {row.id: row.current_id for row in await connection.execute(family)}
        if not (missing := current.keys() - locked):
            return {user_id: current[user_id] for user_id in set(user_ids) & current.keys()}
        # The wait may have been for a merge: lock the survivor too.
        _check_order(locked, missing)
        query = select(users.c.id).where(users.c.id.in_(missing)).order_by(users.c.id)
        locked |= set((await connection.execute(query.with_for_update())).scalars())


async def find_by_platform(
    connection: AsyncConnection, platform: str, platform_user_id: str
) -> UserRow | None:
    query = (
        select(users)
        .join(platform_links, platform_links.c.user_id == users.c.id)
        .where(platform_links.c.platform == platform)
        .where(platform_links.c.platform_user_id == platform_user_id)
    )
    return await first_row(connection, UserRow, query)


async def on_platform(
    connection: AsyncConnection, platform: str, platform_user_ids: Sequence[str]
) -> dict[str, PlatformUserRow]:
    query = (
        select(platform_links.c.platform_user_id, users.c.id, users.c.display_name)
        .join(users, platform_links.c.user_id == users.c.id)
        .where(platform_links.c.platform == platform)
        .where(platform_links.c.platform_user_id.in_(platform_user_ids))
    )
    return {row.platform_user_id: row for row in await all_rows(connection, PlatformUserRow, query)}


async def links_of(connection: AsyncConnection, user_ids: Sequence[UUID]) -> list[LinkRow]:
    query = (
        select(platform_links)
        .where(platform_links.c.user_id.in_(user_ids))
        .order_by(platform_links.c.platform, platform_links.c.platform_user_id)
    )
    return await all_rows(connection, LinkRow, query)


async def add_link(
    connection: AsyncConnection, user_id: UUID, platform: str, platform_user_id: str
) -> UUID:
    """Add the link unless it exists; return its user."""
    values = {"platform": platform, "platform_user_id": platform_user_id}
    await connection.execute(
        insert(platform_links).values(**values, user_id=user_id).on_conflict_do_nothing()
    )
    query = select(platform_links.c.user_id).filter_by(**values)
    return UUID(str((await connection.execute(query)).scalar_one()))


async def remove_link(
    connection: AsyncConnection, user_id: UUID, platform: str, platform_user_id: str
) -> bool:
    removal = delete(platform_links).filter_by(
        user_id=user_id, platform=platform, platform_user_id=platform_user_id
    )
    return (await connection.execute(removal)).rowcount > 0


async def page(connection: AsyncConnection, limit: int, cursor: str | None) -> Page[UserRow]:
    return await _ORDER.page(connection, UserRow, select(users).where(*_CURRENT), limit, cursor)


async def named(connection: AsyncConnection, name: str, limit: int) -> list[UserRow]:
    query = (
        select(users)
        .where(*_CURRENT, func.lower(users.c.display_name) == func.lower(name))
        .order_by(users.c.id)
        .limit(limit)
    )
    return await all_rows(connection, UserRow, query)


async def names(connection: AsyncConnection, user_ids: Collection[UUID]) -> dict[UUID, str]:
    query = select(users.c.id, users.c.display_name).where(users.c.id.in_(user_ids))
    return {row.id: row.display_name for row in await connection.execute(query)}


async def with_memory_counts(
    connection: AsyncConnection, agent_id: UUID | None, limit: int, offset: int
) -> list[UserOverview]:
    """Count the memories that an agent reads; all without an agent. The links are empty."""
    page = {"limit": limit, "offset": offset}
    binds = {"shared_owner": SHARED_OWNER, "agent_id": agent_id, **page}
    return await all_rows(connection, UserOverview, _COUNTS, binds)


async def count(connection: AsyncConnection) -> int:
    query = select(func.count()).select_from(users).where(*_CURRENT)
    return int((await connection.execute(query)).scalar_one())


async def has_agent(connection: AsyncConnection, agent_id: UUID) -> bool:
    query = select(agents.c.id).where(agents.c.id == agent_id, agents.c.deleted_at.is_(None))
    return (await connection.execute(query)).first() is not None


async def set_toggle(connection: AsyncConnection, user_id: UUID, allow: bool | None) -> UserRow:
    """Set the deprecated toggle. It counts as not migrated to preferences."""
    change = (
        update(users)
        .where(users.c.id == user_id)
        .values(allow_agent_specific_memory=allow, toggle_migrated_at=None)
        .returning(users)
    )
    return await one_row(connection, UserRow, change)


async def with_toggle_off(connection: AsyncConnection, after: UUID, limit: int) -> list[UUID]:
    """Lock users whose deprecated toggle is off; return their ids, in order."""
    binds = {"after": after, "limit": limit}
    return list((await connection.execute(_sql("with_toggle_off"), binds)).scalars())


async def set_toggle_migrated(connection: AsyncConnection, user_ids: Sequence[UUID]) -> None:
    await connection.execute(_sql("set_toggle_migrated"), {"user_ids": list(user_ids)})


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> dict[str, Any]:
    """Merge the giver into the taker, with their links; return a record for ``transfer_back``."""
    both = {"giver": giver, "taker": taker}
    links = await all_rows(connection, dict, _sql("transfer_links"), both)
    forwarded = (await connection.execute(_sql("forward_merged"), both)).scalars()
    record = {"links": links, "forwarded": [str(user_id) for user_id in forwarded]}
    await connection.execute(_sql("set_merged"), both)
    return record


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    both = {"giver": giver, "taker": taker}
    await connection.execute(_sql("forward_merged_back"), both | {"forwarded": record["forwarded"]})
    await connection.execute(_sql("set_unmerged"), {"giver": giver})
    columns = {
        "platforms": [link["platform"] for link in record["links"]],
        "platform_user_ids": [link["platform_user_id"] for link in record["links"]],
    }
    await connection.execute(_sql("transfer_links_back"), both | columns)


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete a user, the users merged into them, and the links; return the rows deleted."""
    links = delete(platform_links).where(platform_links.c.user_id == user_id)
    everybody = delete(users).where(or_(users.c.id == user_id, users.c.merged_into == user_id))
    return Counter(
        platform_links=(await connection.execute(links)).rowcount,
        users=(await connection.execute(everybody)).rowcount,
    )
