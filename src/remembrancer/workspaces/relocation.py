"""The steps of a workspace on its way to another server, while it is used."""

import asyncio
import time
from contextlib import suppress
from typing import Final, Generic, TypeVar
from uuid import UUID

from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, DatabaseUnavailable
from remembrancer.workspaces import replication, repository
from remembrancer.workspaces.databases import create_database, drop_database, in_thread
from remembrancer.workspaces.host import Host
from remembrancer.workspaces.replication import Copy
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import MoveState, WorkspaceMove

Store = TypeVar("Store")
LOOK_SECONDS: Final = 0.5
NOT_MOVED: Final = "is not moved yet; wait for it, or undo it"


class Relocation(Generic[Store]):
    """The move of a workspace that somebody holds, from where it is.

    Each step may be repeated: what was done is left, and the rest is done. The registry knows the
    step before it begins, so whoever finds it there goes on.
    """

    def __init__(
        self, database: Database, host: Host[Store], row: WorkspaceRow, holder: UUID
    ) -> None:
        assert row.way is not None
        self._database = database
        self._host = host
        self._holder = holder
        self._row = row
        self._move: WorkspaceMove = row.way
        servers = host.servers
        from_, to = servers[self._move.from_server], servers[self._move.to_server]
        old = from_.owner_url_of(self._move.from_database)
        new = to.owner_url_of(self._move.to_database)
        there, back = f"remembrancer_there_{row.id.hex}", f"remembrancer_back_{row.id.hex}"
        self._there = Copy(there, old, new, from_.owner_url, to.owner_url)
        self._back = Copy(back, new, old, to.owner_url, from_.owner_url)

    async def run(self) -> None:
        """Copy the workspace and change over."""
        await self.go_on()
        if self._move.state == MoveState.COPYING:
            await self._copy()
            await replication.make_ready(self._there)
            rows = await replication.compare(self._there)
            await self._note(MoveState.SWITCHING, rows=rows)
            await self._switch()

    async def confirm(self) -> None:
        """Drop what was left; the move cannot be undone any more."""
        await self.go_on()
        if self._move.state == MoveState.COPYING:
            raise Conflict(NOT_MOVED, field="workspace")
        if self._move.state == MoveState.MOVED:
            await self._note(MoveState.ENDING)
            await self._end()

    async def undo(self) -> None:
        """Bring the workspace back to where it was, with what was written since."""
        await self.go_on()
        if self._move.state == MoveState.COPYING:
            await self._note(MoveState.ENDING)
            await self._end()
        elif self._move.state == MoveState.MOVED:
            await self._note(MoveState.RETURNING)
            await self._return()

    async def go_on(self) -> None:
        """End a step that was begun. A copy is left alone, and so is what waits for its admin."""
        steps = {
            MoveState.SWITCHING: self._switch,
            MoveState.RETURNING: self._return,
            MoveState.ENDING: self._end,
        }
        if (step := steps.get(self._move.state)) is not None:
            await step()

    async def _copy(self) -> None:
        target = self._host.servers[self._move.to_server]
        await in_thread(create_database, target, self._move.to_database, exist_ok=True)
        try:
            await self._note(MoveState.COPYING)
        except Conflict:
            await self._drop_unknown(self._move.to_server, self._move.to_database)
            raise
        await replication.begin(self._there)
        while True:
            done, total, is_complete = await replication.progress(self._there)
            await self._note(MoveState.COPYING, done_bytes=done, total_bytes=total)
            if is_complete:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _drop_unknown(self, server: str, database: str) -> None:
        """Drop a database whose move somebody else has ended meanwhile: its name never returns."""
        async with self._database.system() as connection:
            row = await repository.get(connection, self._row.name)
        known = set() if row is None else {row.database}
        if row is not None and row.way is not None and row.way.state != MoveState.ENDING:
            known |= {row.way.from_database, row.way.to_database}
        if database not in known:
            await in_thread(drop_database, self._host.servers[server], database)

    async def _switch(self) -> None:
        pause_ms = self._move.pause_ms
        if not await replication.is_fenced(self._there.source):
            await self._note(MoveState.SWITCHING)  # whoever has lost the hold ends here
            try:
                began = await replication.change_over(self._there, self._back)
            except (Conflict, DatabaseUnavailable):
                await self._take_back(MoveState.COPYING, self._there)
                if self._move.state == MoveState.COPYING:
                    with suppress(Conflict, DatabaseUnavailable):
                        await replication.end(self._back)  # else the target keeps its log for it
                raise
            pause_ms = round(1000 * (time.monotonic() - began))
        # From the fence on there is only one way.
        place = self._move.to_server, self._move.to_database
        await self._note(MoveState.SWITCHING, place, pause_ms=pause_ms)
        await replication.follow_back(self._there, self._back)
        await self._note(MoveState.MOVED)

    async def _return(self) -> None:
        if not await replication.is_fenced(self._back.source):
            try:
                await replication.reconnect(self._back)
                await replication.change_over(self._back)
            except (Conflict, DatabaseUnavailable):
                await self._take_back(MoveState.MOVED, self._back)
                raise
        await self._note(MoveState.RETURNING)  # whoever has lost the hold ends here
        await replication.open_again(self._there.source)
        await self._note(MoveState.ENDING, (self._move.from_server, self._move.from_database))
        await self._end()

    async def _take_back(self, state: MoveState, copy: Copy) -> None:
        """Note that a change-over did not come about; if nobody can tell, it is gone on with."""
        if not await replication.is_fenced(copy.source):
            await self._note(state)

    async def _end(self) -> None:
        """Drop the database that is not in use."""
        away: DatabaseUnavailable | None = None
        for copy in (self._there, self._back):
            try:
                await replication.end(copy)
            except DatabaseUnavailable as error:  # what can be ended is ended
                away = error
        if away is not None:
            raise away
        for server, database in (
            (self._move.from_server, self._move.from_database),
            (self._move.to_server, self._move.to_database),
        ):
            if (server, database) != (self._row.server, self._row.database):
                await in_thread(drop_database, self._host.servers[server], database)
        await self._save(None, None)

    async def _note(
        self, state: MoveState, place: tuple[str, str] | None = None, **details: int | None
    ) -> None:
        self._move = self._move.model_copy(update={"state": state, **details})
        await self._save(self._move, place)

    async def _save(self, move: WorkspaceMove | None, place: tuple[str, str] | None) -> None:
        async with self._database.system() as connection:
            row = await repository.relocate(connection, self._row.name, self._holder, move, place)
        if row is None:
            raise Conflict("is being changed by somebody else; try again", field="workspace")
        self._row = row
