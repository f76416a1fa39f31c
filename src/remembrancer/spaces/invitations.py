"""The only writer of invitations into spaces, and of the refusals of users.

An invitation has the name that the owner used and reaches whoever has it. So nobody looks up a
user to invite them, and an unknown user is answered as a known one. A refusal is a user's no:
they left the space, or declined an invitation.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final
from uuid import UUID

from sqlalchemy import (
    CompoundSelect,
    Select,
    Text,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import SpaceRole
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import first_row
from remembrancer.db.tables import (
    platform_links,
    space_invitations,
    space_members,
    space_refusals,
    spaces,
    users,
)
from remembrancer.paging import Page
from remembrancer.spaces.schemas import Invitation
from remembrancer.user_names import AnyUser

_COLUMN: Final = space_invitations.c
_REFUSAL: Final = space_refusals.c
_ORDER: Final = Keyset("invitations", _COLUMN.created_at, _COLUMN.space_id, _COLUMN.invitee)

_inviter, _survivor = users.alias(), users.alias()
_INVITATIONS: Final = (
    select(
        _COLUMN.space_id,
        spaces.c.name,
        spaces.c.description,
        _COLUMN.invitee,
        _COLUMN.role,
        _survivor.c.id.label("invited_by"),
        _survivor.c.display_name.label("inviter"),
        _COLUMN.created_at,
    )
    .join(spaces, spaces.c.id == _COLUMN.space_id)
    .join(_inviter, _inviter.c.id == _COLUMN.invited_by)
    .join(_survivor, _survivor.c.id == func.coalesce(_inviter.c.merged_into, _inviter.c.id))
)


def _ids_of(user_id: UUID) -> Select[tuple[UUID]]:
    """Return the current and former ids of a user."""
    return select(users.c.id).where(or_(users.c.id == user_id, users.c.merged_into == user_id))


def _names_of(user_id: UUID) -> CompoundSelect[tuple[str]]:
    """Return the names by which an invitation reaches a user."""
    ids = _ids_of(user_id).subquery()
    link = platform_links.c
    # A name ends its platform at the first colon: see UserName.
    linked = select(link.platform + ":" + link.platform_user_id).where(
        link.user_id == user_id, func.strpos(link.platform, ":") == 0
    )
    return union_all(select(cast(ids.c.id, Text)), linked)


async def invite(
    connection: AsyncConnection,
    space_id: UUID,
    invitees: Collection[AnyUser],
    invited_by: UUID,
    role: SpaceRole,
) -> None:
    """Invite users into a locked space, or change their open invitations."""
    values = {"space_id": space_id, "invited_by": invited_by, "role": role.value}
    rows = [{**values, "invitee": str(invitee)} for invitee in invitees]
    if not rows:
        return
    statement = upsert(space_invitations)
    statement = statement.on_conflict_do_update(
        index_elements=["space_id", "invitee"],
        set_={"role": statement.excluded.role, "invited_by": statement.excluded.invited_by},
    )
    await connection.execute(statement, rows)


async def find(connection: AsyncConnection, space_id: UUID, invitee: AnyUser) -> Invitation | None:
    query = _INVITATIONS.where(_COLUMN.space_id == space_id, _COLUMN.invitee == str(invitee))
    return await first_row(connection, Invitation, query)


async def of_space(
    connection: AsyncConnection, space_id: UUID, limit: int, cursor: str | None
) -> Page[Invitation]:
    query = _INVITATIONS.where(_COLUMN.space_id == space_id)
    return await _ORDER.page(connection, Invitation, query, limit, cursor)


async def of_user(
    connection: AsyncConnection, user_id: UUID, limit: int, cursor: str | None
) -> Page[Invitation]:
    """Return the invitations that reach a user: none of a space that they declined."""
    is_member = exists().where(
        space_members.c.user_id == user_id, space_members.c.space_id == _COLUMN.space_id
    )
    has_declined = exists().where(
        _REFUSAL.user_id == user_id, _REFUSAL.space_id == _COLUMN.space_id, _REFUSAL.declined
    )
    query = _INVITATIONS.where(_COLUMN.invitee.in_(_names_of(user_id)), ~is_member, ~has_declined)
    return await _ORDER.page(connection, Invitation, query, limit, cursor)


async def count(connection: AsyncConnection, space_id: UUID) -> int:
    query = select(func.count()).where(_COLUMN.space_id == space_id)
    return int((await connection.execute(query)).scalar_one())


async def role_of(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> SpaceRole | None:
    """Return the highest role that a user is invited to, also if they declined."""
    query = select(func.max(_COLUMN.role)).where(
        _COLUMN.space_id == space_id, _COLUMN.invitee.in_(_names_of(user_id))
    )
    role = (await connection.execute(query)).scalar_one()
    return None if role is None else SpaceRole(role)


async def withdraw(connection: AsyncConnection, space_id: UUID, invitee: AnyUser) -> bool:
    removal = delete(space_invitations).filter_by(space_id=space_id, invitee=str(invitee))
    return (await connection.execute(removal)).rowcount > 0


async def end(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> None:
    """Delete all invitations of a user into a space."""
    removal = delete(space_invitations).where(
        _COLUMN.space_id == space_id, _COLUMN.invitee.in_(_names_of(user_id))
    )
    await connection.execute(removal)


async def refuse(
    connection: AsyncConnection, space_id: UUID, user_id: UUID, *, declined: bool
) -> None:
    values = {"user_id": user_id, "space_id": space_id, "declined": declined}
    statement = upsert(space_refusals).values(values)
    statement = statement.on_conflict_do_update(
        index_elements=["user_id", "space_id"], set_={"declined": declined}
    )
    await connection.execute(statement)


async def has_refused(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> bool:
    query = select(_REFUSAL.user_id).filter_by(space_id=space_id, user_id=user_id)
    return (await connection.execute(query)).first() is not None


async def take_back(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> None:
    """Delete a user's refusal of a space."""
    await connection.execute(delete(space_refusals).filter_by(space_id=space_id, user_id=user_id))


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete the invitations to and by a user, and their refusals; return the rows deleted."""
    invitations = delete(space_invitations).where(
        or_(_COLUMN.invitee.in_(_names_of(user_id)), _COLUMN.invited_by.in_(_ids_of(user_id)))
    )
    refusals = delete(space_refusals).where(_REFUSAL.user_id == user_id)
    return Counter(
        space_invitations=(await connection.execute(invitations)).rowcount,
        space_refusals=(await connection.execute(refusals)).rowcount,
    )


async def erase_of_nobody(connection: AsyncConnection, space_ids: Collection[UUID]) -> int:
    """Delete the invitations into spaces that no member is left in; return their number."""
    has_members = exists().where(space_members.c.space_id == _COLUMN.space_id)
    removal = delete(space_invitations).where(_COLUMN.space_id.in_(space_ids), ~has_members)
    return (await connection.execute(removal)).rowcount
