"""Who may change a workspace, and that nobody else does meanwhile."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final, Generic, TypeVar
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, Forbidden, NotFound, RemembrancerError, Unavailable
from remembrancer.ids import DEFAULT_WORKSPACE, SHARED_OWNER
from remembrancer.periodic import Periodic
from remembrancer.workspaces import repository
from remembrancer.workspaces.host import Host
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import Workspace, WorkspaceLimits, WorkspaceState

log = logging.getLogger(__name__)

Store = TypeVar("Store")
RENEW_SECONDS: Final = 5.0
"""Seconds after which whoever changes a workspace says that it still does."""
IN_USE: Final = (WorkspaceState.ACTIVE, WorkspaceState.SUSPENDED)


class WorkspaceHeld(Conflict):
    """Somebody else changes the workspace now."""


class Holds(Generic[Store]):
    """Holds on workspaces of the registry. Only a key of the default workspace gets any."""

    def __init__(
        self, database: Database, host: Callable[[], Host[Store]], *, is_host: bool
    ) -> None:
        self.database = database
        self._host = host
        self._is_host = is_host

    @property
    def host(self) -> Host[Store]:
        """The workspaces that are open in this process."""
        return self._host()

    def require(self, actor: Actor, workspace: str | None = None) -> None:
        """Refuse who may not manage workspaces, and a name that none can have."""
        actor.require(Role.ADMIN)
        if workspace is not None and not workspace.isprintable():
            raise NotFound("no such workspace", field="workspace")
        if not self._is_host:
            raise Forbidden(
                "workspaces are managed in the workspace default, with an admin key of it"
            )

    async def change(
        self,
        actor: Actor,
        action: str,
        name: str,
        holder: UUID | None = None,
        state: WorkspaceState | None = None,
        limits: WorkspaceLimits | None = None,
    ) -> Workspace:
        """Note limits or a state, and the action in the audit log; who holds it says so."""
        async with self.database.system() as connection:
            row = await repository.change(
                connection, name, holder=holder, state=state, limits=limits
            )
            if row is not None:
                await note(connection, actor, action, row)
        if row is None:
            raise await self.refusal(name)
        self.host.forget(name)
        return row.shown()

    async def refusal(self, name: str) -> RemembrancerError:
        """Return why a workspace cannot be changed."""
        try:
            await self.host.find(name)
        except NotFound as unknown:
            return unknown
        return WorkspaceHeld("is being changed by somebody else; try again", field="workspace")

    @asynccontextmanager
    async def held(
        self, name: str, *states: WorkspaceState, takes_copy: bool = False
    ) -> AsyncIterator[tuple[WorkspaceRow, UUID]]:
        """Hold a workspace in one of the states, so that nobody else changes it."""
        if name == DEFAULT_WORKSPACE:
            raise Conflict("is the host itself", field="workspace")
        holder = uuid4()
        async with self.database.system() as connection:
            row = await repository.hold(connection, name, holder, takes_copy=takes_copy)
        if row is None:
            raise await self.refusal(name)
        async with self.renewed(name, holder):
            if row.state not in states:
                advice = "; suspend it first" if row.state == WorkspaceState.ACTIVE else ""
                raise Conflict(f"is {row.state}{advice}", field="workspace")
            yield row, holder

    @asynccontextmanager
    async def renewed(self, name: str, holder: UUID) -> AsyncIterator[None]:
        """Keep a hold alive, and give it back in the end."""

        async def hold() -> None:
            async with self.database.system() as connection:
                await repository.hold(connection, name, holder)

        renewing = Periodic(hold, every=RENEW_SECONDS, what="hold of a workspace")
        renewing.start()
        try:
            yield
        finally:
            await renewing.stop()
            # Else it ends by itself; what was done meanwhile is done.
            with suppress(Unavailable):
                async with self.database.system() as connection:
                    await repository.release(connection, name, holder)


class Recovery:
    """Ends what died amid its work, one workspace after the other; one that fails stops no other.

    The log knows once of each that fails.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._stuck: set[str] = set()

    async def run(self, names: Iterable[str], end: Callable[[str], Awaitable[bool]]) -> int:
        """Call ``end``, which returns whether there was something to end; return how many were."""
        done = 0
        for name in names:
            try:
                done += await end(name)
            except Exception as error:  # its text may quote data
                if name not in self._stuck:
                    reason = type(error).__name__
                    log.warning("the %s of %s waits for help (%s)", self._what, name, reason)
                self._stuck.add(name)
            else:
                self._stuck.discard(name)
        return done


async def note(connection: AsyncConnection, actor: Actor, action: str, row: WorkspaceRow) -> None:
    """Write what was done with a workspace into the audit log of the host."""
    await audit.note(connection, actor, f"workspace.{action}", [row.name], owner_id=SHARED_OWNER)
