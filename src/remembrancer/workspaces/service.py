"""Create, list, limit, suspend and drop workspaces. For admins of the host."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from multiprocessing import get_context
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.migrate import newest
from remembrancer.errors import (
    ConfigurationError,
    Conflict,
    Forbidden,
    NotFound,
    RemembrancerError,
    Unavailable,
)
from remembrancer.ids import DEFAULT_WORKSPACE, SHARED_OWNER, new_uuid
from remembrancer.keys.schemas import NewKey
from remembrancer.paging import Page, PageMethod
from remembrancer.periodic import Periodic
from remembrancer.settings import MAIN
from remembrancer.statistics import Counts
from remembrancer.text import check_range
from remembrancer.validation import validate
from remembrancer.workspaces import repository
from remembrancer.workspaces.databases import create_database, drop_database, size
from remembrancer.workspaces.host import Host
from remembrancer.workspaces.relocation import Relocation
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import (
    DropReceipt,
    MigrationReport,
    MigrationResult,
    MoveCreate,
    MoveState,
    NewWorkspace,
    Workspace,
    WorkspaceCreate,
    WorkspaceLimits,
    WorkspaceMove,
    WorkspaceState,
)

log = logging.getLogger(__name__)

Store = TypeVar("Store")
RENEW_SECONDS: Final = 5.0
"""Seconds after which whoever changes a workspace says that it still does."""
LOOK_SECONDS: Final = 0.2
"""Seconds between two looks at a move."""
MOST_AT_ONCE: Final = 64
"""Maximum of workspaces that are migrated side by side."""
_ON_ITS_WAY: Final = "is on its way to another server; confirm or undo its move first"
_IN_USE: Final = (WorkspaceState.ACTIVE, WorkspaceState.SUSPENDED)


class _Held(Conflict):
    """Somebody else changes the workspace now."""


class Workspaces:
    """Workspaces of this host. Only a key of the default workspace manages them."""

    def __init__(
        self,
        database: Database,
        host: Callable[[], Host[Store]],
        first_key: Callable[[Store], Awaitable[NewKey]],
        counts: Callable[[Store], Awaitable[Counts]],
        *,
        is_host: bool,
    ) -> None:
        self._database = database
        self._host = host
        self._first_key = first_key
        self._counts = counts
        self._is_host = is_host
        self._moves: dict[str, asyncio.Task[None]] = {}
        self._beginning = asyncio.Lock()
        # Moves that cannot go on, of which the log knows already.
        self._stuck: set[str] = set()

    async def close(self) -> None:
        """Stop the moves of this process; they can go on later, and elsewhere."""
        for task in self._moves.values():
            task.cancel()
        await asyncio.gather(*self._moves.values(), return_exceptions=True)

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
        self._require(actor)
        workspace = validate(
            WorkspaceCreate, name=name, server=server, limits=limits or WorkspaceLimits()
        )
        host, holder, id_ = self._host(), uuid4(), new_uuid()
        place = host.servers[workspace.server]
        row = WorkspaceRow(
            id=id_,
            name=workspace.name,
            server=workspace.server,
            database=_database_name(workspace.name, id_),
            state=WorkspaceState.CREATING,
            revision=newest(),
            limits={},
            created_at=datetime.now(UTC),
            used_at=None,
        )
        async with self._database.system() as connection:
            added = await repository.add(connection, row, workspace.limits, holder)
        if added is None:
            raise Conflict("is the name of a workspace already; choose another", field="name")
        async with self._renewed(row.name, holder):
            try:
                await asyncio.to_thread(create_database, place, row.database)
                async with host.use(row.name, states=(WorkspaceState.CREATING,)) as store:
                    key = await self._first_key(store)
                created = await self._change(
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
        self._require(actor)
        async with self._database.system() as connection:
            return await repository.page(connection, limit, cursor)

    async def get(self, actor: Actor, workspace: str) -> Workspace:
        """Return a workspace; raise ``NotFound`` for an unknown one."""
        self._require(actor, workspace)
        return (await self._host().find(workspace)).shown()

    async def update(self, actor: Actor, workspace: str, limits: WorkspaceLimits) -> Workspace:
        """Set the limits of a workspace. All servers know them within a second."""
        self._require(actor, workspace)
        return await self._change(actor, "update", workspace, limits=limits)

    async def suspend(self, actor: Actor, workspace: str) -> Workspace:
        """Refuse all requests to a workspace until it is resumed: within a second everywhere."""
        self._require(actor, workspace)
        async with self._held(workspace, *_IN_USE) as (_, holder):
            return await self._change(actor, "suspend", workspace, holder, WorkspaceState.SUSPENDED)

    async def resume(self, actor: Actor, workspace: str) -> Workspace:
        """Let a workspace be used again that was suspended."""
        self._require(actor, workspace)
        async with self._held(workspace, *_IN_USE) as (_, holder):
            return await self._change(actor, "resume", workspace, holder, WorkspaceState.ACTIVE)

    async def drop(self, actor: Actor, workspace: str, *, dry_run: bool = True) -> DropReceipt:
        """Drop a suspended workspace with all that is in it, for good, or say what that is.

        A dry run, the default, drops nothing. Raises ``Conflict`` for one that is not suspended.
        """
        self._require(actor, workspace)
        states = (WorkspaceState.SUSPENDED, WorkspaceState.DROPPING)
        if dry_run:
            row = await self._host().find(workspace)
            return await self._receipt(row, dry_run=True)
        async with self._held(workspace, *states) as (row, holder):
            if row.move is not None:
                raise Conflict(_ON_ITS_WAY, field="workspace")
            receipt = await self._receipt(row, dry_run=False)
            await self._change(actor, "drop", workspace, holder, WorkspaceState.DROPPING)
            await self._remove(row, holder)
        return receipt

    async def move(
        self,
        actor: Actor,
        workspace: str,
        server: str,
        *,
        wait_seconds: float = 20.0,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Workspace:
        """Move a workspace to another server while it is used, or go on with that.

        Its rows are copied, each is compared, and then writes wait, for about a second, until the
        new server has them all; reads go on. Afterwards the old server follows the new one, until
        :meth:`confirm_move` or :meth:`undo_move`. Returns when it is moved, or after
        ``wait_seconds``, 20 at most: repeat the call until ``move.state`` is ``moved``.
        ``on_progress`` gets how many bytes are copied, and of about how many.

        Raises ``InvalidInput`` for an unknown server, and ``Conflict`` if it is there already, on
        its way elsewhere, or if the servers cannot copy; what was reached then stays.
        """
        self._require(actor, workspace)
        validate(MoveCreate, server=server, wait_seconds=wait_seconds)
        host = self._host()
        host.servers[server]
        async with self._beginning:
            if workspace not in self._moves:
                await self._begin_move(actor, workspace, server)
        end_at = time.monotonic() + wait_seconds
        while True:
            row = await host.find(workspace)
            task = self._moves.get(workspace)
            if task is not None and task.done():
                del self._moves[workspace]
                with suppress(_Held):  # another process is at it
                    await task
            if row.way is not None and on_progress is not None:
                on_progress(row.way.done_bytes, row.way.total_bytes)
            is_over = row.way is None or row.way.state == MoveState.MOVED
            if (is_over and task is None) or time.monotonic() >= end_at:
                return row.shown()
            await asyncio.sleep(LOOK_SECONDS)

    async def confirm_move(self, actor: Actor, workspace: str) -> Workspace:
        """Drop what a workspace left on its old server: its move cannot be undone any more.

        Raises ``Conflict`` if it is not moved.
        """
        return await self._end_move(actor, workspace, "confirm_move", Relocation.confirm)

    async def undo_move(self, actor: Actor, workspace: str) -> Workspace:
        """Bring a workspace back to its old server with all that was written since, or stop a copy.

        Raises ``Conflict`` if it is not on its way.
        """
        return await self._end_move(actor, workspace, "undo_move", Relocation.undo, takes_copy=True)

    async def _begin_move(self, actor: Actor, workspace: str, server: str) -> None:
        """Note that a workspace moves, and begin, unless somebody else is at it."""
        try:
            async with self._held(workspace, *_IN_USE) as (row, holder):
                if row.way is None:
                    move = self._new_move(row, server)
                    async with self._database.system() as connection:
                        await repository.relocate(connection, workspace, holder, move)
                        await _note(connection, actor, "move", row)
                elif row.way.to_server != server:
                    reason = f"is on its way to {row.way.to_server}; undo that move first"
                    raise Conflict(reason, field="workspace")
        except _Held:
            way = (await self._host().find(workspace)).way
            if way is None or way.to_server != server:
                raise
        else:
            task = asyncio.create_task(self._run_move(workspace), name="move of a workspace")
            self._moves[workspace] = task

    def _new_move(self, row: WorkspaceRow, server: str) -> WorkspaceMove:
        if row.server == server:
            raise Conflict("is where the workspace is already", field="server")
        if row.revision != newest():
            reason = "has an older schema; run `remembrancer workspaces migrate` first"
            raise Conflict(reason, field="workspace")
        return WorkspaceMove(
            from_server=row.server,
            from_database=row.database,
            to_server=server,
            to_database=_database_name(row.name, new_uuid()),
            started_at=datetime.now(UTC),
        )

    async def _run_move(self, workspace: str) -> None:
        try:
            async with self._held(workspace, *_IN_USE) as (row, holder):
                if row.move is not None:
                    await Relocation(self._database, self._host(), row, holder).run()
        except Exception as error:  # its text may quote data
            log.warning("the move of a workspace stopped (%s)", type(error).__name__)
            raise
        finally:
            self._host().forget(workspace)

    async def _end_move(
        self,
        actor: Actor,
        workspace: str,
        action: str,
        end: "Callable[[Relocation[Any]], Awaitable[None]]",
        *,
        takes_copy: bool = False,
    ) -> Workspace:
        self._require(actor, workspace)
        async with self._held(workspace, *_IN_USE, takes_copy=takes_copy) as (row, holder):
            if row.move is None:
                raise Conflict("is not on its way to another server", field="workspace")
            if (task := self._moves.pop(workspace, None)) is not None:
                task.cancel()
                await asyncio.wait([task])
            await end(Relocation(self._database, self._host(), row, holder))
            async with self._database.system() as connection:
                await _note(connection, actor, action, row)
        self._host().forget(workspace)
        return (await self._host().find(workspace)).shown()

    async def migrate(
        self,
        actor: Actor,
        *,
        canary: str | None = None,
        at_once: int = 4,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> MigrationReport:
        """Bring all workspaces to the current schema: first one, then the others side by side.

        If the first one fails, ``canary`` or the first by name, the others are left as they are.
        What fails later is reported, and stops no other. A repeated call goes on where this one
        ended. ``on_progress`` gets how many are done, and of how many. Each of the ``at_once`` is a
        process.
        """
        self._require(actor, canary)
        check_range(at_once, 1, MOST_AT_ONCE, field="at_once")
        host = self._host()
        if canary is not None:
            await host.find(canary)
        async with self._database.system() as connection:
            rows = await repository.to_migrate(connection, newest())
            await audit.note(
                connection, actor, "workspace.migrate", [newest()], owner_id=SHARED_OWNER
            )
        rows.sort(key=lambda row: row.name != canary)
        results: list[MigrationResult] = []
        free = asyncio.Semaphore(at_once)

        async def bring(row: WorkspaceRow, executor: Executor | None = None) -> None:
            reason = None
            async with free:
                try:
                    await host.migrate(row, executor)
                    host.forget(row.name)
                except (ConfigurationError, Unavailable) as error:
                    reason = str(error)
                except Exception as error:  # its text may quote data
                    reason = type(error).__name__
            results.append(MigrationResult(name=row.name, reason=reason))
            if on_progress is not None:
                on_progress(len(results), len(rows))

        for first in rows[:1]:
            await bring(first)
        if rows and results[0].reason is None:
            processes = min(at_once, len(rows) - 1) or 1
            with ProcessPoolExecutor(processes, get_context("spawn")) as executor:
                await asyncio.gather(*(bring(row, executor) for row in rows[1:]))
        results.sort(key=lambda result: result.name)
        complete = len(results) == len(rows) and all(each.reason is None for each in results)
        return MigrationReport(items=results, revision=newest(), is_complete=complete)

    async def recover(self) -> int:
        """Finish drops, and undo creations, that died amid their work; return how many."""
        async with self._database.system() as connection:
            names = await repository.abandoned(connection)
        done = 0
        for name in names:
            holder = uuid4()
            async with self._database.system() as connection:
                row = await repository.hold(connection, name, holder)
            if row is not None and row.state in {
                WorkspaceState.CREATING,
                WorkspaceState.DROPPING,
            }:
                async with self._renewed(name, holder):
                    await self._remove(row, holder)
                done += 1
        return done + await self._recover_moves()

    async def _recover_moves(self) -> int:
        """Go on with steps of moves that died amid them."""
        async with self._database.system() as connection:
            names = await repository.halted(connection)
        done = 0
        for name in names:
            try:
                async with self._held(name, *_IN_USE) as (row, holder):
                    if row.move is not None:
                        await Relocation(self._database, self._host(), row, holder).go_on()
            except (Conflict, Unavailable) as error:
                if name not in self._stuck:
                    log.warning("the move of a workspace waits for help (%s)", type(error).__name__)
                self._stuck.add(name)
            else:
                self._stuck.discard(name)
                done += 1
        return done

    def _require(self, actor: Actor, workspace: str | None = None) -> None:
        actor.require(Role.ADMIN)
        if workspace is not None and not workspace.isprintable():
            raise NotFound("no such workspace", field="workspace")
        if not self._is_host:
            raise Forbidden("workspaces are managed with an admin key of the workspace default")

    async def _receipt(self, row: WorkspaceRow, *, dry_run: bool) -> DropReceipt:
        host = self._host()
        bytes_ = await asyncio.to_thread(size, host.servers[row.server], row.database)
        counts = Counts(users=0, agents=0, memories=0, messages=0)
        if bytes_:
            async with host.use(row.name, states=tuple(WorkspaceState)) as store:
                counts = await self._counts(store)
            host.forget(row.name)
        return DropReceipt(
            id=row.id,
            name=row.name,
            server=row.server,
            dry_run=dry_run,
            at=datetime.now(UTC),
            bytes=bytes_,
            **counts.model_dump(),
        )

    async def _remove(self, row: WorkspaceRow, holder: UUID) -> None:
        host = self._host()
        host.forget(row.name)
        await asyncio.to_thread(drop_database, host.servers[row.server], row.database)
        async with self._database.system() as connection:
            await repository.remove(connection, row.name, holder)

    async def _change(
        self,
        actor: Actor,
        action: str,
        name: str,
        holder: UUID | None = None,
        state: WorkspaceState | None = None,
        limits: WorkspaceLimits | None = None,
    ) -> Workspace:
        async with self._database.system() as connection:
            row = await repository.change(
                connection, name, holder=holder, state=state, limits=limits
            )
            if row is not None:
                await _note(connection, actor, action, row)
        if row is None:
            raise await self._refusal(name)
        self._host().forget(name)
        return row.shown()

    async def _refusal(self, name: str) -> RemembrancerError:
        """Return why a workspace cannot be changed."""
        try:
            await self._host().find(name)
        except NotFound as unknown:
            return unknown
        return _Held("is being changed by somebody else; try again", field="workspace")

    @asynccontextmanager
    async def _held(
        self, name: str, *states: WorkspaceState, takes_copy: bool = False
    ) -> AsyncIterator[tuple[WorkspaceRow, UUID]]:
        """Hold a workspace in one of the states, so that nobody else changes it."""
        if name == DEFAULT_WORKSPACE:
            raise Conflict("is the host itself", field="workspace")
        holder = uuid4()
        async with self._database.system() as connection:
            row = await repository.hold(connection, name, holder, takes_copy=takes_copy)
        if row is None:
            raise await self._refusal(name)
        async with self._renewed(name, holder):
            if row.state not in states:
                advice = "; suspend it first" if row.state == WorkspaceState.ACTIVE else ""
                raise Conflict(f"is {row.state}{advice}", field="workspace")
            yield row, holder

    @asynccontextmanager
    async def _renewed(self, name: str, holder: UUID) -> AsyncIterator[None]:
        async def hold() -> None:
            async with self._database.system() as connection:
                await repository.hold(connection, name, holder)

        renewing = Periodic(hold, every=RENEW_SECONDS, what="hold of a workspace")
        renewing.start()
        try:
            yield
        finally:
            await renewing.stop()
            async with self._database.system() as connection:
                await repository.release(connection, name, holder)


def _database_name(workspace: str, id_: UUID) -> str:
    return f"remembrancer_{workspace.replace('-', '_')}_{id_.hex[-8:]}"


async def _note(connection: AsyncConnection, actor: Actor, action: str, row: WorkspaceRow) -> None:
    await audit.note(connection, actor, f"workspace.{action}", [str(row.id)], owner_id=SHARED_OWNER)
