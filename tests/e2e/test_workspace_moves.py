"""Workspaces move to another server while people use them, and back."""

import asyncio
import inspect
import json
import os
import random
import re
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from helpers import ADMIN, Api, audit_lines, person, rows
from pydantic import SecretStr
from sqlalchemy import make_url
from test_workspaces import Gate, bearer, databases, forget_host, host, queue

from remembrancer import AgentCreate, MemoryCreate, Remembrancer, as_actor
from remembrancer.audit import months
from remembrancer.backup import back_up, catalogue, restore
from remembrancer.context.schemas import ContextQuery
from remembrancer.db import location
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.embedded import server as embedded
from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.sql import Statement, numbered
from remembrancer.db.urls import libpq_url, service_url
from remembrancer.errors import (
    Conflict,
    DatabaseUnavailable,
    InvalidInput,
    NotFound,
    WorkspaceMoved,
    WorkspaceUnavailable,
)
from remembrancer.keys.sign_ins import SignIns
from remembrancer.memories.batch import Batches
from remembrancer.memories.schemas import AssociationCreate, MemoryFilter
from remembrancer.nouns import AgentOperations, WorkspaceOperations
from remembrancer.preferences.schemas import PolicyUpdate
from remembrancer.search.reembed import Reembedding
from remembrancer.settings import WorkspaceServer
from remembrancer.workspaces import holds, relocation, replication
from remembrancer.workspaces.relocation import Relocation
from remembrancer.workspaces.schemas import MoveState, Workspace, WorkspaceLimits

__all__ = ["host"]  # a fixture


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another server."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("second"), shared_buffers="32MB")
    yield server.start()
    server.stop()


@pytest.fixture
async def servers(
    host: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Remembrancer]:
    """The host, which knows the other server."""
    await forget_host(host)
    server = WorkspaceServer(url=SecretStr(service_url(second)), owner_url=SecretStr(second))
    monkeypatch.setitem(host.settings.workspaces.servers, "second", server)
    yield host
    await host.workspaces.close()
    for workspace in (await host.workspaces.list(ADMIN)).items:
        if workspace.move is not None:
            await host.workspaces.undo_move(ADMIN, workspace.name)
    for (name,) in _ask(second, "SELECT datname FROM pg_database WHERE datname ~ '_tenant_'"):
        _ask(second, f'DROP DATABASE "{name}" WITH (FORCE)')


