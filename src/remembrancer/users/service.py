"""Users across platforms."""

from collections.abc import Iterable, Sequence
from typing import Final, Unpack
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import STAFF, Actor
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, NotFound, PreconditionFailed
from remembrancer.ids import new_uuid
from remembrancer.paging import LARGEST_PAGE, Page, PageMethod
from remembrancer.text import check_range
from remembrancer.user_names import AnyUser
from remembrancer.users import repository
from remembrancer.users.rows import UserRow
from remembrancer.users.schemas import (
    PlatformLink,
    ResolveDetails,
    ResolveUser,
    User,
    UserOverview,
    UserOverviewPage,
    UserUpdate,
)
from remembrancer.validation import model_of

LARGEST_OFFSET: Final = 1_000_000_000


@retries_deadlocks
class Users:
    """Resolve, read and change users."""

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def resolve(
        self, actor: Actor, request: ResolveUser | None = None, **fields: Unpack[ResolveDetails]
    ) -> User:
        """Return the user of a platform id; create one at the first request.

        ``request``, or its ``fields`` by keyword. Sets the name, and the time zone if given.
        Concurrent calls for one new platform id create one user.
        """
        actor.require(*STAFF)
        request = model_of(ResolveUser, request, fields)
        key = request.platform, request.platform_user_id
        async with self._database.system() as connection:
            row = await repository.find_by_platform(connection, *key)
            if row is None:
                await repository.create_if_new(connection, new_uuid(), **request.model_dump())
                row = await repository.find_by_platform(connection, *key)
            if row is None:  # pragma: no cover - a link always has its user
                raise Conflict("the platform id was unlinked at the same moment; try again")
            changed = await repository.refresh(
                connection, row.id, request.display_name, request.time_zone
            )
            return await with_links(connection, changed or row)

    async def get(self, actor: Actor, user_id: AnyUser) -> User:
        """Return a user. Users see only themselves: others raise ``NotFound``."""
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            row = await repository.get(connection, actor.require_user())
            await _note_look(connection, actor, [row])
            return await with_links(connection, row)

    async def find(self, actor: Actor, platform: str, platform_user_id: str) -> User:
        """Return the user of a platform id, or raise ``NotFound``."""
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find_by_platform(connection, platform, platform_user_id)
            if row is None:
                raise NotFound("no user has this platform id", field="platform_user_id")
            await _note_look(connection, actor, [row])
            return await with_links(connection, row)

    async def find_by_name(self, actor: Actor, name: str, *, limit: int = 50) -> Sequence[User]:
        """Return users with a name, in upper or lower case, in the order of their creation."""
        actor.require(*STAFF)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.named(connection, name, limit)
            await _note_look(connection, actor, rows)
            return await _all_with_links(connection, rows)

    @PageMethod
    async def list(self, actor: Actor, *, limit: int = 50, cursor: str | None = None) -> Page[User]:
        """Return users in the order of their creation."""
        actor.require(*STAFF)
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.page(connection, limit, cursor)
            await _note_look(connection, actor, rows.items)
            users = await _all_with_links(connection, rows.items)
        return Page(items=users, next_cursor=rows.next_cursor)

    async def overview(
        self, actor: Actor, agent_id: UUID | None = None, *, limit: int = 50, offset: int = 0
    ) -> UserOverviewPage:
        """Return users in the order of their creation, with the number of their memories.

        With an agent, those count that it reads in the scope in effect. ``limit`` is from 1 to
        200. Raises ``NotFound`` for an unknown agent.
        """
        actor.require(*STAFF)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        check_range(offset, 0, LARGEST_OFFSET, field="offset")
        # This counts memories of all owners for staff; it shows none.
        async with self._database.system() as connection:
            if agent_id is not None and not await repository.has_agent(connection, agent_id):
                raise NotFound("no such agent", field="agent_id")
            users = await repository.with_memory_counts(connection, agent_id, limit, offset)
            await _add_links(connection, users)
            total = await repository.count(connection)
            await _note_look(connection, actor, users)
        return UserOverviewPage(items=users, total=total)

    async def update(
        self, actor: Actor, user_id: AnyUser, changes: UserUpdate, *, if_version: int | None = None
    ) -> User:
        """Change a user's name or time zone, or pause remembering of them.

        While it is paused, messages of theirs can be read with their conversation, but are never
        recalled or summarised, not even later, and storing a memory raises ``Conflict``. Raises
        ``PreconditionFailed`` if ``if_version`` is not the current version.
        """
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            row = await repository.get(connection, actor.require_user(), lock=True)
            if if_version not in {None, row.version}:
                raise PreconditionFailed("the user has changed", current_version=row.version)
            changed = await repository.refresh(
                connection, row.id, changes.display_name, changes.time_zone
            )
            if changes.paused not in {None, row.paused_at is not None}:
                changed = await repository.set_paused(
                    connection, row.id, paused=bool(changes.paused)
                )
            if changed is not None:
                await audit.note(connection, actor, "user.update", [str(row.id)], owner_id=row.id)
            return await with_links(connection, changed or row)


async def _note_look(
    connection: AsyncConnection, actor: Actor, users: Iterable[UserRow | UserOverview]
) -> None:
    by_owner = {user.id: [str(user.id)] for user in users}
    await audit.note_look(connection, actor, "user.read", by_owner)


async def with_links(connection: AsyncConnection, row: UserRow) -> User:
    return (await _all_with_links(connection, [row]))[0]


async def _all_with_links(connection: AsyncConnection, rows: Sequence[UserRow]) -> list[User]:
    users = [User.model_validate(row) for row in rows]
    await _add_links(connection, users)
    return users


async def _add_links(connection: AsyncConnection, users: Sequence[User | UserOverview]) -> None:
    by_id = {user.id: user for user in users}
    for row in await repository.links_of(connection, list(by_id)):
        link = PlatformLink(platform=row.platform, platform_user_id=row.platform_user_id)
        by_id[row.user_id].platform_links.append(link)
