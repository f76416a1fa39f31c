"""Make spaces, say who is in them, leave them, delete them and bring them back."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from uuid import UUID

from remembrancer import audit
from remembrancer.access import Actor, SpaceRole, may_manage
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, Forbidden, NotFound
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.spaces import deletion, repository
from remembrancer.spaces.access import (
    SpaceAccess,
    check_owned,
    enter,
    held,
    member_meant,
    member_of,
)
from remembrancer.spaces.schemas import (
    Member,
    MemberAdd,
    MemberUpdate,
    Space,
    SpaceCreate,
    SpaceUpdate,
)
from remembrancer.text import check_range, id_from_cursor, to_cursor
from remembrancer.users import repository as users


class Spaces:
    """The spaces people share.

    Every method answers for the actor's user. For whoever is no member a space does not
    exist: ``NotFound``, and a line in the audit log. What needs an owner is ``Forbidden``
    for other members.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, actor: Actor, space: SpaceCreate, *, idempotency_key: str | None = None
    ) -> Space:
        """Make a space with its members; ``NotFound`` if one of them is unknown."""
        async with (
            self._database.system_for(actor) as (connection, actor),
            once(connection, actor, "spaces.create", idempotency_key, space) as answer,
        ):
            if answer.earlier is not None:
                again = await enter(connection, actor, UUID(answer.earlier))
                if again is None:
                    raise NotFound("the space is gone by now", field="space_id")
                return again.shown()
            asked = actor.require_user()
            await held(connection, {asked}, field="user_id")
            known = await held(connection, {asked, *space.member_ids}, field="member_ids")
            owner = known[asked]
            values = {"id": new_uuid(), "created_by": owner}
            about = {"name": space.name, "description": space.description}
            row = await repository.add(connection, values | about)
            roles = dict.fromkeys(known.values(), SpaceRole.MEMBER) | {owner: SpaceRole.OWNER}
            await repository.join(connection, row.id, roles)
            made = SpaceAccess(connection, actor, owner, row, roles)
            await made.note("space.create", *sorted(roles.keys() - {owner}))
            answer.keep = str(row.id)
            return made.shown()

    async def get(self, actor: Actor, space_id: UUID) -> Space:
        """Return a space the actor is a member of."""
        async with self._entered(actor, space_id, "space.read") as space:
            await space.look("space.read")
            return space.shown()

    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Space]:
        """Return the spaces the user is a member of, in the order they were made."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = id_from_cursor(cursor)
        async with self._database.system_for(actor) as (connection, actor):
            me = actor.require_user()
            rows = await repository.page(connection, me, limit, after)
            seen = {me: [str(row.id) for row in rows[:limit]]}
            await audit.note_look(connection, actor, "space.read", seen)
        items = [Space.model_validate(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].id)) if more else None)

    async def update(self, actor: Actor, space_id: UUID, changes: SpaceUpdate) -> Space:
        """Change the name or description of a space. For its owners."""
        given = changes.model_dump(exclude_unset=True)
        async with self._entered(actor, space_id, "space.update", manages=True) as space:
            if not given:
                return space.shown()
            row = await repository.change(space.connection, space_id, given)
            await space.note("space.update")
            return space.shown(row)

    async def delete(self, actor: Actor, space_id: UUID) -> None:
        """Delete a space. For its owners; who did it can take it back with ``restore``.

        Raises ``Conflict`` while memories or conversations lie in it, whosever they are;
        forgotten ones do not count.
        """
        async with self._entered(actor, space_id, deletion.ACTION, manages=True) as space:
            # Memberships go first: whoever writes into the space holds theirs, and is waited for.
            await deletion.close(space.connection, space.row, space.me)
            if await repository.holds_anything(space.connection, space_id):
                raise Conflict(
                    "memories or conversations lie in the space; those whose they are "
                    "forget them first, or leave the space instead",
                    field="space_id",
                )
            await space.note(deletion.ACTION, *sorted(space.roles.keys() - {space.me}))

    async def restore(self, actor: Actor, space_id: UUID) -> Space:
        """Bring back a space that the actor deleted: members, roles and what was shared.

        Raises ``NotFound`` if the actor's user deleted none of this id, ``Conflict`` if it is
        there.
        """
        try:
            async with self._database.system_for(actor) as (connection, actor):
                await deletion.reopen(connection, space_id, actor.require_user())
                space = await enter(connection, actor, space_id)
                assert space is not None
                await space.note("space.restore", *sorted(space.roles.keys() - {space.me}))
                return space.shown()
        except NotFound:
            await self._refused(actor, "space.restore", space_id)
            raise

    async def members(
        self, actor: Actor, space_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Member]:
        """Return the members of a space, those first who have been known longest."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = id_from_cursor(cursor)
        async with self._entered(actor, space_id, "space.members.read") as space:
            rows = await repository.members(space.connection, space_id, limit, after)
            await space.look("space.members.read", *(row.user_id for row in rows[:limit]))
        items = [Member.model_validate(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].user_id)) if more else None)

    async def add_member(
        self,
        actor: Actor,
        space_id: UUID,
        member: MemberAdd,
        *,
        idempotency_key: str | None = None,
    ) -> Member:
        """Let somebody join, who then sees what is shared. For owners.

        Raises ``NotFound`` for an unknown user and ``Conflict`` for one who is a member.
        """
        action, who = "space.members.add", member.user_id
        async with (
            self._entered(actor, space_id, action, manages=True, people=[who]) as space,
            once(
                space.connection, space.actor, action, idempotency_key, (space_id, member)
            ) as past,
        ):
            now = (await held(space.connection, {who}, field="user_id"))[who]
            if past.earlier is None and now in space.roles:
                raise Conflict("is a member already", field="user_id")
            if past.earlier is None:
                await repository.join(space.connection, space_id, {now: member.role})
                await space.note(action, now)
                past.keep = str(now)
            return await member_of(space, now)

    async def change_member(
        self, actor: Actor, space_id: UUID, user_id: UUID, change: MemberUpdate
    ) -> Member:
        """Give a member another role, or hand one's own over to them. For owners.

        Raises ``Conflict`` where nobody would be owner any more.
        """
        action = "space.members.change"
        async with self._entered(actor, space_id, action, manages=True, people=[user_id]) as space:
            who = await member_meant(space, user_id)
            changes: dict[UUID, SpaceRole] = {who: change.role}
            if change.hand_over and who != space.me:
                changes[space.me] = SpaceRole.MEMBER
            check_owned(space, changes)
            await repository.join(space.connection, space_id, changes)
            await space.note(action, who)
            return await member_of(space, who)

    async def remove_member(self, actor: Actor, space_id: UUID, user_id: UUID) -> None:
        """End somebody's membership, which is for owners, or one's own: see ``leave``."""
        if user_id in {actor.user_id, *actor.merged_ids}:
            await self.leave(actor, space_id)
            return
        async with self._entered(
            actor, space_id, "space.members.remove", manages=True, people=[user_id]
        ) as space:
            await self._go(space, await member_meant(space, user_id))

    async def leave(self, actor: Actor, space_id: UUID) -> None:
        """End the actor's own membership.

        They no longer see what others shared, and keep what is their own: what they shared
        stays shared until they unshare or delete it. Raises ``Conflict`` if they are the last
        owner and others remain. A space that the last member leaves is deleted.
        """
        me = actor.require_user()
        async with self._entered(actor, space_id, "space.leave", people=[me]) as space:
            await self._go(space, space.me)

    @staticmethod
    async def _go(space: SpaceAccess, who: UUID) -> None:
        check_owned(space, {who: None})
        if space.roles.keys() == {who}:
            await deletion.close(space.connection, space.row, who)
        else:
            await repository.leave(space.connection, space.row.id, who)
        await space.note("space.leave" if who == space.me else "space.members.remove", who)

    @asynccontextmanager
    async def _entered(
        self,
        actor: Actor,
        space_id: UUID,
        action: str,
        *,
        manages: bool = False,
        people: Collection[UUID] | None = None,
    ) -> AsyncIterator[SpaceAccess]:
        """Open a transaction in a space that the actor may enter, or that they manage.

        Across owners, since members see who else is one; that they are one is checked here.
        ``people`` whose membership is about to change are held, and the space is locked.
        """
        changing = manages or people is not None
        async with self._database.system_for(actor) as (connection, actor):
            if changing:
                everybody = await repository.roles(connection, space_id)
                await users.hold(connection, {*everybody, *(people or ())})
            space = await enter(connection, actor, space_id, lock=changing)
            if space is not None and (not manages or may_manage(space.roles[space.me])):
                yield space
                return
        await self._refused(actor, action, space_id)
        if space is not None:
            raise Forbidden("this is for the owners of the space")
        raise NotFound("no such space", field="space_id")

    async def _refused(self, actor: Actor, action: str, space_id: UUID) -> None:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [str(space_id)], outcome="refused")
