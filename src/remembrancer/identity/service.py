"""Say who is who: link platform ids to people, merge people who are one, take it back."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.tables import platform_links, undo_records
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.identity import merge, repository
from remembrancer.identity.schemas import LinkResult, Merge, MergeCounts, PlatformLinkDetail
from remembrancer.users import repository as users
from remembrancer.users.schemas import PlatformLink
from remembrancer.users.service import with_links

STAFF = (Role.ADMIN, Role.SERVICE)


class _TakenBackError(Exception):
    """Ends the transaction of a preview."""


class Identity:
    """Who speaks behind which platform id. For admins and services, never for users:
    whoever links somebody else's id to themselves would read what that person said.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def links(self, actor: Actor, user_id: UUID) -> Sequence[PlatformLinkDetail]:
        """Return the platform ids of a user, in a fixed order."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            person = await _found(connection, actor.require_user())
            await audit.note_look(connection, actor, "user.read", {person: [str(person)]})
            return [
                PlatformLinkDetail(
                    platform=row.platform,
                    platform_user_id=row.platform_user_id,
                    created_at=row.created_at,
                )
                for row in await users.links_of(connection, [person])
            ]

    async def link(self, actor: Actor, user_id: UUID, link: PlatformLink) -> LinkResult:
        """Say that a platform id is this user.

        If it is somebody else's, that person and this user are one: they are merged into
        this user in the same transaction, and the answer says how to take it back.
        """
        actor.require(*STAFF)
        async with self._database.system_for(actor) as (connection, actor):
            row = await users.find(connection, user_id)
            if row is None:
                raise NotFound("no such user", field="user_id")
            try:
                owner = await users.add_link(
                    connection, row.id, link.platform, link.platform_user_id
                )
            except IntegrityError as error:
                raise NotFound("the user was erased at the same moment", field="user_id") from error
            done = None
            if owner == row.id:
                await audit.note(connection, actor, "user.link", [link.platform], owner_id=row.id)
            else:
                done = await _merge(connection, actor, row.id, owner)
            person = await with_links(connection, row)
            return LinkResult(**person.model_dump(), merge=done)

    async def unlink(self, actor: Actor, user_id: UUID, link: PlatformLink) -> None:
        """Take a platform id from a user; who speaks from it next is somebody new.

        What was remembered stays with the user.
        """
        actor.require(*STAFF)
        async with self._database.system_for(actor) as (connection, actor):
            asked = await _found(connection, user_id)
            gone = await connection.execute(
                delete(platform_links)
                .filter_by(user_id=asked, **link.model_dump())
                .returning(platform_links.c.user_id)
            )
            if gone.first() is None:
                raise NotFound("the user has no such link", field="platform_user_id")
            await audit.note(connection, actor, "user.unlink", [link.platform], owner_id=asked)

    async def merge(self, actor: Actor, user_id: UUID, other_id: UUID) -> Merge:
        """Merge ``other_id`` into ``user_id``: both are one person.

        Memories with versions and mentions, conversations, spaces and links move; where both
        have a preference for an agent, the survivor's counts. The other id resolves to the
        survivor from now on. Raises ``InvalidInput`` if they are one already.
        """
        actor.require(*STAFF)
        async with self._database.system_for(actor) as (connection, actor):
            return await _merge(connection, actor, user_id, other_id)

    async def preview_merge(self, actor: Actor, user_id: UUID, other_id: UUID) -> MergeCounts:
        """Return what :meth:`merge` would move, which is done and taken back to know it."""
        actor.require(*STAFF)
        counts = None
        try:
            async with self._database.system_for(actor) as (connection, actor):
                counts = (await _merge(connection, actor, user_id, other_id)).counts
                raise _TakenBackError
        except _TakenBackError:
            assert counts is not None
            return counts

    async def undo_merge(self, actor: Actor, user_id: UUID, undo_id: UUID) -> Merge:
        """Make two people of one again, as they were; what came since stays with ``user_id``.

        Raises ``NotFound`` for a merge that this user does not have, ``Conflict`` for one
        that was undone before or has a later one on top of it.
        """
        actor.require(*STAFF)
        async with self._database.system_for(actor) as (connection, actor):
            known = await repository.lock_people(connection, [user_id])
            if user_id not in known:
                raise NotFound("no such user", field="user_id")
            survivor = known[user_id]
            record = await merge.take_back(connection, survivor, undo_id)
            for owner_id in (survivor, UUID(record["merged"])):
                await audit.note(
                    connection, actor, "user.unmerge", [str(undo_id)], owner_id=owner_id
                )
            [done] = await _merges(connection, survivor, undo_id)
            return done

    async def merges(self, actor: Actor, user_id: UUID) -> Sequence[Merge]:
        """Return the merges into a user, the latest first."""
        actor.require(*STAFF)
        async with self._database.system_for(actor) as (connection, actor):
            person = await _found(connection, user_id)
            await audit.note_look(connection, actor, "user.read", {person: [str(person)]})
            return await _merges(connection, person)


async def _merge(connection: AsyncConnection, actor: Actor, user_id: UUID, other: UUID) -> Merge:
    known = await repository.lock_people(connection, [user_id, other])
    for asked, field in ((user_id, "user_id in the path"), (other, "user_id")):
        if asked not in known:
            raise NotFound("no such user", field=field)
    survivor, merged = known[user_id], known[other]
    if survivor == merged:
        raise InvalidInput("is this user already", field="user_id")
    merged_now = await merge.merge(connection, survivor, merged)
    for owner_id in (survivor, merged):
        await audit.note(
            connection, actor, merge.ACTION, [str(survivor), str(merged)], owner_id=owner_id
        )
    [done] = await _merges(connection, survivor, merged_now.undo_id)
    return done


async def _merges(
    connection: AsyncConnection, survivor: UUID, undo_id: UUID | None = None
) -> list[Merge]:
    wanted = (
        select(undo_records)
        .filter_by(owner_id=survivor, action=merge.ACTION)
        .order_by(undo_records.c.id.desc())
    )
    if undo_id is not None:
        wanted = wanted.filter_by(id=undo_id)
    return [
        Merge(
            undo_id=row.id,
            survivor_id=survivor,
            merged_id=UUID(row.record["merged"]),
            counts=merge.counts(row.record),
            merged_at=row.created_at,
            undone_at=row.undone_at,
        )
        for row in await connection.execute(wanted)
    ]


async def _found(connection: AsyncConnection, user_id: UUID) -> UUID:
    """Return who a user is now, held until the transaction ends."""
    now = (await users.hold(connection, [user_id])).get(user_id)
    if now is None:
        raise NotFound("no such user", field="user_id")
    return now
