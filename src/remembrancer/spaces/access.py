"""A space that somebody has entered: what they and the others are there."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, SpaceRole
from remembrancer.errors import Conflict, NotFound
from remembrancer.spaces import repository, rules
from remembrancer.spaces.schemas import Member, Space
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class SpaceAccess:
    """A space that the actor is a member of, in an open transaction."""

    connection: AsyncConnection
    actor: Actor
    me: UUID
    row: Row[Any]
    roles: Mapping[UUID, SpaceRole]

    def shown(self, row: Row[Any] | None = None) -> Space:
        """Return the space as the actor sees it."""
        space = self.row if row is None else row
        mine = {"role": self.roles[self.me], "member_count": len(self.roles)}
        return Space.model_validate({**space._mapping, **mine})

    async def note(self, action: str, *people: UUID) -> None:
        """Write a line to the audit log: for the actor, and for each of the people."""
        targets = [str(self.row.id), *map(str, people)]
        for owner_id in dict.fromkeys([self.me, *people]):
            await audit.note(self.connection, self.actor, action, targets, owner_id=owner_id)

    async def look(self, action: str, *people: UUID) -> None:
        """Write a line for each of the people, or the actor's user, if an admin looks."""
        seen = {owner_id: [str(self.row.id)] for owner_id in people or (self.me,)}
        await audit.note_look(self.connection, self.actor, action, seen)


async def enter(
    connection: AsyncConnection, actor: Actor, space_id: UUID, *, lock: bool = False
) -> SpaceAccess | None:
    """Return a space as its member enters it, null for who is none; locked if asked."""
    me = actor.require_user()
    row = await repository.find(connection, space_id, lock=lock)
    if row is None:
        return None
    # Asked for after the lock: those who are members from here on.
    roles = await repository.roles(connection, space_id)
    return SpaceAccess(connection, actor, me, row, roles) if me in roles else None


async def held(
    connection: AsyncConnection, asked: Collection[UUID], *, field: str
) -> dict[UUID, UUID]:
    """Return who each user is now; ``NotFound`` unless all are known."""
    known = await users.hold(connection, asked)
    if known.keys() != set(asked):
        raise NotFound("no such user", field=field)
    return known


async def member_meant(space: SpaceAccess, user_id: UUID) -> UUID:
    """Return the member that is meant, by any id they have had."""
    who = (await users.hold(space.connection, [user_id])).get(user_id)
    if who is None or who not in space.roles:
        raise NotFound("no such member", field="member_id")
    return who


def check_owned(space: SpaceAccess, changes: Mapping[UUID, SpaceRole | None]) -> None:
    """Raise ``Conflict`` if the changes would leave members without an owner."""
    if rules.orphaned(space.roles, changes):
        raise Conflict(
            "the space would have no owner; make another member one first, or delete it",
            field="role",
        )


async def member_of(space: SpaceAccess, who: UUID) -> Member:
    """Return a member as the others see them."""
    row = await repository.member(space.connection, space.row.id, who)
    if row is None:
        raise NotFound("is no member any more", field="user_id")
    return Member.model_validate(row)
