"""Create, list, limit, suspend and drop workspaces. For admins of the host."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar
from uuid import UUID, uuid4

from sqlalchemy.exc import DBAPIError

from remembrancer.access import Actor
from remembrancer.db.engine import Database
from remembrancer.db.migrate import newest
from remembrancer.errors import Conflict
from remembrancer.ids import new_uuid
from remembrancer.keys.schemas import NewKey
from remembrancer.paging import LARGEST_PAGE, Page, PageMethod
from remembrancer.settings import MAIN
from remembrancer.statistics import Counts
from remembrancer.text import check_range
from remembrancer.validation import validate
from remembrancer.workspaces import repository
from remembrancer.workspaces.databases import (
    create_database,
    database_name,
    drop_database,
    in_thread,
    reach,
    size,
)
from remembrancer.workspaces.holds import IN_USE, Holds, Recovery, WorkspaceHeld
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import (
    DropReceipt,
    NewWorkspace,
    Workspace,
    WorkspaceCreate,
    WorkspaceLimits,
    WorkspaceState,
)

log = logging.getLogger(__name__)

Store = TypeVar("Store")
_ON_ITS_WAY: Final = "is on its way to another server; confirm or undo its move first"


class Workspaces(Generic[Store]):
    """Workspaces of this host."""

    def __init__(
        self,
        holds: Holds[Store],
        first_key: Callable[[Store], Awaitable[NewKey]],
        counts: Callable[[Database], Awaitable[Counts]],
    ) -> None:
        self._holds = holds
        self._first_key = first_key
        self._counts = counts
        self._recovery = Recovery("creation or drop")

    async def create(
        self,
        actor: Actor,
        name: str,
        *,
        server: str = MAIN,
        limits: WorkspaceLimits | None = None,
    ) -> NewWorkspace:
        """Create a workspace with an admin key; only this answer has its secret.

        ``server`` is one of the setting ``workspaces.servers``. If it fails, there is no workspace
        afterwards. Raises ``Conflict`` for a name that exists, and ``InvalidInput`` for an unknown
        server.
        """
        self._holds.require(actor)
        workspace = validate(
            WorkspaceCreate, name=name, server=server, limits=limits or WorkspaceLimits()
        )
        host, holder, id_ = self._holds.host, uuid4(), new_uuid()
        place = host.servers[workspace.server]
        await in_thread(reach, place)  # before the name is taken
        row = WorkspaceRow(
            id=id_,
            name=workspace.name,
            server=workspace.server,
            database=database_name(workspace.name, id_),
            state=WorkspaceState.CREATING,
            revision=newest(),
            limits={},
            created_at=datetime.now(UTC),
            used_at=None,
        )
        async with self._holds.database.system() as connection:
            added = await repository.add(connection, row, workspace.limits, holder)
        if added is None:
            raise Conflict("is the name of a workspace already; choose another", field="name")
        async with self._holds.renewed(row.name, holder):
            try:
                await in_thread(create_database, place, row.database)
                async with host.use(row.name, states=(WorkspaceState.CREATING,)) as store:
                    key = await self._first_key(store)
                created = await self._holds.change(
                    actor, "create", row.name, holder, WorkspaceState.ACTIVE
                )
            except BaseException:
                await asyncio.shield(self._remove(row, holder))
                raise
            finally:
                host.forget(row.name)
        return NewWorkspace(**created.model_dump(), secret=key.secret)

    @PageMethod
    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Workspace]:
        """Return workspaces by name, all but the default one."""
        self._holds.require(actor)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._holds.database.system() as connection:
            return await repository.page(connection, limit, cursor)

    async def get(self, actor: Actor, workspace: str) -> Workspace:
        """Return a workspace; raise ``NotFound`` for an unknown one."""
        self._holds.require(actor, workspace)
        return (await self._holds.host.find(workspace)).shown()

    async def limit(self, actor: Actor, workspace: str, limits: WorkspaceLimits) -> Workspace:
        """Set the limits of a workspace. All servers know them within a second."""
        self._holds.require(actor, workspace)
        return await self._holds.change(actor, "limit", workspace, limits=limits)

    async def suspend(self, actor: Actor, workspace: str) -> Workspace:
        """Refuse all requests to a workspace until it is resumed: within a second everywhere."""
        return await self._set(actor, "suspend", workspace, WorkspaceState.SUSPENDED)

    async def resume(self, actor: Actor, workspace: str) -> Workspace:
        """Let a workspace be used again that was suspended."""
        return await self._set(actor, "resume", workspace, WorkspaceState.ACTIVE)

    async def drop(self, actor: Actor, workspace: str, *, dry_run: bool = True) -> DropReceipt:
        """Drop a suspended workspace with all that is in it, for good, or say what that is.

        A dry run, the default, drops nothing. Raises ``Conflict`` for one that is not suspended,
        except for a creation that did not end.
        """
        self._holds.require(actor, workspace)
        states = (WorkspaceState.SUSPENDED, WorkspaceState.DROPPING, WorkspaceState.CREATING)
        if dry_run:
            row = await self._holds.host.find(workspace)
            return await self._receipt(row, dry_run=True)
        async with self._holds.held(workspace, *states) as (row, holder):
            if row.move is not None:
                raise Conflict(_ON_ITS_WAY, field="workspace")
            receipt = await self._receipt(row, dry_run=False)
            await self._holds.change(actor, "drop", workspace, holder, WorkspaceState.DROPPING)
            await self._remove(row, holder)
        return receipt

    async def recover(self) -> int:
        """Finish drops, and undo creations, that died amid their work; return how many."""
        async with self._holds.database.system() as connection:
            names = await repository.abandoned(connection)
        return await self._recovery.run(names, self._end)

    async def _end(self, name: str) -> bool:
        holder = uuid4()
        async with self._holds.database.system() as connection:
            row = await repository.hold(connection, name, holder)
        if row is None:
            return False
        async with self._holds.renewed(name, holder):
            if row.state not in {WorkspaceState.CREATING, WorkspaceState.DROPPING}:
                return False
            await self._remove(row, holder)
        return True

    async def _set(
        self, actor: Actor, action: str, workspace: str, state: WorkspaceState
    ) -> Workspace:
        self._holds.require(actor, workspace)
        try:
            async with self._holds.held(workspace, *IN_USE) as (_, holder):
                return await self._holds.change(actor, action, workspace, holder, state)
        except WorkspaceHeld:
            way = (await self._holds.host.find(workspace)).way
            if way is None or not way.waits:
                raise
            return await self._holds.change(actor, action, workspace, state=state)

    async def _receipt(self, row: WorkspaceRow, *, dry_run: bool) -> DropReceipt:
        host = self._holds.host
        bytes_ = await in_thread(size, host.servers[row.server], row.database)
        counts: Counts | None = Counts(users=0, agents=0, memories=0, messages=0)
        if bytes_ and row.state != WorkspaceState.CREATING:  # nobody has used that one
            # Not its store, which may be none that opens: of another model or schema.
            server = host.servers[row.server]
            database = Database(server.service_url(row.database), pool_size=1)
            try:
                counts = await self._counts(database)
            except DBAPIError as error:
                # Also what is broken can be dropped.
                log.warning(
                    "the rows of %s cannot be counted (%s)", row.name, type(error.orig).__name__
                )
                counts = None
            finally:
                await database.close()
        return DropReceipt(
            id=row.id,
            name=row.name,
            server=row.server,
            dry_run=dry_run,
            at=datetime.now(UTC),
            bytes=bytes_,
            **({} if counts is None else counts.model_dump()),
        )

    async def _remove(self, row: WorkspaceRow, holder: UUID) -> None:
        host = self._holds.host
        host.forget(row.name)
        await in_thread(drop_database, host.servers[row.server], row.database)
        async with self._holds.database.system() as connection:
            await repository.remove(connection, row.name, holder)
