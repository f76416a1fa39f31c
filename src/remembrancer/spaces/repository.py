"""The only writer of spaces and their members, with invitations.py."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    Select,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import SpaceRole
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import IdRow, all_rows, first_row, one_row
from remembrancer.db.sql import json_rows, statement
from remembrancer.db.tables import (
    conversations,
    memories,
    space_invitations,
    space_members,
    spaces,
    users,
)
from remembrancer.db.trips import Trip, together
from remembrancer.paging import Page
from remembrancer.spaces import invitations
from remembrancer.spaces.rows import MembershipRow, SpaceNames, SpaceRow
from remembrancer.spaces.schemas import Member, Space

_sql = partial(statement, "remembrancer.spaces", "spaces")
_ORDER: Final = Keyset("spaces", spaces.c.id)
_MEMBER_ORDER: Final = Keyset("members", space_members.c.user_id)


async def is_member(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> bool:
    """Hold the membership too."""
    async with together(connection) as trip:
        rows = joined(trip, user_id, [space_id])
    return bool(rows)


def joined(trip: Trip, user_id: UUID, space_ids: Iterable[UUID]) -> Sequence[IdRow]:
    """Let a trip read the spaces among ``space_ids`` with the user as a member, and hold these."""
    return trip.add(_sql("hold_joined"), {"user_id": user_id, "ids": list(space_ids)}, IdRow)


async def members_among(
    connection: AsyncConnection, space_id: UUID, user_ids: Iterable[UUID]
) -> frozenset[UUID]:
    """Return the members among ``user_ids``; hold the memberships."""
    async with together(connection) as trip:
        rows = hold_members(trip, space_id, user_ids)
    return frozenset(row.id for row in rows)


def hold_members(trip: Trip, space_id: UUID, user_ids: Iterable[UUID]) -> Sequence[IdRow]:
    """Let a trip do what :func:`members_among` does."""
    return trip.add(_sql("hold_members"), {"space_id": space_id, "ids": list(user_ids)}, IdRow)


async def find(
    connection: AsyncConnection, space_id: UUID, *, lock: bool = False
) -> SpaceRow | None:
    """With ``lock``, no other writer changes the space and its members."""
    query = select(spaces).where(spaces.c.id == space_id)
    return await first_row(connection, SpaceRow, query.with_for_update() if lock else query)


async def roles(connection: AsyncConnection, space_id: UUID) -> dict[UUID, SpaceRole]:
    query = select(space_members.c.user_id, space_members.c.role).filter_by(space_id=space_id)
    return {row.user_id: SpaceRole(row.role) for row in await connection.execute(query)}


async def page(
    connection: AsyncConnection, user_id: UUID, limit: int, cursor: str | None
) -> Page[Space]:
    others = space_members.alias("others")
    members = select(func.count()).select_from(others).where(others.c.space_id == spaces.c.id)
    invitations = select(func.count()).where(space_invitations.c.space_id == spaces.c.id)
    query = (
        select(
            spaces,
            space_members.c.role,
            members.scalar_subquery().label("member_count"),
            invitations.scalar_subquery().label("invitation_count"),
        )
        .join(space_members, space_members.c.space_id == spaces.c.id)
        .where(space_members.c.user_id == user_id)
    )
    return await _ORDER.page(connection, Space, query, limit, cursor)


async def names(connection: AsyncConnection) -> SpaceNames:
    """Return the names of the spaces of the transaction's user, and of the authors there."""
    return await one_row(connection, SpaceNames, text("SELECT * FROM app_space_names()"))


async def add(connection: AsyncConnection, values: Mapping[str, object]) -> SpaceRow:
    return await one_row(connection, SpaceRow, insert(spaces).values(values).returning(spaces))


async def change(
    connection: AsyncConnection, space_id: UUID, values: Mapping[str, object]
) -> SpaceRow:
    statement = update(spaces).filter_by(id=space_id).values(**values, updated_at=func.now())
    return await one_row(connection, SpaceRow, statement.returning(spaces))


async def is_in_use(connection: AsyncConnection, space_id: UUID) -> bool:
    """Forgotten memories do not count."""
    memory = exists().where(memories.c.space_id == space_id, memories.c.status != "forgotten")
    conversation = exists().where(conversations.c.space_id == space_id)
    return bool((await connection.execute(select(or_(memory, conversation)))).scalar_one())


