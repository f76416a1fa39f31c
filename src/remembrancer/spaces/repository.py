"""Spaces and their members in the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, delete, exists, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import SpaceRole
from remembrancer.db.tables import (
    conversations,
    memories,
    space_members,
    spaces,
    undo_records,
    users,
)

Rows = Sequence[Row[*tuple[Any, ...]]]

# Members come back as who they are now; who is known no more does not.
_PUT_BACK = text("""
    INSERT INTO space_members (user_id, space_id, role, joined_at)
    SELECT DISTINCT ON (coalesce(u.merged_into, u.id))
           coalesce(u.merged_into, u.id), :space_id, m.role, m.joined_at
      FROM unnest(CAST(:user_ids AS uuid[]), CAST(:roles AS text[]),
                  CAST(:joined_at AS timestamptz[])) AS m (user_id, role, joined_at)
      JOIN users AS u ON u.id = m.user_id
     ORDER BY coalesce(u.merged_into, u.id), m.role DESC
""")


async def is_member(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> bool:
    """Say whether a user is a member of a space; if so they stay one until the transaction ends."""
    return space_id in await joined(connection, user_id, [space_id])


async def joined(
    connection: AsyncConnection, user_id: UUID, space_ids: Iterable[UUID]
) -> frozenset[UUID]:
    """Return of which spaces a user is a member; they stay one until the transaction ends."""
    wanted = set(space_ids)
    if not wanted:
        return frozenset()
    statement = (
        select(space_members.c.space_id)
        .where(space_members.c.user_id == user_id, space_members.c.space_id.in_(wanted))
        .order_by(space_members.c.space_id)
        .with_for_update(read=True, key_share=True)
    )
    return frozenset((await connection.execute(statement)).scalars())


async def members_among(
    connection: AsyncConnection, space_id: UUID, user_ids: Iterable[UUID]
) -> frozenset[UUID]:
    """Return which users are members of a space; they stay so until the transaction ends."""
    statement = (
        select(space_members.c.user_id)
        .where(space_members.c.space_id == space_id, space_members.c.user_id.in_(set(user_ids)))
        .order_by(space_members.c.user_id)
        .with_for_update(read=True, key_share=True)
    )
    return frozenset((await connection.execute(statement)).scalars())


async def find(
    connection: AsyncConnection, space_id: UUID, *, lock: bool = False
) -> Row[Any] | None:
    """Return a space; locked, so that one at a time changes it and who is in it, if asked."""
    statement = select(spaces).where(spaces.c.id == space_id)
    if lock:
        statement = statement.with_for_update()
    return (await connection.execute(statement)).first()


async def roles(connection: AsyncConnection, space_id: UUID) -> dict[UUID, SpaceRole]:
    """Return who is in a space, and as what."""
    statement = select(space_members.c.user_id, space_members.c.role).filter_by(space_id=space_id)
    return {row.user_id: SpaceRole(row.role) for row in await connection.execute(statement)}


async def page(connection: AsyncConnection, user_id: UUID, limit: int, after: UUID | None) -> Rows:
    """Return a user's spaces in the order they were made, one more than ``limit``.

    With the user's role and how many members there are.
    """
    others = space_members.alias("others")
    counted = select(func.count()).select_from(others).where(others.c.space_id == spaces.c.id)
    statement = (
        select(spaces, space_members.c.role, counted.scalar_subquery().label("member_count"))
        .join(space_members, space_members.c.space_id == spaces.c.id)
        .where(space_members.c.user_id == user_id)
        .order_by(spaces.c.id)
        .limit(limit + 1)
    )
    if after is not None:
        statement = statement.where(spaces.c.id > after)
    rows: Rows = (await connection.execute(statement)).all()
    return rows


async def add(connection: AsyncConnection, values: dict[str, Any]) -> Row[Any]:
    """Insert a space and return it."""
    row: Row[Any] = (
        await connection.execute(insert(spaces).values(values).returning(spaces))
    ).one()
    return row


async def change(connection: AsyncConnection, space_id: UUID, values: dict[str, Any]) -> Row[Any]:
    """Set columns of a space and return it."""
    statement = (
        update(spaces).filter_by(id=space_id).values(**values, updated_at=func.now())
    ).returning(spaces)
    row: Row[Any] = (await connection.execute(statement)).one()
    return row


async def holds_anything(connection: AsyncConnection, space_id: UUID) -> bool:
    """Say whether memories that are not forgotten, or conversations, lie in a space."""
    memory = exists().where(memories.c.space_id == space_id, memories.c.status != "forgotten")
    conversation = exists().where(conversations.c.space_id == space_id)
    return bool((await connection.execute(select(or_(memory, conversation)))).scalar_one())


async def remove(connection: AsyncConnection, space_id: UUID) -> Rows:
    """Delete a space; return who was in it."""
    gone = delete(space_members).filter_by(space_id=space_id).returning(space_members)
    members: Rows = (await connection.execute(gone)).all()
    await connection.execute(delete(spaces).filter_by(id=space_id))
    return members


async def deletion(
    connection: AsyncConnection, user_id: UUID, action: str, space_id: UUID
) -> UUID | None:
    """Return the record of how a user deleted a space, the latest that was not undone."""
    column = undo_records.c
    statement = (
        select(column.id)
        .where(column.owner_id == user_id, column.action == action, column.undone_at.is_(None))
        .where(column.record["space"]["id"].astext == str(space_id))
        .order_by(column.id.desc())
        .limit(1)
    )
    found: UUID | None = (await connection.execute(statement)).scalar_one_or_none()
    return found


async def put_back(
    connection: AsyncConnection, values: dict[str, Any], members: Sequence[dict[str, Any]]
) -> None:
    """Insert a space that was deleted, with the members it had."""
    await connection.execute(insert(spaces).values(values))
    binds = {
        "space_id": values["id"],
        "user_ids": [member["user_id"] for member in members],
        "roles": [member["role"] for member in members],
        "joined_at": [member["joined_at"] for member in members],
    }
    await connection.execute(_PUT_BACK, binds)


async def member(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> Row[Any] | None:
    """Return somebody in a space."""
    statement = _members(space_id).where(space_members.c.user_id == user_id)
    row: Row[Any] | None = (await connection.execute(statement)).first()
    return row


async def members(
    connection: AsyncConnection, space_id: UUID, limit: int, after: UUID | None
) -> Rows:
    """Return who is in a space, by id, one more than ``limit``."""
    statement = _members(space_id).order_by(space_members.c.user_id).limit(limit + 1)
    if after is not None:
        statement = statement.where(space_members.c.user_id > after)
    rows: Rows = (await connection.execute(statement)).all()
    return rows


async def join(
    connection: AsyncConnection, space_id: UUID, people: Mapping[UUID, SpaceRole]
) -> None:
    """Make users members of a space in these roles; who is one already gets the role."""
    rows = [
        {"user_id": user_id, "space_id": space_id, "role": role.value}
        for user_id, role in sorted(people.items())
    ]
    statement = upsert(space_members)
    statement = statement.on_conflict_do_update(
        index_elements=["user_id", "space_id"], set_={"role": statement.excluded.role}
    )
    await connection.execute(statement, rows)


async def leave(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> None:
    """End a membership."""
    mine = delete(space_members).filter_by(space_id=space_id, user_id=user_id)
    await connection.execute(mine)


def _members(space_id: UUID) -> Select[Any]:
    return (
        select(space_members, users.c.display_name)
        .join(users, users.c.id == space_members.c.user_id)
        .where(space_members.c.space_id == space_id)
    )
