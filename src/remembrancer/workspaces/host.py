"""The open workspaces of this process: opened when somebody asks for them, closed when unused."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final, Generic, TypeVar

from pydantic import SecretStr

from remembrancer.db.engine import Database
from remembrancer.db.migrate import is_known, is_usable_at, migrate, newest
from remembrancer.db.urls import driver_url, service_url
from remembrancer.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    Forbidden,
    NotFound,
    Unavailable,
    WorkspaceUnavailable,
)
from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.paging import all_items
from remembrancer.periodic import Periodic
from remembrancer.settings import Settings, WorkspaceSettings
from remembrancer.workspaces import repository
from remembrancer.workspaces.databases import Servers, threads_of
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import WorkspaceState

log = logging.getLogger(__name__)

FOLLOW_SECONDS: Final = 1.0
"""Seconds until all processes know that a workspace was suspended, dropped or given limits."""

NEW_SECONDS: Final = 1.0
"""Seconds that a new one stays open, though it is one too many: somebody waits for it."""
REST_SECONDS: Final = 5.0
"""Seconds in which no workspace is opened on a server that was silent."""
SILENT_SECONDS: Final = 1.0
"""Seconds after which a server that could not be reached counts as silent."""

_DROPPED: Final = "the workspace was dropped"
_ELSEWHERE: Final = "the workspace is on a server that this process does not know"

Store = TypeVar("Store")
OpenStore = Callable[[WorkspaceRow, str], AbstractAsyncContextManager[Store]]
"""Opens the store of a workspace at an address."""


class _Opened(Generic[Store]):
    """An open store, and how many use it now."""

    def __init__(self, row: WorkspaceRow, store: Store, closing: AsyncExitStack) -> None:
        self.row = row
        self.store = store
        self.closing = closing
        self.users = 0
        self.is_stale = False
        self.is_new = True
        self.at = time.monotonic()


class Host(Generic[Store]):
    """Lends the stores of workspaces; the default one is always open.

    It keeps those ``opened`` that were used last. What is in use stays open beyond that.
    """

    def __init__(
        self, default: Store, database: Database, servers: Servers, open_store: OpenStore[Store],
        settings: WorkspaceSettings,
    ) -> None:  # fmt: skip
        self.servers = servers
        self.default = default
        self.prepare: Callable[[Store], None] | None = None
        """Called with each store that is opened."""
        self._database = database
        self._open_store = open_store
        self._most = settings.opened
        self._migrates = settings.migrate_on_use
        self._opened: OrderedDict[str, _Opened[Store]] = OrderedDict()
        # Those in use that were let go are still among these, by their stores.
        self._living: dict[int, _Opened[Store]] = {}
        self._opening: dict[tuple[str, tuple[str, ...]], asyncio.Task[_Opened[Store]]] = {}
        self._rests_until: dict[str, float] = {}
        self._used: set[str] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._following = Periodic(self._follow, every=FOLLOW_SECONDS, what="look at workspaces")
        self._is_following = False

    @asynccontextmanager
    async def use(
        self, name: str, *, states: tuple[str, ...] = ("active",), is_noted: bool = True
    ) -> AsyncIterator[Store]:
        """Lend the store of a workspace, and note its use if ``is_noted``.

        Raises ``NotFound`` for an unknown one, ``Forbidden`` for one that is suspended, and
        ``WorkspaceUnavailable`` for one in another state, or with another version's schema.
        """
        if name == DEFAULT_WORKSPACE:
            yield self.default
            return
        opened = await self._take(name, states)
        if is_noted:
            self._used.add(name)
        try:
            yield opened.store
        finally:
            opened.users -= 1
            if opened.is_stale:
                self._close_unused(opened)

    async def address(self, opened: WorkspaceRow) -> str:
        """Return where a workspace that was opened is now.

        Raises ``WorkspaceUnavailable`` if it was dropped, though another may have its name, and if
        it is on a server that the settings do not have.
        """
        with suppress(NotFound):
            row = await self.find(opened.name)
            if row.id == opened.id:
                if row.server not in self.servers.names:
                    raise WorkspaceUnavailable(_ELSEWHERE)
                return self.servers[row.server].service_url(row.database)
        raise WorkspaceUnavailable(_DROPPED)

    def is_active(self, store: Store) -> bool:
        """Return whether a workspace that was lent may still be used."""
        opened = self._living.get(id(store))
        return opened is not None and opened.row.is_active

    def check(self, store: Store) -> None:
        """Raise what :meth:`use` would for a workspace that was lent."""
        if (opened := self._living.get(id(store))) is None:
            raise WorkspaceUnavailable(_DROPPED)
        _check(opened.row, ("active",))

    def note(self, store: Store) -> None:
        """Note a use of a workspace that was lent."""
        if (opened := self._living.get(id(store))) is not None:
            self._used.add(opened.row.name)

    def limits(self, store: Store) -> Mapping[str, int | None]:
        """Return the limits of a workspace that was lent."""
        opened = self._living.get(id(store))
        return {} if opened is None else opened.row.limits

    async def find(self, name: str) -> WorkspaceRow:
        """Return a workspace; raise ``NotFound`` for an unknown one."""
        return await _find(self._database, name)

    async def _take(self, name: str, states: tuple[str, ...]) -> _Opened[Store]:
        opened = self._opened.get(name)
        while opened is None or opened.is_stale:  # it may change while it is opened
            opened = await self._open_once(name, states)
        _check(opened.row, states)
        opened.users += 1
        opened.is_new = False
        self._opened.move_to_end(name)
        self._close_surplus()
        return opened

    async def _open_once(self, name: str, states: tuple[str, ...]) -> _Opened[Store]:
        """Open a workspace. Who asks meanwhile gets the same store, or the same error."""
        key = name, states
        if (opening := self._opening.get(key)) is None:
            opening = self._opening[key] = asyncio.create_task(self._open(name, states))
            opening.add_done_callback(lambda task: self._note_opened(key, task))
        return await asyncio.shield(opening)

    def _note_opened(
        self, key: tuple[str, tuple[str, ...]], task: "asyncio.Task[_Opened[Store]]"
    ) -> None:
        del self._opening[key]
        if not task.cancelled():
            task.exception()  # nobody may be left who waits for it

    async def _open(self, name: str, states: tuple[str, ...]) -> _Opened[Store]:
        row = await self.find(name)
        _check(row, states)
        begun = time.monotonic()
        if begun < self._rests_until.get(row.server, begun):
            raise DatabaseUnavailable("the database does not answer; try again later")
        try:
            opened = await self._open_there(row)
        except DatabaseUnavailable as error:
            # Without a cause, our own connections were all busy.
            if error.__cause__ is not None and time.monotonic() - begun > SILENT_SECONDS:
                self._rests_until[row.server] = time.monotonic() + REST_SECONDS
            raise
        if (other := self._opened.get(name)) is not None:  # for other states
            self._let_go(opened)
            return other
        self._opened[name] = opened
        if not self._is_following:
            self._is_following = True
            self._following.start()
        return opened

    async def _open_there(self, row: WorkspaceRow) -> _Opened[Store]:
        if row.revision != newest():
            row = await self._fitting(row)
        url = self.servers[row.server].service_url(row.database)
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(self._open_store(row, url))
            if self.prepare is not None:
                self.prepare(store)
            opened = self._living[id(store)] = _Opened(row, store, stack.pop_all())
        return opened

    async def _fitting(self, row: WorkspaceRow) -> WorkspaceRow:
        """Migrate an older workspace, or see whether a newer one works with this code."""
        server = self.servers[row.server]
        if is_known(row.revision):
            if not self._migrates:
                raise WorkspaceUnavailable(
                    f"the workspace has the schema {row.revision}, and this server has"
                    f" {newest()}; run `remembrancer workspaces migrate`"
                )
            try:
                return await self.migrate(row)
            except ConfigurationError as error:  # its text may have the address of the owner
                raise WorkspaceUnavailable(
                    f"the workspace has the schema {row.revision} and cannot be migrated to"
                    f" {newest()}; `remembrancer workspaces migrate` says why"
                ) from error
        is_usable = asyncio.get_running_loop().run_in_executor(
            threads_of(server.name), is_usable_at, server.service_url(row.database)
        )
        if not await is_usable:
            raise WorkspaceUnavailable(
                f"the workspace has the schema {row.revision} of a newer version; upgrade this"
                f" server, which has {newest()}"
            )
        return row

    async def migrate(self, row: WorkspaceRow, executor: Executor | None = None) -> WorkspaceRow:
        """Bring a workspace to the current schema; several processes may do so at once."""
        if row.move is not None:  # its copy would not get the new tables
            raise WorkspaceUnavailable(
                "the workspace is on its way to another server; confirm or undo its move, then"
                " migrate it"
            )
        server = self.servers[row.server]
        owner_url, url = server.owner_url_of(row.database), server.service_url(row.database)
        await asyncio.get_running_loop().run_in_executor(
            executor or threads_of(server.name), migrate, driver_url(owner_url), driver_url(url)
        )
        async with self._database.system() as connection:
            await repository.note_revision(connection, row.name, newest())
        return replace(row, revision=newest())

    async def _follow(self) -> None:
        """Note what was used; let go of those whose place or state has changed."""
        living = list(self._living.values())
        used, self._used = self._used, set()
        if not living and not used:
            return
        names = sorted({opened.row.name for opened in living})
        try:
            async with self._database.system() as connection:
                if used:
                    await repository.note_uses(connection, used)
                rows = {row.name: row for row in await repository.with_names(connection, names)}
        except BaseException:
            self._used |= used
            raise
        for opened in living:
            self._compare(opened, rows.get(opened.row.name))

    def _compare(self, opened: _Opened[Store], row: WorkspaceRow | None) -> None:
        old = opened.row
        if row is None or row.id != old.id:
            row = replace(old, state=WorkspaceState.DROPPING)
        opened.row = row
        stays = row.is_active or (row.state == WorkspaceState.SUSPENDED and opened.users)
        if not opened.is_stale and not (stays and _place(row) == _place(old)):
            self._let_go(opened)

    def forget(self, name: str) -> None:
        """Close a workspace that was changed here, once nobody uses it; the next use opens it."""
        if (opened := self._opened.get(name)) is not None:
            self._let_go(opened)

    def _let_go(self, opened: _Opened[Store]) -> None:
        if self._opened.get(opened.row.name) is opened:
            del self._opened[opened.row.name]
        opened.is_stale = True
        self._close_unused(opened)

    def _close_surplus(self) -> None:
        surplus = len(self._opened) - self._most
        waited_for = time.monotonic() - NEW_SECONDS
        for opened in list(self._opened.values()) if surplus > 0 else ():
            is_free = not opened.users and not (opened.is_new and opened.at > waited_for)
            if surplus > 0 and is_free:
                self._let_go(opened)
                surplus -= 1

    def _close_unused(self, opened: _Opened[Store]) -> None:
        if not opened.users:
            self._living.pop(id(opened.store), None)
            task = asyncio.create_task(_close(opened))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all of them."""
        for opening in self._opening.values():
            opening.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        if self._is_following:
            await self._following.stop()
        with suppress(Unavailable):
            await self._follow()
        for opened in list(self._living.values()):
            opened.users = 0
            self._let_go(opened)
        await asyncio.gather(*self._closing)


