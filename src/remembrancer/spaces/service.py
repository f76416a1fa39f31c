"""Create, change, delete and restore spaces; manage their members and invitations."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Unpack
from uuid import UUID

from remembrancer import audit
from remembrancer.access import Actor, Role, SpaceRole, as_user, may_manage
from remembrancer.backend import Backend
from remembrancer.checks import hold_user
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, Forbidden, NotFound, RemembrancerError
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.paging import Page, PageMethod
from remembrancer.spaces import deletion, invitations, repository
from remembrancer.spaces.access import (
    SpaceAccess,
    check_owned,
    enter,
    find_member_id,
    get_member,
    hold_all,
)
from remembrancer.spaces.schemas import (
    Addition,
    Invitation,
    Member,
    MemberAdd,
    MemberDetails,
    MemberUpdate,
    Space,
    SpaceCreate,
    SpaceDetails,
    SpaceUpdate,
)
from remembrancer.user_names import AnyUser
from remembrancer.users import repository as users
from remembrancer.validation import model_of


@retries_deadlocks
class Spaces:
    """Spaces that users share.

    Every method acts for the actor's user. For a user who is not a member, it raises
    ``NotFound`` and logs the attempt; for a member who is not an owner, ``Forbidden``.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._database = backend.database

    async def create(
        self,
        actor: Actor,
        space: SpaceCreate | None = None,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[SpaceDetails],
    ) -> Space:
        """Create a space with its members; where a user creates it, they are invited.

        ``space``, or its ``fields`` by keyword. Raises ``NotFound`` for an unknown member, but not
        to a user.
        """
        space = model_of(SpaceCreate, space, fields)
        adds = actor.role is not Role.USER
        member_ids = (await self._database.user_ids(space.member_ids)).values() if adds else ()
        async with (
            self._database.system_for(actor) as (connection, actor),
            once(connection, "spaces.create", idempotency_key, space) as answer,
        ):
            if answer.earlier is not None:
                earlier = await enter(connection, actor, UUID(answer.earlier))
                if earlier is None:
                    raise NotFound("the space does not exist any more", field="space_id")
                return await earlier.space()
            user_id = actor.require_user()
            await hold_all(connection, {user_id}, field="user_id")
            current_ids = await hold_all(connection, {user_id, *member_ids}, field="member_ids")
            owner = current_ids[user_id]
            values = {"name": space.name, "description": space.description, "created_by": owner}
            row = await repository.add(connection, {"id": new_uuid(), **values})
            members = dict.fromkeys(current_ids.values(), SpaceRole.MEMBER)
            roles = members | {owner: SpaceRole.OWNER}
            await repository.join(connection, row.id, roles)
            if not adds:
                invitees = set(space.member_ids) - {owner, *actor.merged_ids}
                member = SpaceRole.MEMBER
                await invitations.invite(connection, row.id, invitees, owner, member)
            access = SpaceAccess(connection, actor, owner, row, roles)
            await access.note("space.create", *sorted(roles.keys() - {owner}))
            answer.new = str(row.id)
            return await access.space()

    async def get(self, actor: Actor, space_id: UUID) -> Space:
        """Return a space. For its members."""
        async with self._enter(actor, space_id, "space.read") as space:
            await space.note_look("space.read")
            return await space.space()

    @PageMethod
    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Space]:
        """Return the user's spaces in the order of their creation."""
        async with self._database.system_for(actor) as (connection, actor):
            user_id = actor.require_user()
            page = await repository.page(connection, user_id, limit, cursor)
            by_owner = {user_id: [str(space.id) for space in page.items]}
            await audit.note_look(connection, actor, "space.read", by_owner)
        return page

    async def update(self, actor: Actor, space_id: UUID, changes: SpaceUpdate) -> Space:
        """Change the name or description of a space. For its owners."""
        values = changes.model_dump(exclude_unset=True)
        async with self._enter(actor, space_id, "space.update", manages=True) as space:
            if not values:
                return await space.space()
            row = await repository.change(space.connection, space_id, values)
            await space.note("space.update")
            return await space.space(row)

    async def delete(self, actor: Actor, space_id: UUID) -> None:
        """Delete a space. For its owners; the same owner can ``restore`` it.

        Raises ``Conflict`` while it has conversations, or memories of any user that are not
        forgotten.
        """
        async with self._enter(actor, space_id, deletion.ACTION, manages=True) as space:
            # Memberships first: members who write into the space hold theirs.
            await deletion.delete_space(space.connection, space.row, space.user_id)
            if await repository.is_in_use(space.connection, space_id):
                raise Conflict(
                    "the space holds memories or conversations; their owners must forget them "
                    "first, or you can leave the space instead",
                    field="space_id",
                )
            await space.note(deletion.ACTION, *sorted(space.roles.keys() - {space.user_id}))

    async def restore(self, actor: Actor, space_id: UUID) -> Space:
        """Restore a space that the user deleted, with members, roles and shared facts.

        Raises ``NotFound`` if the user deleted no such space, and ``Conflict`` if it exists.
        """
        try:
            async with self._database.system_for(actor) as (connection, actor):
                await deletion.restore(connection, space_id, actor.require_user())
                space = await enter(connection, actor, space_id)
                assert space is not None
                await space.note("space.restore", *sorted(space.roles.keys() - {space.user_id}))
                return await space.space()
        except NotFound as error:
            await self._backend.refuse(actor, "space.restore", [str(space_id)], error)

    async def members(
        self, actor: Actor, space_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Member]:
        """Return the members of a space in the order in which the users were created."""
        async with self._enter(actor, space_id, "space.members.read") as space:
            page = await repository.members(space.connection, space_id, limit, cursor)
            user_ids = (member.user_id for member in page.items)
            await space.note_look("space.members.read", *user_ids)
        return page

    async def add_member(
        self,
        actor: Actor,
        space_id: UUID,
        member: MemberAdd | None = None,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[MemberDetails],
    ) -> Addition:
        """Add a member, who then sees all shared facts; where a user adds, invite them. For owners.

        Raises ``Conflict`` for a member; to a service and an admin, ``NotFound`` for an unknown
        user, and ``Conflict`` for one who left the space or declined an invitation. ``member``, or
        its ``fields`` by keyword.
        """
        member = model_of(MemberAdd, member, fields)
        if actor.role is Role.USER:
            invitation = await self.invite(actor, space_id, member, idempotency_key=idempotency_key)
            return Addition(user_id=member.user_id, role=invitation.role, invited=True)
        action, user_id = "space.members.add", await self._database.user_id(member.user_id)
        async with (
            self._enter(actor, space_id, action, manages=True, people=[user_id]) as space,
            once(space.connection, action, idempotency_key, (space_id, member)) as answer,
        ):
            current_ids = await hold_all(space.connection, {user_id}, field="user_id")
            current_id = current_ids[user_id]
            if answer.earlier is None and current_id in space.roles:
                raise Conflict("is a member already", field="user_id")
            if answer.earlier is None:
                if await invitations.has_refused(space.connection, space_id, current_id):
                    raise Conflict(
                        "has left the space or declined to join it; invite them instead",
                        field="user_id",
                    )
                await invitations.end(space.connection, space_id, current_id)
                await repository.join(space.connection, space_id, {current_id: member.role})
                await space.note(action, current_id)
                answer.new = str(current_id)
            added = await get_member(space, current_id)
            return Addition(**added.model_dump(), invited=False)

    async def invite(
        self,
        actor: Actor,
        space_id: UUID,
        member: MemberAdd | None = None,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[MemberDetails],
    ) -> Invitation:
        """Invite a user, who is a member once they accept. For owners.

        An unknown user is invited as a known one is, and so is one who declined; the latter is not
        shown the invitation. A repeat changes the role. Raises ``Conflict`` for a member.
        ``member``, or its ``fields`` by keyword.
        """
        member = model_of(MemberAdd, member, fields)
        action = "space.invite"
        async with (
            self._enter(actor, space_id, action, manages=True) as space,
            once(space.connection, action, idempotency_key, (space_id, member)) as answer,
        ):
            if answer.earlier is None:
                if member.user_id in space.roles:
                    raise Conflict("is a member already", field="user_id")
                await invitations.invite(
                    space.connection, space_id, [member.user_id], space.user_id, member.role
                )
                await space.note(action)
                answer.new = str(space_id)
            invitation = await invitations.find(space.connection, space_id, member.user_id)
            if invitation is None:
                raise NotFound("the invitation is not open any more", field="user_id")
            return invitation

    async def sent_invitations(
        self, actor: Actor, space_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Invitation]:
        """Return the open invitations into a space, the oldest first. For owners.

        One that was declined looks like an open one.
        """
        async with self._enter(actor, space_id, "space.invitations.read", manages=True) as space:
            await space.note_look("space.invitations.read")
            return await invitations.of_space(space.connection, space_id, limit, cursor)

    async def withdraw(self, actor: Actor, space_id: UUID, invitee: AnyUser) -> None:
        """Withdraw an invitation, named as it was sent. For owners. Raises ``NotFound``."""
        action, name = "space.withdraw", as_user(invitee, field="invitee")
        async with self._enter(actor, space_id, action, manages=True) as space:
            if not await invitations.withdraw(space.connection, space_id, name):
                raise NotFound("no such invitation", field="invitee")
            await space.note(action)

    async def invitations(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Invitation]:
        """Return the user's open invitations, the oldest first."""
        async with self._database.system_for(actor) as (connection, actor):
            user_id = actor.require_user()
            page = await invitations.of_user(connection, user_id, limit, cursor)
            by_owner = {user_id: [str(invitation.space_id) for invitation in page.items]}
            await audit.note_look(connection, actor, "space.invitations.read", by_owner)
        return page

    async def accept(self, actor: Actor, space_id: UUID) -> Space:
        """Accept an invitation: the user is a member from now on.

        A declined invitation can be accepted while it is not withdrawn. Raises ``NotFound``.
        """
        async with self._enter_invited(actor, space_id, "space.join") as (space, role):
            await invitations.end(space.connection, space_id, space.user_id)
            await invitations.take_back(space.connection, space_id, space.user_id)
            await repository.join(space.connection, space_id, {space.user_id: role})
            joined = replace(space, roles={**space.roles, space.user_id: role})
            await joined.note("space.join")
            return await joined.space()

    async def decline(self, actor: Actor, space_id: UUID) -> None:
        """Decline an invitation. The user is shown no further invitation into this space.

        Nobody is told. Raises ``NotFound``.
        """
        async with self._enter_invited(actor, space_id, "space.decline") as (space, _):
            await invitations.refuse(space.connection, space_id, space.user_id, declined=True)
            await space.note("space.decline")

    async def update_member(
        self, actor: Actor, space_id: UUID, member_id: AnyUser, changes: MemberUpdate
    ) -> Member:
        """Change a member's role, or hand over the own role. For owners.

        Raises ``Conflict`` if the space would have no owner.
        """
        action = "space.members.change"
        member_id = await self._database.user_id(member_id, field="member_id")
        async with self._enter(actor, space_id, action, manages=True, people=[member_id]) as space:
            current_id = await find_member_id(space, member_id)
            roles: dict[UUID, SpaceRole] = {current_id: changes.role}
            if changes.hand_over and current_id != space.user_id:
                roles[space.user_id] = SpaceRole.MEMBER
            check_owned(space, roles)
            await repository.join(space.connection, space_id, roles)
            await space.note(action, current_id)
            return await get_member(space, current_id)

    async def remove_member(self, actor: Actor, space_id: UUID, member_id: AnyUser) -> None:
        """Remove a member. For owners; a member can remove themselves: see :meth:`leave`."""
        member_id = await self._database.user_id(member_id, field="member_id")
        actor = await self._database.identify(actor)
        if member_id in {actor.user_id, *actor.merged_ids}:
            await self.leave(actor, space_id)
            return
        action = "space.members.remove"
        async with self._enter(actor, space_id, action, manages=True, people=[member_id]) as space:
            await self._end_membership(space, await find_member_id(space, member_id))

    async def leave(self, actor: Actor, space_id: UUID) -> None:
        """End the user's own membership. Nobody adds them again without their yes.

        The user no longer sees the facts that others shared; the user's own shared facts stay
        shared. Raises ``Conflict`` for the last owner while there are other members. Without
        members, the space is deleted.
        """
        actor = await self._database.identify(actor)
        user_id = actor.require_user()
        async with self._enter(actor, space_id, "space.leave", people=[user_id]) as space:
            await self._end_membership(space, space.user_id)

    @staticmethod
    async def _end_membership(space: SpaceAccess, user_id: UUID) -> None:
        check_owned(space, {user_id: None})
        own = user_id == space.user_id
        if space.roles.keys() == {user_id}:
            await deletion.delete_space(space.connection, space.row, user_id)
        else:
            await repository.leave(space.connection, space.row.id, user_id)
            await invitations.end(space.connection, space.row.id, user_id)
            if own:
                await invitations.refuse(space.connection, space.row.id, user_id, declined=False)
        await space.note("space.leave" if own else "space.members.remove", user_id)

    @asynccontextmanager
    async def _enter(
        self,
        actor: Actor,
        space_id: UUID,
        action: str,
        *,
        manages: bool = False,
        people: Collection[UUID] | None = None,
    ) -> AsyncIterator[SpaceAccess]:
        """Open a transaction in a space of which the actor is a member, or an owner.

        It spans users, because members see each other. With ``people``, whose memberships change,
        it holds these users and locks the space.
        """
        changing = manages or people is not None
        space: SpaceAccess | None = None
        async with self._database.system_for(actor) as (connection, actor):
            members = await repository.roles(connection, space_id)
            if actor.require_user() in members:
                if changing:
                    await users.hold(connection, {*members, *(people or ())})
                space = await enter(connection, actor, space_id, lock=changing)
            if space is not None and (not manages or may_manage(space.roles[space.user_id])):
                yield space
                return
        error: RemembrancerError = NotFound("no such space", field="space_id")
        if space is not None:
            error = Forbidden("only owners of the space may do this")
        await self._backend.refuse(actor, action, [str(space_id)], error)

    @asynccontextmanager
    async def _enter_invited(
        self, actor: Actor, space_id: UUID, action: str
    ) -> AsyncIterator[tuple[SpaceAccess, SpaceRole]]:
        """Open a transaction in a space, locked, into which the actor's user is invited."""
        async with self._database.system_for(actor) as (connection, actor):
            user_id = await hold_user(connection, actor)
            row = await repository.find(connection, space_id, lock=True)
            roles = await repository.roles(connection, space_id)
            role = await invitations.role_of(connection, space_id, user_id)
            if row is not None and role is not None and user_id not in roles:
                yield SpaceAccess(connection, actor, user_id, row, roles), role
                return
        error = NotFound("no such invitation", field="space_id")
        await self._backend.refuse(actor, action, [str(space_id)], error)
