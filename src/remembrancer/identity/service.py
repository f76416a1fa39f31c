"""Link platform ids to users, merge users, and undo merges."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, undo
from remembrancer.access import STAFF, Actor
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.tables import undo_records
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.identity import merge
from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
from remembrancer.paging import Items
from remembrancer.user_names import AnyUser
from remembrancer.users import repository as users
from remembrancer.users.schemas import NewLink, PlatformLink
from remembrancer.users.service import with_links
from remembrancer.validation import validate


@retries_deadlocks
class Identity:
    """Platform links and merges. For admins and services, never for users: a user who links
    another user's platform id to themselves would read that user's messages.
    """

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    @asynccontextmanager
    async def _for_staff(
        self, actor: Actor, *users: AnyUser, dry_run: bool = False
    ) -> AsyncIterator[tuple[AsyncConnection, Actor, list[UUID]]]:
        actor.require(*STAFF)
        ids = [await self._database.user_id(user) for user in users]
        async with self._database.system_for(actor, dry_run=dry_run) as (connection, actor):
            yield connection, actor, ids

    async def links(self, actor: Actor, user_id: AnyUser) -> Items[PlatformLinkDetail]:
        """Return the platform links of a user."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            current_id = await users.hold_current(connection, actor.require_user())
            await _note_look(connection, actor, current_id)
            rows = await users.links_of(connection, [current_id])
        links = [PlatformLinkDetail.model_validate(row, from_attributes=True) for row in rows]
        return Items(items=links)

    async def link(self, actor: Actor, user_id: AnyUser, link: PlatformLink) -> LinkResult:
        """Link a platform id to a user.

        If another user has it, that user is merged into this one in the same transaction, and the
        result has the id to undo the merge.
        """
        validate(NewLink, **link.model_dump())
        async with self._for_staff(actor, user_id) as (connection, actor, [user_id]):
            row = await users.get(connection, user_id)
            try:
                owner = await users.add_link(
                    connection, row.id, link.platform, link.platform_user_id
                )
            except IntegrityError as error:
                raise NotFound("the user was erased at the same moment", field="user_id") from error
            result = None
            if owner == row.id:
                await audit.note(connection, actor, "user.link", [link.platform], owner_id=row.id)
            else:
                result = await _merge(connection, actor, row.id, owner)
            user = await with_links(connection, row)
            return LinkResult(**user.model_dump(), merge=result)

    async def unlink(self, actor: Actor, user_id: AnyUser, link: PlatformLink) -> None:
        """Remove a platform link. The next message from this platform id creates a new user.

        All memories stay with the user.
        """
        async with self._for_staff(actor, user_id) as (connection, actor, [user_id]):
            current_id = await users.hold_current(connection, user_id)
            if not await users.remove_link(connection, current_id, **link.model_dump()):
                raise NotFound("the user has no such link", field="platform_user_id")
            await audit.note(connection, actor, "user.unlink", [link.platform], owner_id=current_id)

    async def merge(self, actor: Actor, user_id: AnyUser, other_id: AnyUser) -> Merge:
        """Merge ``other_id`` into ``user_id``: both are one person.

        Moves memories with versions and mentions, conversations, spaces and links. Where both have
        a preference for an agent, the survivor's counts. From now on, the other id is an id of the
        survivor. Raises ``InvalidInput`` if both are the same user already.
        """
        async with self._for_staff(actor, user_id, other_id) as (connection, actor, ids):
            return await _merge(connection, actor, *ids)

    async def preview_merge(self, actor: Actor, user_id: AnyUser, other_id: AnyUser) -> MergeCounts:
        """Count what :meth:`merge` would move: merge, and roll back."""
        context = self._for_staff(actor, user_id, other_id, dry_run=True)
        async with context as (connection, actor, ids):
            return (await _merge(connection, actor, *ids)).counts

    async def undo_merge(self, actor: Actor, user_id: AnyUser, undo_id: UUID) -> Merge:
        """Separate two merged users; later data stays with ``user_id``.

        Raises ``NotFound`` for another user's merge, and ``Conflict`` for a merge that was undone
        before or that a later one must be undone for.
        """
        async with self._for_staff(actor, user_id) as (connection, actor, [user_id]):
            current_ids = await users.lock(connection, [user_id])
            if user_id not in current_ids:
                raise NotFound("no such user", field="user_id")
            survivor = current_ids[user_id]
            record = await merge.undo_merge(connection, survivor, undo_id)
            by_owner = {owner_id: [str(undo_id)] for owner_id in (survivor, UUID(record["merged"]))}
            await audit.note_each(connection, actor, "user.unmerge", by_owner)
            [result] = await _merges(connection, survivor, undo_id)
            return result

    async def merges(self, actor: Actor, user_id: AnyUser) -> Items[Merge]:
        """Return the merges into a user, the latest first."""
        async with self._for_staff(actor, user_id) as (connection, actor, [user_id]):
            current_id = await users.hold_current(connection, user_id)
            await _note_look(connection, actor, current_id)
            return Items(items=await _merges(connection, current_id))


async def _merge(connection: AsyncConnection, actor: Actor, user_id: UUID, other_id: UUID) -> Merge:
    current_ids = await users.lock(connection, [user_id, other_id])
    for given_id, field in ((user_id, "user_id in the path"), (other_id, "user_id")):
        if given_id not in current_ids:
            raise NotFound("no such user", field=field)
    survivor, merged = current_ids[user_id], current_ids[other_id]
    if survivor == merged:
        raise InvalidInput("must be another user; these two are merged already", field="user_id")
    undo_id = await merge.merge(connection, survivor, merged)
    both = [str(survivor), str(merged)]
    await audit.note_each(connection, actor, merge.ACTION, {survivor: both, merged: both})
    [result] = await _merges(connection, survivor, undo_id)
    return result


async def _merges(
    connection: AsyncConnection, survivor: UUID, undo_id: UUID | None = None
) -> list[Merge]:
    conditions = [] if undo_id is None else [undo_records.c.id == undo_id]
    return [
        Merge(
            undo_id=row.id,
            survivor_id=survivor,
            merged_id=UUID(row.record["merged"]),
            counts=merge.counts(row.record),
            merged_at=row.created_at,
            undone_at=row.undone_at,
        )
        for row in await undo.list_records(connection, survivor, merge.ACTION, *conditions)
    ]


async def _note_look(connection: AsyncConnection, actor: Actor, user_id: UUID) -> None:
    await audit.note_look(connection, actor, "user.read", {user_id: [str(user_id)]})
