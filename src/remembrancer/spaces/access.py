"""Access to a space for its members."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, SpaceRole
from remembrancer.errors import Conflict, NotFound
from remembrancer.spaces import invitations, repository, rules
from remembrancer.spaces.rows import SpaceRow
from remembrancer.spaces.schemas import Member, Space
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class SpaceAccess:
    """A space in an open transaction, with the access of one of its members."""

    connection: AsyncConnection
    actor: Actor
    user_id: UUID
    row: SpaceRow
    roles: Mapping[UUID, SpaceRole]

    async def space(self, row: SpaceRow | None = None) -> Space:
        values = {
            "role": self.roles[self.user_id],
            "member_count": len(self.roles),
            "invitation_count": await invitations.count(self.connection, self.row.id),
        }
        return Space.model_validate(asdict(row or self.row) | values)

    async def note(self, action: str, *user_ids: UUID) -> None:
        """Write an audit line for the actor's user and for each of the users."""
        target_ids = [str(self.row.id), *map(str, user_ids)]
        owners = dict.fromkeys((self.user_id, *user_ids), target_ids)
        await audit.note_each(self.connection, self.actor, action, owners)

    async def note_look(self, action: str, *user_ids: UUID) -> None:
        """For an admin, write a line for each of the users, by default for the actor's user."""
        owners = {owner: [str(self.row.id)] for owner in user_ids or (self.user_id,)}
        await audit.note_look(self.connection, self.actor, action, owners)


async def enter(
    connection: AsyncConnection, actor: Actor, space_id: UUID, *, lock: bool = False
) -> SpaceAccess | None:
    """Return None for users who are not members. With ``lock``, lock the space."""
    user_id = actor.require_user()
    row = await repository.find(connection, space_id, lock=lock)
    if row is None:
        return None
    # After the lock: the members cannot change any more.
    roles = await repository.roles(connection, space_id)
    return SpaceAccess(connection, actor, user_id, row, roles) if user_id in roles else None


async def hold_all(
    connection: AsyncConnection, user_ids: Collection[UUID], *, field: str
) -> dict[UUID, UUID]:
    """Hold users and return their current ids; raise ``NotFound`` unless all are known."""
    current_ids = await users.hold(connection, user_ids)
    if current_ids.keys() != set(user_ids):
        raise NotFound("no such user", field=field)
    return current_ids


async def find_member_id(space: SpaceAccess, user_id: UUID) -> UUID:
    """Return the current id of a member, by a current or former id."""
    current_id = (await users.hold(space.connection, [user_id])).get(user_id)
    if current_id is None or current_id not in space.roles:
        raise NotFound("no such member", field="member_id")
    return current_id


def check_owned(space: SpaceAccess, changes: Mapping[UUID, SpaceRole | None]) -> None:
    """Raise ``Conflict`` if the changes would leave members without an owner."""
    if rules.orphaned(space.roles, changes):
        raise Conflict(
            "the space would have no owner; make another member one first, or delete it",
            field="role",
        )


async def get_member(space: SpaceAccess, user_id: UUID) -> Member:
    member = await repository.member(space.connection, space.row.id, user_id)
    if member is None:
        raise NotFound("is not a member any more", field="user_id")
    return member