async def remove(connection: AsyncConnection, space_id: UUID) -> list[MembershipRow]:
    """Delete a space and return its members."""
    removal = delete(space_members).filter_by(space_id=space_id).returning(space_members)
    members = await all_rows(connection, MembershipRow, removal)
    await connection.execute(delete(spaces).filter_by(id=space_id))
    return members


async def restore(
    connection: AsyncConnection,
    values: Mapping[str, object],
    members: Sequence[Mapping[str, object]],
) -> None:
    await connection.execute(insert(spaces).values(values))
    binds = {
        "space_id": values["id"],
        "user_ids": [member["user_id"] for member in members],
        "roles": [member["role"] for member in members],
        "joined_at": [member["joined_at"] for member in members],
    }
    await connection.execute(_sql("add_members_back"), binds)


async def member(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> Member | None:
    query = _members(space_id).where(space_members.c.user_id == user_id)
    return await first_row(connection, Member, query)


async def members(
    connection: AsyncConnection, space_id: UUID, limit: int, cursor: str | None
) -> Page[Member]:
    return await _MEMBER_ORDER.page(connection, Member, _members(space_id), limit, cursor)


async def join(
    connection: AsyncConnection, space_id: UUID, people: Mapping[UUID, SpaceRole]
) -> None:
    """Add members, or change their roles."""
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
    await connection.execute(delete(space_members).filter_by(space_id=space_id, user_id=user_id))


def _members(space_id: UUID) -> Select[Any]:
    return (
        select(space_members, users.c.display_name)
        .join(users, users.c.id == space_members.c.user_id)
        .where(space_members.c.space_id == space_id)
    )


async def hold_created(connection: AsyncConnection, user_id: UUID) -> None:
    """Hold the spaces that a user created, before a transfer."""
    await connection.execute(_sql("hold_created"), {"user_id": user_id})


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> dict[str, Any]:
    """Move memberships, refusals and the authorship of spaces.

    Invitations need no move: they reach all ids and platform links of a user. Returns a record for
    ``transfer_back``.
    """
    both = {"giver": giver, "taker": taker}
    memberships = await all_rows(connection, dict, _sql("transfer"), both)
    refusals = await all_rows(connection, dict, _sql("transfer_refusals"), both)
    created = (await connection.execute(_sql("transfer_created"), both)).scalars()
    made = [str(space_id) for space_id in created]
    return {"spaces": memberships, "made": made, "refusals": refusals}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    memberships = record["spaces"]
    space_ids = [row["space_id"] for row in memberships]
    had = {"taker": taker, "space_ids": space_ids, "had": [row["had"] for row in memberships]}
    roles = [row["role"] for row in memberships]
    again = {"giver": giver, "taker": taker, "space_ids": space_ids, "roles": roles}
    created = {"giver": giver, "taker": taker, "made": record["made"]}
    refusals = {"giver": giver, "taker": taker, "refusals": json_rows(record.get("refusals", []))}
    await connection.execute(_sql("transfer_created_back"), created)
    await connection.execute(_sql("transfer_refusals_back"), refusals)
    await connection.execute(_sql("add_members_again"), again)
    await connection.execute(_sql("set_earlier_roles"), had)
    await connection.execute(_sql("remove_new_members"), had)


async def erase(
    connection: AsyncConnection, user_id: UUID, space_ids: Sequence[UUID]
) -> Counter[str]:
    """Delete a user's memberships, invitations and refusals; return the rows deleted.

    In ``space_ids``, the longest member becomes the owner of a space without one, and spaces
    without members and memories are deleted.
    """
    counts = await invitations.erase(connection, user_id)
    memberships = delete(space_members).where(space_members.c.user_id == user_id)
    counts["space_members"] = (await connection.execute(memberships)).rowcount
    ids = {"ids": list(space_ids)}
    await connection.execute(_sql("promote_heirs"), ids)
    counts["space_invitations"] += await invitations.erase_of_nobody(connection, space_ids)
    counts["spaces"] = (await connection.execute(_sql("erase_empty"), ids)).rowcount
    return counts