async def owner_address(settings: Settings, owner_url: str) -> str:
    """Return the address of the workspace that the settings name, for its owner.

    ``owner_url`` is that of the host's own store.
    """
    async with _registry(settings, owner_url) as database:
        row = await _find(database, settings.workspace)
        settings = settings.model_copy(update={"database_owner_url": SecretStr(owner_url)})
        return Servers.of(settings, database.url)[row.server].owner_url_of(row.database)


async def names_with_content(settings: Settings, owner_url: str) -> list[str]:
    """Return the names of all workspaces that have content, ``default`` first."""
    async with _registry(settings, owner_url) as database, database.system() as connection:
        rows = await all_items(partial(repository.page, connection))
    kept = (WorkspaceState.ACTIVE, WorkspaceState.SUSPENDED)
    return [DEFAULT_WORKSPACE, *(row.name for row in rows if row.state in kept)]


@asynccontextmanager
async def _registry(settings: Settings, owner_url: str) -> AsyncIterator[Database]:
    given = settings.database_url
    database = Database(service_url(owner_url) if given is None else given.get_secret_value())
    try:
        yield database
    finally:
        await database.close()


async def _find(database: Database, name: str) -> WorkspaceRow:
    row = None
    if name.isprintable():  # Postgres refuses some texts, which no workspace has as a name
        async with database.system() as connection:
            row = await repository.get(connection, name)
    if row is None:
        raise NotFound("no such workspace", field="workspace")
    return row


async def _close(opened: _Opened[Store]) -> None:
    try:
        await opened.closing.aclose()
    except Exception as error:  # its text may quote data
        log.warning("a workspace was not closed in order (%s)", type(error).__name__)


def _place(row: WorkspaceRow) -> tuple[object, ...]:
    return row.id, row.server, row.database, row.revision


def _check(row: WorkspaceRow, states: tuple[str, ...]) -> None:
    if row.state not in states:
        if row.state == WorkspaceState.SUSPENDED:
            raise Forbidden("the workspace is suspended; ask whoever runs this server")
        reasons: dict[str, str] = {
            WorkspaceState.CREATING: "is being created; try again in a moment",
            WorkspaceState.DROPPING: "is being dropped",
        }
        raise WorkspaceUnavailable(f"the workspace {reasons.get(row.state, 'is active')}")
