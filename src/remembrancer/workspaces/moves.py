"""Move workspaces to other servers while they are used. For admins of the host."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.db.migrate import newest
from remembrancer.errors import Conflict
from remembrancer.ids import new_uuid
from remembrancer.validation import validate
from remembrancer.workspaces import repository
from remembrancer.workspaces.databases import database_name
from remembrancer.workspaces.holds import IN_USE, Holds, Recovery, WorkspaceHeld, note
from remembrancer.workspaces.relocation import NOT_MOVED, Relocation
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import MoveCreate, MoveState, Workspace, WorkspaceMove

log = logging.getLogger(__name__)

Store = TypeVar("Store")
LOOK_SECONDS: Final = 0.2
"""Seconds between two looks at a move."""


class WorkspaceMoves(Generic[Store]):
    """Moves of workspaces. Those of this process run beside its requests."""

    def __init__(self, holds: Holds[Store]) -> None:
        self._holds = holds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._beginning = asyncio.Lock()
        self._recovery = Recovery("move")

    async def close(self) -> None:
        """Stop the moves of this process; they can go on later, and elsewhere."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

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
        self._holds.require(actor, workspace)
        validate(MoveCreate, server=server, wait_seconds=wait_seconds)
        host = self._holds.host
        host.servers[server]
        async with self._beginning:
            task = self._tasks.get(workspace)
            if task is None or task.done():
                task = await self._begin_move(actor, workspace, server)
            else:
                _check_way((await host.find(workspace)).way, server)
        end_at = time.monotonic() + wait_seconds
        while True:
            is_at_rest = task is None or task.done()
            row = await host.find(workspace)
            if task is not None and task.done() and not task.cancelled():
                with suppress(WorkspaceHeld):  # another process is at it
                    task.result()
            if row.way is not None and on_progress is not None:
                on_progress(row.way.done_bytes, row.way.total_bytes)
            is_over = row.way is None or row.way.state == MoveState.MOVED
            if (is_over and is_at_rest) or time.monotonic() >= end_at:
                return row.shown()
            await asyncio.sleep(LOOK_SECONDS)

    async def confirm_move(self, actor: Actor, workspace: str) -> Workspace:
        """Drop what a workspace left on its old server: its move cannot be undone any more.

        Raises ``Conflict`` if it is not moved.
        """
        try:
            return await self._end_move(actor, workspace, "confirm_move", Relocation.confirm)
        except WorkspaceHeld:
            way = (await self._holds.host.find(workspace)).way
            if way is None or way.state != MoveState.COPYING:
                raise
            raise Conflict(NOT_MOVED, field="workspace") from None

    async def undo_move(self, actor: Actor, workspace: str) -> Workspace:
        """Bring a workspace back to its old server with all that was written since, or stop a copy.

        Raises ``Conflict`` if it is not on its way.
        """
        return await self._end_move(actor, workspace, "undo_move", Relocation.undo, takes_copy=True)

    async def recover(self) -> int:
        """Go on with steps of moves that died amid them."""
        async with self._holds.database.system() as connection:
            names = await repository.halted(connection)
        return await self._recovery.run(names, self._go_on)

    async def _go_on(self, workspace: str) -> bool:
        async with self._holds.held(workspace, *IN_USE) as (row, holder):
            if row.move is not None:
                await self._relocation(row, holder).go_on()
        return True

    async def _begin_move(
        self, actor: Actor, workspace: str, server: str
    ) -> asyncio.Task[None] | None:
        """Note that a workspace moves, and begin, unless another process is at it."""
        try:
            async with self._holds.held(workspace, *IN_USE) as (row, holder):
                if row.way is None:
                    move = self._new_move(row, server)
                    async with self._holds.database.system() as connection:
                        await repository.relocate(connection, workspace, holder, move)
                        await note(connection, actor, "move", row)
                _check_way(row.way, server)
        except WorkspaceHeld:
            way = (await self._holds.host.find(workspace)).way
            if way is None:
                raise
            _check_way(way, server)
            return None
        task = asyncio.create_task(self._run_move(workspace), name="move of a workspace")
        self._tasks[workspace] = task
        task.add_done_callback(partial(self._forget, workspace))
        return task

    def _forget(self, workspace: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(workspace) is task:
            del self._tasks[workspace]
        if not task.cancelled():
            task.exception()  # or its text, which may quote data, would be logged

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
            to_database=database_name(row.name, new_uuid()),
            started_at=datetime.now(UTC),
        )

    def _relocation(self, row: WorkspaceRow, holder: UUID) -> Relocation[Store]:
        return Relocation(self._holds.database, self._holds.host, row, holder)

    async def _run_move(self, workspace: str) -> None:
        try:
            async with self._holds.held(workspace, *IN_USE) as (row, holder):
                if row.move is not None:
                    await self._relocation(row, holder).run()
        except Exception as error:  # its text may quote data
            log.warning("the move of %s stopped (%s)", workspace, type(error).__name__)
            raise
        finally:
            self._holds.host.forget(workspace)

    async def _end_move(
        self,
        actor: Actor,
        workspace: str,
        action: str,
        end: "Callable[[Relocation[Any]], Awaitable[None]]",
        *,
        takes_copy: bool = False,
    ) -> Workspace:
        self._holds.require(actor, workspace)
        async with self._holds.held(workspace, *IN_USE, takes_copy=takes_copy) as (row, holder):
            if row.move is None:
                raise Conflict("is not on its way to another server", field="workspace")
            if (task := self._tasks.pop(workspace, None)) is not None:
                task.cancel()
                await asyncio.wait([task])
            await end(self._relocation(row, holder))
            async with self._holds.database.system() as connection:
                await note(connection, actor, action, row)
        self._holds.host.forget(workspace)
        return (await self._holds.host.find(workspace)).shown()


def _check_way(way: WorkspaceMove | None, server: str) -> None:
    if way is not None and way.to_server != server:
        reason = f"is on its way to {way.to_server}; undo that move first"
        if way.state == MoveState.MOVED:
            reason = f"has moved to {way.to_server}; confirm or undo that move first"
        raise Conflict(reason, field="workspace")