def _ask(url: str, statement: str) -> list[Any]:
    with psycopg.connect(libpq_url(url), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def _address(host: Remembrancer, server: str, database: str) -> str:
    return host.host.servers[server].owner_url_of(database)


def _all_rows(url: str) -> dict[str, Any]:
    """The rows of each table, and where its sequences are."""
    with psycopg.connect(libpq_url(url), autocommit=True) as connection:
        found: dict[str, Any] = {}
        for table in catalogue.tables(connection):
            cursor = connection.execute(f'SELECT t::text FROM "{table.schema}"."{table.table}" t')
            found[table.name] = sorted(cursor.fetchall())
        return found | catalogue.sequences(connection)


async def _same(host: Remembrancer, moved: Workspace) -> bool:
    """Whether what was left gets to have the same rows."""
    assert moved.move is not None
    old = _address(host, moved.move.from_server, moved.move.from_database)
    new = _address(host, moved.move.to_server, moved.move.to_database)
    for _ in range(2400):
        if _without_sequences(_all_rows(old)) == _without_sequences(_all_rows(new)):
            return True
        await asyncio.sleep(0.05)
    return False


def _without_sequences(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if isinstance(value, list)}


class Load:
    """People who write and read in a workspace all the time."""

    def __init__(self, app: Remembrancer, workspace: str, who: str = "Ada") -> None:
        self.app = app
        self.workspace = workspace
        self.who = who
        self.numbers = count()
        self.stored: list[str] = []
        self.reads = 0
        self.tasks: list[asyncio.Task[None]] = []

    async def write(self) -> None:
        while True:
            number = next(self.numbers)
            async with self.app.host.use(self.workspace) as store:
                # Nobody gets so many that some are evicted.
                user = await person(store, f"{self.who} {number // 100}")
                note = MemoryCreate(content=f"{self.who} has seen bird number {number}.")
                await store.memories.remember(as_actor(user), note)
            self.stored.append(note.content)

    async def read(self) -> None:
        while True:
            is_any = bool(self.stored)
            async with self.app.host.use(self.workspace) as store:
                user = await person(store, f"{self.who} 0")
                answer = await store.recall("Which bird?", user=user)
            assert answer.hits or not is_any
            self.reads += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write and read meanwhile; nothing may fail."""
        self.tasks = [asyncio.create_task(self.write()) for _ in range(2)]
        self.tasks.append(asyncio.create_task(self.read()))
        try:
            yield
        finally:
            for task in self.tasks:
                task.cancel()
            errors = await asyncio.gather(*self.tasks, return_exceptions=True)
        assert {type(error) for error in errors} == {asyncio.CancelledError}, errors

    async def goes_on(self) -> None:
        """Wait until there are more writes and reads."""
        written, read = len(self.stored), self.reads
        for _ in range(4800):
            if len(self.stored) >= written + 5 and self.reads >= read + 3:
                return
            for task in self.tasks:
                if task.done():
                    task.result()  # why it goes on no more
            await asyncio.sleep(0.05)
        raise AssertionError("nobody writes or reads any more")

    async def is_all_there(self) -> bool:
        """Whether all that was acknowledged is in the workspace, once."""
        stored = set(self.stored)
        place = await self.app.workspaces.get(ADMIN, self.workspace)
        there = _ask(
            _address(self.app, place.server, place.database), "SELECT content FROM memories"
        )
        return stored <= {content for (content,) in there} and len(there) == len(set(there))


async def _moved(app: Remembrancer, name: str, server: str) -> Workspace:
    while True:
        workspace = await app.workspaces.move(ADMIN, name, server)
        if workspace.move is not None and workspace.move.state == MoveState.MOVED:
            return workspace


async def test_a_workspace_moves_while_it_is_used_and_back(
    servers: Remembrancer, second: str
) -> None:
    """No write is lost and nothing fails, in this process and in another one's host."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    async with Remembrancer.open(settings=servers.settings) as other:
        loads = [Load(servers, "tenant"), Load(other, "tenant", "Bob")]
        seen: list[tuple[int, int]] = []
        async with loads[0].running(), loads[1].running():
            await asyncio.gather(*(load.goes_on() for load in loads))
            while True:
                moved = await servers.workspaces.move(
                    ADMIN, "tenant", "second", on_progress=lambda *now: seen.append(now)
                )
                if moved.move is not None and moved.move.state == MoveState.MOVED:
                    break
            await asyncio.gather(*(load.goes_on() for load in loads))
            # A month is no row: none is added or dropped while the old server follows.
            async with servers.host.use("tenant") as store, store.database.system() as connection:
                await months.add(connection)
            await servers.workspaces.undo_move(ADMIN, "tenant")
            again = await _moved(servers, "tenant", "second")
            await asyncio.gather(*(load.goes_on() for load in loads))
        assert (moved.server, moved.database != created.database) == ("second", True)
        assert moved.move is not None
        assert moved.move.rows
        assert moved.move.pause_ms
        assert seen[-1][0] == seen[-1][1] > 0
        for app in (servers, other):
            async with app.host.use("tenant") as store:
                assert f"/{again.database}?" in store.database.url
                await store.retention.stop()
        for load in loads:
            assert await load.is_all_there()
        assert await _same(servers, again)
    await servers.workspaces.confirm_move(ADMIN, "tenant")
    assert databases() == []
    for url in (second, _address(servers, "main", "postgres")):
        for what in ("pg_replication_slots", "pg_subscription"):
            assert _ask(url, f"SELECT * FROM {what}") == []
    new = _address(servers, "second", again.database)
    assert _ask(new, "SELECT * FROM pg_publication") == []
    assert await loads[0].is_all_there()
    actions = [line.action for line in audit_lines() if "move" in line.action]
    assert actions == [
        f"workspace.{what}" for what in ("move", "undo_move", "move", "confirm_move")
    ]
    async with servers.host.use("tenant") as store, store.database.system() as connection:
        await months.add(connection)
    assert _ask(new, "SELECT count(*) FROM audit_log_other") == [(0,)]


async def test_what_cannot_be_moved_says_why(servers: Remembrancer, tmp_path: Path) -> None:
    await servers.workspaces.create(ADMIN, "tenant")
    workspaces = servers.workspaces
    with pytest.raises(InvalidInput, match="known are main, second"):
        await workspaces.move(ADMIN, "tenant", "third")
    with pytest.raises(InvalidInput, match="wait_seconds"):
        await workspaces.move(ADMIN, "tenant", "second", wait_seconds=21)
    with pytest.raises(Conflict, match="is where the workspace is already"):
        await workspaces.move(ADMIN, "tenant", "main")
    with pytest.raises(Conflict, match="is the host itself"):
        await workspaces.move(ADMIN, "default", "second")
    for end in (workspaces.confirm_move, workspaces.undo_move):
        with pytest.raises(Conflict, match="is not on its way"):
            await end(ADMIN, "tenant")
    await asyncio.gather(*(_moved(servers, "tenant", "second") for _ in range(3)))
    assert (await workspaces.move(ADMIN, "tenant", "second")).server == "second"  # once more
    with pytest.raises(Conflict, match="has moved to second; confirm or undo that move first"):
        await workspaces.move(ADMIN, "tenant", "main")
    await workspaces.suspend(ADMIN, "tenant")
    with pytest.raises(Conflict, match="confirm or undo its move first"):
        await workspaces.drop(ADMIN, "tenant", dry_run=False)
    rows("UPDATE workspaces SET revision = '0030'")
    report = await workspaces.migrate(ADMIN)
    assert [each.reason for each in report.items] == [
        "the workspace is on its way to another server; confirm or undo its move, then migrate it"
    ]
    rows("UPDATE workspaces SET revision = '0031'")
    # What a copy would not follow.
    url = _address(servers, "second", (await workspaces.get(ADMIN, "tenant")).database)
    back_up(url, tmp_path / "tenant.backup")
    with pytest.raises(Conflict, match="on its way to another server"):
        restore(url, tmp_path / "tenant.backup", replace=True)
    async with servers.host.use("tenant", states=("suspended",)) as store:
        with pytest.raises(Conflict, match="on its way to another server"):
            await Reembedding(store.database, store.embedder).begin()
    # The old database takes no part any more, by whatever door.
    [(old,)] = rows("SELECT move->>'from_database' FROM workspaces")
    with pytest.raises(psycopg.DatabaseError, match="moved to another server"):
        _ask(_address(servers, "main", old), "DELETE FROM messages")
    undone = await workspaces.undo_move(ADMIN, "tenant")
    assert (undone.server, undone.move, undone.state) == ("main", None, "suspended")
    assert (await workspaces.resume(ADMIN, "tenant")).state == "active"


async def test_a_server_that_could_not_be_left_again_gets_no_copy(
    servers: Remembrancer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told at the start, and not when hours of copying are over."""
    monkeypatch.setitem(embedded.SETTINGS, "wal_level", "replica")
    with EmbeddedPostgres(tmp_path, shared_buffers="32MB") as server:
        url = await asyncio.to_thread(server.start)
        third = WorkspaceServer(url=SecretStr(service_url(url)), owner_url=SecretStr(url))
        monkeypatch.setitem(servers.settings.workspaces.servers, "third", third)
        await forget_host(servers)
        await servers.workspaces.create(ADMIN, "tenant")
        with pytest.raises(Conflict, match="it has wal_level = replica"):
            await servers.workspaces.move(ADMIN, "tenant", "third")
        assert rows("SELECT * FROM pg_replication_slots") == []
        assert (await servers.workspaces.undo_move(ADMIN, "tenant")).move is None
        await servers.workspaces.create(ADMIN, "tenant-3", server="third")
        with pytest.raises(Conflict, match="the other one has wal_level = replica"):
            await servers.workspaces.move(ADMIN, "tenant-3", "second")
        assert (await servers.workspaces.undo_move(ADMIN, "tenant-3")).move is None


async def test_a_copy_can_be_stopped(servers: Remembrancer, second: str) -> None:
    """While somebody is at it; nothing of it is left."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    begun = await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
    assert begun.move is not None
    assert begun.move.state == MoveState.COPYING
    stopped = await servers.workspaces.undo_move(ADMIN, "tenant")
    assert (stopped.server, stopped.database, stopped.move) == ("main", created.database, None)
    assert _ask(second, "SELECT FROM pg_database WHERE datname ~ '_tenant_'") == []
    assert rows("SELECT * FROM pg_replication_slots") == []
    assert (await _moved(servers, "tenant", "second")).server == "second"


@pytest.mark.parametrize("process", ["this", "another"])
async def test_a_copy_that_is_stopped_early_leaves_nothing(
    servers: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch, process: str
) -> None:
    """While the new database is being made, which no cancellation stops."""
    gate = Gate(relocation.create_database)
    monkeypatch.setattr(relocation, "create_database", gate)
    await servers.workspaces.create(ADMIN, "tenant")
    await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
    await asyncio.to_thread(gate.called.wait)
    moving = servers.workspaces._moves._tasks["tenant"]
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        app = servers if process == "this" else other
        undoing = asyncio.create_task(app.workspaces.undo_move(ADMIN, "tenant"))
        await asyncio.wait([undoing], timeout=None if app is other else 0.1)
        gate.open.set()
        assert (await undoing).move is None
    await asyncio.to_thread(gate.left.wait)
    await asyncio.wait([moving])
    assert databases_of(second) == []
    assert rows("SELECT * FROM pg_replication_slots") == []


async def test_whoever_waits_for_a_copy_that_others_stop_is_told(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amid a look at it, while its parts go one by one."""
    looking, look = asyncio.Event(), asyncio.Event()
    progress = replication.progress

    async def progress_late(copy: replication.Copy) -> replication.Progress:
        looking.set()
        await look.wait()
        return await progress(copy)

    monkeypatch.setattr(replication, "progress", progress_late)
    gate = Gate(relocation.drop_database)
    monkeypatch.setattr(relocation, "drop_database", gate)
    await servers.workspaces.create(ADMIN, "tenant")
    moving = asyncio.create_task(servers.workspaces.move(ADMIN, "tenant", "second"))
    await looking.wait()
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        undoing = asyncio.create_task(other.workspaces.undo_move(ADMIN, "tenant"))
        await asyncio.to_thread(gate.called.wait)
        look.set()
        with pytest.raises(Conflict, match="by somebody else"):
            await moving
        gate.open.set()
        assert (await undoing).move is None


@pytest.mark.parametrize("process", ["this", "another"])
async def test_a_workspace_that_is_copied_is_managed_as_before(
    servers: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch, process: str
) -> None:
    """For hours, maybe: it is limited, suspended and resumed, and moves nowhere else meanwhile."""

    begun = asyncio.Event()

    async def copy(_: Relocation[Any]) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Relocation, "_copy", copy)
    third = WorkspaceServer(url=SecretStr(service_url(second)), owner_url=SecretStr(second))
    monkeypatch.setitem(servers.settings.workspaces.servers, "third", third)
    await forget_host(servers)
    await servers.workspaces.create(ADMIN, "tenant")
    await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
    await begun.wait()
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        workspaces = (servers if process == "this" else other).workspaces
        with pytest.raises(Conflict, match="is on its way to second; undo that move first"):
            await workspaces.move(ADMIN, "tenant", "third", wait_seconds=0)
        with pytest.raises(Conflict, match="is not moved yet"):
            await workspaces.confirm_move(ADMIN, "tenant")
        limits = WorkspaceLimits(requests_per_minute=60)
        assert (await workspaces.limit(ADMIN, "tenant", limits)).limits == limits
        assert (await workspaces.suspend(ADMIN, "tenant")).state == "suspended"
        with pytest.raises(Conflict, match="somebody else"):
            await workspaces.drop(ADMIN, "tenant", dry_run=False)
        assert (await workspaces.resume(ADMIN, "tenant")).state == "active"
        rows("UPDATE workspaces SET move = jsonb_set(move, '{state}', '\"switching\"')")
        for change in (workspaces.suspend, workspaces.confirm_move):
            with pytest.raises(Conflict, match="somebody else"):
                await change(ADMIN, "tenant")
        rows("UPDATE workspaces SET move = jsonb_set(move, '{state}', '\"copying\"')")
        assert (await workspaces.undo_move(ADMIN, "tenant")).move is None


async def test_a_move_that_has_ended_is_begun_anew(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is for those who wait then, and what others did since is no matter of this one."""
    workspaces = servers.workspaces
    await workspaces.create(ADMIN, "tenant")

    async def move_unseen() -> None:
        await workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
        if (task := workspaces._moves._tasks.get("tenant")) is not None:
            await asyncio.wait([task])

    async def copy(_: Relocation[Any]) -> None:
        raise Conflict("cannot be copied to", field="server")

    with monkeypatch.context() as patched:
        patched.setattr(Relocation, "_copy", copy)
        both = [workspaces.move(ADMIN, "tenant", "second") for _ in range(2)]
        for answer in await asyncio.gather(*both, return_exceptions=True):
            assert "cannot be copied to" in str(answer)
        await move_unseen()
    await move_unseen()
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        assert (await other.workspaces.confirm_move(ADMIN, "tenant")).server == "second"
    begun = await workspaces.move(ADMIN, "tenant", "main", wait_seconds=0)
    assert begun.move is not None
    assert begun.move.to_server == "main"


async def test_servers_may_have_other_addresses_later(servers: Remembrancer) -> None:
    """An embedded server has another one after each start."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    await queue(servers, "tenant", 2)
    moved = await _moved(servers, "tenant", "second")
    await queue(servers, "tenant", 4)  # their numbers go on
    old = _address(servers, "main", created.database)
    [(name,)] = _ask(old, "SELECT subname FROM pg_subscription")
    _ask(old, f"ALTER SUBSCRIPTION {name} CONNECTION 'host=/nowhere'")
    async with servers.host.use("tenant") as store:
        await person(store, "Ada")
    assert moved.server == "second"
    assert (await servers.workspaces.undo_move(ADMIN, "tenant")).database == created.database
    await queue(servers, "tenant", 6)
    async with servers.host.use("tenant") as store:
        assert [user.display_name for user in (await store.users.list(ADMIN)).items] == ["Ada"]
    assert _ask(old, "SELECT count(*) FROM jobs.procrastinate_jobs") == [(6,)]


async def test_while_the_old_server_is_away_nothing_is_undone(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace stays where it is and in use; the move can be undone, or confirmed, later."""
    await servers.workspaces.create(ADMIN, "tenant")
    moved = await _moved(servers, "tenant", "second")

    async def away(_copy: replication.Copy, _back: Any = None) -> float:
        raise DatabaseUnavailable("a server of the move does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(replication, "change_over", away)
        with pytest.raises(DatabaseUnavailable):
            await servers.workspaces.undo_move(ADMIN, "tenant")
    stayed = await servers.workspaces.get(ADMIN, "tenant")
    assert (stayed.server, stayed.move) == ("second", moved.move)
    async with servers.host.use("tenant") as store:
        await person(store, "Ada")
    confirmed = await servers.workspaces.confirm_move(ADMIN, "tenant")
    assert (confirmed.server, confirmed.move) == ("second", None)


@pytest.mark.parametrize("is_moved", [False, True])
async def test_a_server_that_is_away_at_the_end_lets_the_other_one_drop_its_log(
    servers: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch, *, is_moved: bool
) -> None:
    """What it would have read is not kept until it is back; then the end goes on."""
    await servers.workspaces.create(ADMIN, "tenant")
    away = second
    end = servers.workspaces.undo_move
    if is_moved:
        await _moved(servers, "tenant", "second")
        away, end = _address(servers, "main", "postgres"), servers.workspaces.confirm_move
    else:
        copied = asyncio.Event()

        async def wait(_: replication.Copy) -> None:
            copied.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(replication, "make_ready", wait)
        moving = await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
        await copied.wait()
        # That of a table which is still being copied.
        slot = "SELECT pg_create_logical_replication_slot('pg_16400_sync_16385_7', 'pgoutput')"
        _ask(_address(servers, "main", moving.database), slot)
    connected = replication._connected

    def is_away(url: str) -> AbstractAsyncContextManager[replication.Connection]:
        if make_url(libpq_url(url)).set(database="") == make_url(libpq_url(away)).set(database=""):
            raise DatabaseUnavailable("a server of the move does not answer") from OSError()
        return connected(url)

    with monkeypatch.context() as patched:
        patched.setattr(replication, "_connected", is_away)
        with pytest.raises(DatabaseUnavailable):
            await end(ADMIN, "tenant")
    here = second if is_moved else _address(servers, "main", "postgres")
    assert _ask(here, "SELECT slot_name FROM pg_replication_slots") == []
    assert await servers.workspaces.recover() == 1
    assert (await servers.workspaces.get(ADMIN, "tenant")).move is None


async def test_a_copy_that_differs_changes_nothing(
    servers: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is compared before anybody is led to the copy."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    copy = Relocation._copy

    async def copy_badly(self: Relocation[Any]) -> None:
        await copy(self)
        for name in databases_of(second):
            _ask(_address(servers, "second", name), "UPDATE memory_policy SET updated_at = now()")

    monkeypatch.setattr(Relocation, "_copy", copy_badly)
    with pytest.raises(Conflict, match="is not the same on both servers in memory_policy"):
        await _moved(servers, "tenant", "second")
    assert (await servers.workspaces.get(ADMIN, "tenant")).database == created.database
    async with servers.host.use("tenant") as store:
        await person(store, "Ada")


@pytest.mark.parametrize("reason", ["2F003", "XX000"])
async def test_a_move_that_a_server_refuses_at_the_end_can_be_undone(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """The old server may not follow without a password, say. Whoever waits is told."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    execute = psycopg.AsyncConnection.execute

    async def refuse(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        if "_back_" in str(query) and "CREATE SUBSCRIPTION" in str(query):
            query = f"DO $$ BEGIN RAISE SQLSTATE '{reason}'; END $$"
        return await execute(self, query, *args, **options)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", refuse)
    with pytest.raises(Conflict, match=f"a server refuses .{reason}.; see its log"):
        await servers.workspaces.move(ADMIN, "tenant", "second")
    undone = await servers.workspaces.undo_move(ADMIN, "tenant")
    assert (undone.database, undone.move) == (created.database, None)


async def test_a_copy_that_cannot_begin_keeps_no_log(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would read it, and it would grow until the disk is full."""
    await servers.workspaces.create(ADMIN, "tenant")
    execute = psycopg.AsyncConnection.execute

    async def refuse(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        if "CREATE SUBSCRIPTION" in str(query):
            query = "DO $$ BEGIN RAISE SQLSTATE '08006'; END $$"
        return await execute(self, query, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.AsyncConnection, "execute", refuse)
        with pytest.raises(Conflict, match="cannot reach the other server"):
            await servers.workspaces.move(ADMIN, "tenant", "second")
    assert rows("SELECT slot_name FROM pg_replication_slots") == []
    assert (await _moved(servers, "tenant", "second")).server == "second"


async def test_a_change_over_that_fails_keeps_no_log(
    servers: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new server would keep all that is copied until somebody tries again."""
    await servers.workspaces.create(ADMIN, "tenant")
    execute = psycopg.AsyncConnection.execute

    async def refuse(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        if "app_moved" in str(query):
            query = "DO $$ BEGIN RAISE SQLSTATE 'XX000'; END $$"
        return await execute(self, query, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.AsyncConnection, "execute", refuse)
        with pytest.raises(Conflict, match="a server refuses"):
            await servers.workspaces.move(ADMIN, "tenant", "second")
    stayed = await servers.workspaces.get(ADMIN, "tenant")
    assert stayed.move is not None
    assert (stayed.server, stayed.move.state) == ("main", MoveState.COPYING)
    assert _ask(second, "SELECT slot_name FROM pg_replication_slots") == []
    assert (await _moved(servers, "tenant", "second")).server == "second"


async def test_a_move_is_ended_whatever_language_a_server_speaks(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its database was never made: that is known without the words of an error."""
    created = await servers.workspaces.create(ADMIN, "tenant")

    def refuse(*_: object, **__: object) -> None:
        raise Conflict("does not let its owner create databases", field="server")

    with monkeypatch.context() as patched:
        patched.setattr(relocation, "create_database", refuse)
        with pytest.raises(Conflict, match="does not let"):
            await servers.workspaces.move(ADMIN, "tenant", "second")
    connect = psycopg.AsyncConnection.connect

    async def connect_in_german(*args: Any, **options: Any) -> Any:
        try:
            return await connect(*args, **options)
        except psycopg.OperationalError as error:
            raise type(error)(str(error).replace("does not exist", "existiert nicht")) from None

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", connect_in_german)
    undone = await servers.workspaces.undo_move(ADMIN, "tenant")
    assert (undone.database, undone.move) == (created.database, None)


def databases_of(url: str) -> list[str]:
    return [
        name for (name,) in _ask(url, "SELECT datname FROM pg_database WHERE datname ~ '_tenant_'")
    ]


async def test_every_table_can_be_followed(servers: Remembrancer) -> None:
    """A table without a primary key would refuse changes as soon as it is published."""
    assert (
        rows(
            "SELECT c.oid::regclass::text FROM pg_class AS c JOIN pg_namespace AS n"
            " ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'p') AND n.nspname IN ('public', 'jobs') AND NOT EXISTS"
            " (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)"
        )
        == []
    )


async def test_a_workspace_comes_with_what_its_plans_are_made_from(servers: Remembrancer) -> None:
    """Nobody waits until the new server looks at it by itself."""
    await servers.workspaces.create(ADMIN, "tenant")
    async with servers.host.use("tenant") as store:
        await store.remember("Ada drinks tea.", user=await person(store, "Ada"))
    moved = await _moved(servers, "tenant", "second")
    new = _address(servers, "second", moved.database)
    counted = _ask(new, "SELECT reltuples FROM pg_class WHERE relname IN ('users', 'memories')")
    assert counted == [(1,), (1,)]


async def test_over_rest(servers: Remembrancer, api: Api) -> None:
    """Begun, waited for, undone and confirmed by requests; reads and writes go on by the key."""
    answer = await api.client.post("/api/workspaces", json={"name": "tenant"}, headers=api.admin)
    ours = bearer(answer.json()["secret"])
    path, body = "/api/workspaces/tenant/move", {"server": "second", "wait_seconds": 0.1}
    for end in ("undo", "confirm"):
        while True:
            answer = await api.client.post(path, json=body, headers=api.admin)
            assert answer.status_code == 200, answer.text
            if answer.json()["move"]["state"] == "moved":
                break
        ada = {"platform": "discord", "platform_user_id": end, "display_name": "Ada"}
        made = await api.client.post("/api/users/resolve", json=ada, headers=ours)
        assert made.status_code == 200, made.text
        answer = await api.client.post(f"{path}/{end}", headers=api.admin)
        assert (answer.status_code, answer.json()["move"]) == (200, None), answer.text
    users = (await api.client.get("/api/users", headers=ours)).json()["items"]
    assert len(users) == 2
    again = await api.client.post(f"{path}/undo", headers=api.admin)
    assert (again.status_code, "not on its way" in again.text) == (409, True)
    answer = await api.client.post(path, json={"server": "second"}, headers=api.admin)
    assert (answer.status_code, "already" in answer.text) == (409, True)


async def test_a_change_in_the_middle_of_a_move_is_repeated_on_the_new_server(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it stays behind. A method that is not of a service says that it moved."""
    await servers.workspaces.create(ADMIN, "tenant")
    async with servers.host.use("tenant") as store:
        user = await person(store, "Ada")
        begun = asyncio.Event()
        go_on = asyncio.Event()
        tried = []

        async def change() -> None:
            async with store.database.system() as connection:
                await connection.exec_driver_sql("SELECT 1")
                tried.append(store.database.url)
                begun.set()
                await go_on.wait()
                await connection.exec_driver_sql("UPDATE users SET display_name = 'Ada L.'")

        changing = asyncio.create_task(change())
        await begun.wait()
        await _moved(servers, "tenant", "second")
        go_on.set()
        with pytest.raises(WorkspaceMoved, match="repeat the request"):
            await changing
        assert (await store.users.get(as_actor(user), user.id)).display_name == "Ada"
        begun.clear()
        await change()
        assert tried[0] != tried[1]
        assert (await store.users.get(as_actor(user), user.id)).display_name == "Ada L."


async def test_an_owner_who_serves_reads_nothing_from_what_was_left(
    servers: Remembrancer,
) -> None:
    """One login for all passes what privileges refuse; the old server lags, and is dropped."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    old = _address(servers, "main", created.database)

    async def find() -> str:
        place = await servers.workspaces.get(ADMIN, "tenant")
        return _address(servers, place.server, place.database)

    both = [Database(old, find=find) for _ in range(2)]
    try:
        for database in both:
            await database.ping()
        moved = await _moved(servers, "tenant", "second")
        await both[0].ping()
        with suppress(WorkspaceMoved):
            await both[1].one_round_trip(ADMIN, Statement(numbered("SELECT 1"), {}))
        assert all(f"/{moved.database}?" in database.url for database in both)
    finally:
        for database in both:
            await database.close()


async def test_a_look_whose_database_is_dropped_meanwhile_is_repeated_too(
    servers: Remembrancer,
) -> None:
    """The end of a move ends the connections to what was left."""
    await servers.workspaces.create(ADMIN, "tenant")
    async with servers.host.use("tenant") as store:
        begun, go_on = asyncio.Event(), asyncio.Event()
        tried: list[str] = []

        @retries_deadlock
        async def look() -> object:
            async with store.database.system() as connection:
                tried.append(store.database.url)
                begun.set()
                await go_on.wait()
                return (await connection.exec_driver_sql("SELECT 7")).scalar()

        looking = asyncio.create_task(look())
        await begun.wait()
        await _moved(servers, "tenant", "second")
        await servers.workspaces.confirm_move(ADMIN, "tenant")
        go_on.set()
        assert await looking == 7
        assert (len(tried), len(set(tried))) == (2, 2)


@pytest.mark.parametrize("moment", ["look", "change"])
async def test_whoever_comes_back_too_late_destroys_nothing(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A process slept longer than its hold, just before it changed over; others have done it."""
    asleep, awake = asyncio.Event(), asyncio.Event()
    look, change = replication.is_fenced, replication.change_over
    changed = 0

    async def sleep(at: str) -> None:
        if at == moment and not asleep.is_set():
            asleep.set()
            await awake.wait()

    async def is_fenced(url: str) -> bool:
        found = await look(url)
        await sleep("look")
        return found

    async def change_over(copy: replication.Copy, back: replication.Copy | None = None) -> float:
        nonlocal changed
        changed += 1
        await sleep("change")
        return await change(copy, back)

    monkeypatch.setattr(replication, "is_fenced", is_fenced)
    monkeypatch.setattr(replication, "change_over", change_over)
    monkeypatch.setattr(holds, "RENEW_SECONDS", 1000.0)
    created = await servers.workspaces.create(ADMIN, "tenant")
    await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
    moving = servers.workspaces._moves._tasks["tenant"]
    await asleep.wait()
    rows("UPDATE workspaces SET held_until = now() - interval '1 second'")
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        assert await other.workspaces.recover() == 1
        awake.set()
        with pytest.raises(Conflict, match="by somebody else"):
            await moving
        assert changed == (1 if moment == "look" else 2)
        async with other.host.use("tenant") as store:
            await person(store, "Ada")
        undone = await other.workspaces.undo_move(ADMIN, "tenant")
        assert (undone.database, undone.move) == (created.database, None)
        async with other.host.use("tenant") as store:
            assert [user.display_name for user in (await store.users.list(ADMIN)).items] == ["Ada"]


async def test_a_copy_that_begins_too_late_empties_nothing(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process slept longer than its hold before it began; others have moved the workspace."""
    asleep, awake = asyncio.Event(), asyncio.Event()
    begin = replication.begin

    async def begin_late(copy: replication.Copy) -> None:
        if not asleep.is_set():
            asleep.set()
            await awake.wait()
        await begin(copy)

    monkeypatch.setattr(replication, "begin", begin_late)
    monkeypatch.setattr(holds, "RENEW_SECONDS", 1000.0)
    await servers.workspaces.create(ADMIN, "tenant")
    await servers.workspaces.move(ADMIN, "tenant", "second", wait_seconds=0)
    moving = servers.workspaces._moves._tasks["tenant"]
    await asleep.wait()
    rows("UPDATE workspaces SET held_until = now() - interval '1 second'")
    async with Remembrancer.open(settings=servers.settings.model_copy()) as other:
        moved = await _moved(other, "tenant", "second")
        async with other.host.use("tenant") as store:
            await person(store, "Ada")
            awake.set()
            with pytest.raises(Conflict, match="by somebody else"):
                await moving
            assert [user.display_name for user in (await store.users.list(ADMIN)).items] == ["Ada"]
        assert await _same(servers, moved)
        undone = await other.workspaces.undo_move(ADMIN, "tenant")
        assert undone.server == "main"


async def test_whoever_has_lost_its_hold_opens_no_old_server_again(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have gone back, and moved the workspace again, while a process slept."""
    created = await servers.workspaces.create(ADMIN, "tenant")
    await _moved(servers, "tenant", "second")
    change = replication.change_over

    async def change_over(copy: replication.Copy, back: replication.Copy | None = None) -> float:
        began = await change(copy, back)
        rows("UPDATE workspaces SET holder = gen_random_uuid()")
        return began

    with monkeypatch.context() as patched:
        patched.setattr(replication, "change_over", change_over)
        with pytest.raises(Conflict, match="by somebody else"):
            await servers.workspaces.undo_move(ADMIN, "tenant")
    assert await replication.is_fenced(_address(servers, "main", created.database))
    rows("UPDATE workspaces SET held_until = now() - interval '1 second'")
    assert await servers.workspaces.recover() == 1
    undone = await servers.workspaces.get(ADMIN, "tenant")
    assert (undone.database, undone.move) == (created.database, None)


class _Held:
    """Calls that wait in their first transaction."""

    def __init__(self) -> None:
        self.calls: set[object] = set()
        self.go_on = asyncio.Event()

    async def wait(self) -> None:
        call = asyncio.current_task()
        if call not in self.calls:
            self.calls.add(call)
            await self.go_on.wait()


@asynccontextmanager
async def held(store: Remembrancer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Held]:
    """Hold each call of a store in its first transaction, until the end."""
    holding = _Held()
    begin = store.database._begin

    @asynccontextmanager
    async def begin_and_wait(*args: Any) -> AsyncIterator[Any]:
        async with begin(*args) as begun:
            await holding.wait()
            yield begun

    with monkeypatch.context() as patched:
        patched.setattr(store.database, "_begin", begin_and_wait)
        try:
            yield holding
        finally:
            holding.go_on.set()


async def test_no_service_fails_for_a_move(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was about to write when the workspace moved is written on the new server, once."""
    monkeypatch.setattr(servers.settings.workspaces, "pool_size", 30)
    await servers.workspaces.create(ADMIN, "tenant")
    async with servers.host.use("tenant") as store:
        ada = await person(store, "Ada")
        acting = as_actor(ada)
        talk = await store.conversations.open(acting)
        ids = [(await store.remember(f"Ada has {what}.", user=ada)).memory.id for what in BIRDS]
        link = await store.sign_ins.link(ADMIN)
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "agent": lambda: store.agents.create(ADMIN, AgentCreate(name="Quiet Hour")),
            "association": lambda: store.associations.add(
                acting, ids[0], AssociationCreate(target_id=ids[1])
            ),
            "policy": lambda: store.policies.set(
                ADMIN, PolicyUpdate(allow_agent_specific_memory_globally=False)
            ),
            "sign-in": lambda: store.sign_ins.redeem(link, entry_point="web"),
            "refused sign-in": lambda: store.sign_ins.refuse(None, entry_point="web"),
            "filter": lambda: store.saved_filters.save(acting, "Birds", MemoryFilter(text="rook")),
            "context": lambda: store.conversations.context(
                acting, ContextQuery(conversation_id=talk.id)
            ),
            "look": lambda: store.reads.note(ADMIN, "memory.list", [(ada.id, ids[0])]),
            "list": lambda: store.users.list(ADMIN),
            "log": lambda: store.audit.list(ADMIN),
            "names": lambda: store.names.find(ADMIN, "Ada"),
            "refusal": lambda: _refused(store.memories.get(acting, "rook")),
            "retention": lambda: store.retention.run(ADMIN, dry_run=False),
            "summaries": lambda: store.conversations.summarize(acting, talk.id),
        }
        async with held(store, monkeypatch) as holding:
            tasks = {name: asyncio.create_task(_run(call)) for name, call in calls.items()}
            while len(holding.calls) < len(tasks):
                assert not [name for name, task in tasks.items() if task.done()]
                await asyncio.sleep(0.01)
            await _moved(servers, "tenant", "second")
            holding.go_on.set()
            answers = await asyncio.gather(*tasks.values(), return_exceptions=True)
        failed = {
            name: answer
            for name, answer in zip(tasks, answers, strict=True)
            if isinstance(answer, BaseException)
        }
        assert failed == {}
        assert len((await store.agents.list(ADMIN)).items) == 1
        assert len((await store.saved_filters.list(acting)).items) == 1


BIRDS = ("seen a rook", "heard a lark")


async def _run(call: Callable[[], Awaitable[Any]]) -> None:
    await call()


async def _refused(call: Awaitable[Any]) -> None:
    with pytest.raises(NotFound):
        await call


_OPENS = re.compile(r"\.(transaction|transaction_with|system|system_for)\(")
_REPEATED = retries_deadlock(_run).__code__
_NOT_REPEATED = {
    # They only read, or add nothing that a caller waits for.
    *("AgentMemory._cards", "AgentMemory._parts", "Bulletins.bulletin", "Export.export"),
    *("ConversationTurns._sender", "Retention.run", "Uploads.list", "Uploads.parts"),
    *("Summaries._is_due", "Summaries._next", "Summaries.unsummarised", "Usage._days"),
    # The background does it again.
    *("Expiry._sweep", "Summaries.sweep"),
    # The parts of a file can be read once.
    "Uploads.create",
}


def _unrepeated(service: type) -> Iterator[str]:
    """The methods of a service whose transactions are not repeated where they were undone."""
    for kind in service.__mro__:
        methods = dict(_chains(kind))
        public = [chain for name, chain in methods.items() if not name.startswith("_")]
        is_whole = bool(public) and all(map(_is_repeated, public))
        for name, chain in methods.items():
            opens = _OPENS.search(inspect.getsource(chain[-1]))
            if opens and not _is_repeated(chain) and not (is_whole and name.startswith("_")):
                yield f"{kind.__name__}.{name}"


def _chains(kind: type) -> Iterator[tuple[str, list[Any]]]:
    """The coroutine methods of a class, each with what its decorators are around."""
    for name, method in vars(kind).items():
        chain = [method]
        while (inner := getattr(chain[-1], "__wrapped__", None)) is not None:
            chain.append(inner)
        if inspect.iscoroutinefunction(chain[-1]) or inspect.isasyncgenfunction(chain[-1]):
            yield name, chain


def _is_repeated(chain: list[Any]) -> bool:
    return any(getattr(each, "__code__", None) is _REPEATED for each in chain)


async def test_whatever_a_service_writes_is_repeated(memory: Remembrancer) -> None:
    """A new service, or a new method, says so, or why it need not be."""
    store = Remembrancer(memory.settings, memory.database, memory.embedder)
    parts = [*vars(store).values(), store.restorations]
    parts += [
        bound.__self__
        for part in parts
        for bound in getattr(part, "__dict__", {}).values()
        if inspect.ismethod(bound)
    ]
    services = {type(part) for part in parts} - {Database, WorkspaceOperations}
    services = {
        each
        for each in services
        if each.__module__.startswith("remembrancer.")
        # Their table is in the default workspace, which never moves.
        and not each.__module__.startswith("remembrancer.workspaces.")
    }
    assert {AgentOperations, Batches, SignIns} <= services
    assert {name for service in services for name in _unrepeated(service)} == _NOT_REPEATED


async def test_reads_wait_for_a_move_that_died_and_then_say_so(
    servers: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process died behind the fence: others wait, then get 503, until somebody goes on."""
    await servers.workspaces.create(ADMIN, "tenant")
    save = Relocation._save
    died: list[bool] = []

    async def die(self: Relocation[Any], move: Any, place: Any) -> None:
        if place is not None and not died:
            died.append(True)
            raise OSError("died")
        await save(self, move, place)

    monkeypatch.setattr(Relocation, "_save", die)
    async with servers.host.use("tenant") as store:
        await person(store, "Ada")
        with pytest.raises(OSError, match="died"):
            await _moved(servers, "tenant", "second")

        with monkeypatch.context() as patched:
            patched.setattr(location, "WAIT_SECONDS", 0.2)
            with pytest.raises(WorkspaceUnavailable, match="is being moved; try again"):
                await store.users.list(ADMIN)
        assert await servers.workspaces.recover() == 1
        assert [user.display_name for user in (await store.users.list(ADMIN)).items] == ["Ada"]
    moved = await servers.workspaces.get(ADMIN, "tenant")
    assert (moved.server, moved.move is not None) == ("second", True)


AT_IT = """
import asyncio, sys
from itertools import count
from pathlib import Path
from remembrancer import Actor, Remembrancer, Role, Settings

ADMIN = Actor(Role.ADMIN)

def say(*words):
    print(*words, flush=True)

async def main():
    async with Remembrancer.open(settings=Settings()) as host:
        say("ready")
        for number in count():
            there = (await host.workspaces.get(ADMIN, "tenant")).server
            other = "second" if there == "main" else "main"
            while (await host.workspaces.move(ADMIN, "tenant", other)).move.state != "moved":
                pass
            say("moved")
            if number % 2:
                await host.workspaces.confirm_move(ADMIN, "tenant")
            else:
                await host.workspaces.undo_move(ADMIN, "tenant")
            say("ended")

asyncio.run(main())
"""


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.soak)])
async def test_after_kill_9_a_workspace_is_whole_in_one_place(
    servers: Remembrancer, database_url: str, second: str, rounds: int
) -> None:
    """Amid moves, while people write, nothing that was acknowledged is lost."""
    environment = {
        **os.environ,
        "REMEMBRANCER_DATABASE_URL": service_url(database_url),
        "REMEMBRANCER_DATABASE_OWNER_URL": database_url,
        "REMEMBRANCER_DATA_DIR": str(servers.settings.data_dir),
        "REMEMBRANCER_WORKSPACES__SERVERS": json.dumps(
            {"second": {"url": service_url(second), "owner_url": second}}
        ),
    }
    await servers.workspaces.create(ADMIN, "tenant")
    moments, ends = random.Random(9), random.Random(9)
    load = Load(servers, "tenant")
    told = 0
    async with load.running():
        for _ in range(rounds):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", AT_IT), stdout=PIPE, env=environment
            )
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
            for _ in range(moments.randint(0, 2)):
                told += bool(await process.stdout.readline())
            await asyncio.sleep(moments.uniform(0, 3))
            process.send_signal(signal.SIGKILL)
            await process.wait()
            # As if the time of its hold had passed.
            gone = "UPDATE workspaces SET held_until = now() - interval '1 second'"
            await asyncio.to_thread(rows, gone)
            await servers.workspaces.recover()
            await load.goes_on()
            await _check(servers, second)
            assert await load.is_all_there()
            workspace = await servers.workspaces.get(ADMIN, "tenant")
            if workspace.move is not None:
                if ends.random() < 0.5:
                    await _moved(servers, "tenant", workspace.move.to_server)
                await servers.workspaces.undo_move(ADMIN, "tenant")
            await load.goes_on()
            await _check(servers, second)
    assert told >= rounds / 2
    assert await load.is_all_there()
    await servers.host.close()


async def _check(host: Remembrancer, second: str) -> None:
    """One place is used; what else is there is known, and refuses."""
    workspace = await host.workspaces.get(ADMIN, "tenant")
    places = {(workspace.server, workspace.database)}
    if (move := workspace.move) is not None:
        assert move.state in {MoveState.COPYING, MoveState.MOVED}
        places |= {(move.from_server, move.from_database), (move.to_server, move.to_database)}
        used = (
            (move.to_server, move.to_database)
            if move.state == MoveState.MOVED
            else (move.from_server, move.from_database)
        )
        assert used == (workspace.server, workspace.database)
        assert await replication.is_fenced(
            _address(host, move.from_server, move.from_database)
        ) == (move.state == MoveState.MOVED)
    there = {("main", name) for name in databases()}
    there |= {("second", name) for name in databases_of(second)}
    assert there <= places
    assert (workspace.server, workspace.database) in there
