"""Who a user is, across platforms."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, NotFound, PreconditionFailed
from remembrancer.ids import new_uuid
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.text import check_range, id_from_cursor, to_cursor
from remembrancer.users import repository
from remembrancer.users.schemas import (
    KnownUser,
    KnownUsers,
    PlatformLink,
    ResolveUser,
    User,
    UserUpdate,
)

STAFF = (Role.ADMIN, Role.SERVICE)
FARTHEST_OFFSET = 1_000_000_000


class Users:
    """Resolve, read and change users. Who is who is said in ``identity``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, actor: Actor, who: ResolveUser) -> User:
        """Return the user behind a platform id, creating one at first sight.

        The name, and the time zone if given, become the last known ones. Any number of
        concurrent calls for one new platform id create one user.
        """
        actor.require(*STAFF)
        async with self._database.system() as connection:
            row = await self._known(connection, who)
            if row is None:
                await repository.create_if_new(connection, new_uuid(), **who.model_dump())
                row = await self._known(connection, who)
            if row is None:  # pragma: no cover - a link always has its user
                raise Conflict("the platform id was unlinked at the same moment; try again")
            changed = await repository.refresh(connection, row.id, who.display_name, who.time_zone)
            return await with_links(connection, changed or row)

    @staticmethod
    async def _known(connection: AsyncConnection, who: ResolveUser) -> Row[Any] | None:
        return await repository.find_by_platform(connection, who.platform, who.platform_user_id)

    async def get(self, actor: Actor, user_id: UUID) -> User:
        """Return one user; ``NotFound`` if there is none, or it is somebody else."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _found(connection, actor.require_user())
            await _look(connection, actor, [row.id])
            return await with_links(connection, row)

    async def find(self, actor: Actor, platform: str, platform_user_id: str) -> User:
        """Return the user behind a platform id, or raise ``NotFound``."""
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find_by_platform(connection, platform, platform_user_id)
            if row is None:
                raise NotFound("nobody is known by this platform id", field="platform_user_id")
            await _look(connection, actor, [row.id])
            return await with_links(connection, row)

    async def named(self, actor: Actor, name: str, *, limit: int = 50) -> Sequence[User]:
        """Return users of this last-known name, in any case, in the order they came."""
        actor.require(*STAFF)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.named(connection, name, limit)
            await _look(connection, actor, [row.id for row in rows])
            return await _all_with_links(connection, rows)

    async def list(self, actor: Actor, *, limit: int = 50, cursor: str | None = None) -> Page[User]:
        """Return users in the order they were first seen."""
        actor.require(*STAFF)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = id_from_cursor(cursor)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.page(connection, limit, after)
            items = await _all_with_links(connection, rows[:limit])
            await _look(connection, actor, [user.id for user in items])
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].id)) if more else None)

    async def known(
        self,
        actor: Actor,
        agent_id: UUID | None = None,
        *,
        limit: int = 50,
        offset: int = 0,
    ) -> KnownUsers:
        """Return users in the order they were first seen, with how many memories they have.

        With an agent, its own and those for every agent are counted, whatever scope is in
        effect. Raises ``NotFound`` for an unknown agent.
        """
        actor.require(*STAFF)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        check_range(offset, 0, FARTHEST_OFFSET, field="offset")
        # The memories of everybody are counted, for staff; none is shown.
        async with self._database.system() as connection:
            if agent_id is not None and not await repository.has_agent(connection, agent_id):
                raise NotFound("no such agent", field="agent_id")
            rows = await repository.known(connection, agent_id, limit, offset)
            people = {row.id: KnownUser.model_validate(row) for row in rows}
            for link in await repository.links_of(connection, list(people)):
                people[link.user_id].platform_links.append(_link(link))
            total = await repository.count(connection)
            await _look(connection, actor, list(people))
        return KnownUsers(users=list(people.values()), total=total)

    async def update(
        self,
        actor: Actor,
        user_id: UUID,
        changes: UserUpdate,
        *,
        if_version: int | None = None,
    ) -> User:
        """Change a user's name or time zone; ``PreconditionFailed`` if it moved on."""
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await _found(connection, actor.require_user(), lock=True)
            if if_version not in {None, row.version}:
                raise PreconditionFailed("the user has changed", current_version=row.version)
            changed = await repository.refresh(
                connection, row.id, changes.display_name, changes.time_zone
            )
            if changed is not None:
                await audit.note(connection, actor, "user.update", [str(row.id)], owner_id=row.id)
            return await with_links(connection, changed or row)


async def _found(connection: AsyncConnection, user_id: UUID, *, lock: bool = False) -> Row[Any]:
    row = await repository.find(connection, user_id, lock=lock)
    if row is None:
        raise NotFound("no such user", field="user_id")
    return row


async def _look(connection: AsyncConnection, actor: Actor, user_ids: Sequence[UUID]) -> None:
    await audit.note_look(connection, actor, "user.read", {one: [str(one)] for one in user_ids})


async def with_links(connection: AsyncConnection, row: Row[Any]) -> User:
    """Return a row of ``users`` as the API shows it."""
    return (await _all_with_links(connection, [row]))[0]


async def _all_with_links(connection: AsyncConnection, rows: Sequence[Row[Any]]) -> list[User]:
    people = {row.id: User.model_validate(row) for row in rows}
    for link in await repository.links_of(connection, list(people)):
        people[link.user_id].platform_links.append(_link(link))
    return list(people.values())


def _link(row: Row[Any]) -> PlatformLink:
    return PlatformLink(platform=row.platform, platform_user_id=row.platform_user_id)
