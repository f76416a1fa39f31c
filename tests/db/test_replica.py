"""A streaming replica: which reads it has, and that it shows nothing old."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from helpers import ADMIN, database_beside
from pydantic import SecretStr
from sqlalchemy import make_url, text

from remembrancer import (
    ContextQuery,
    ConversationCreate,
    Remembrancer,
    ResolveUser,
    User,
    as_actor,
)
from remembrancer.cli.doctor import replica_findings
from remembrancer.db import replica
from remembrancer.db.embedded import EmbeddedPostgres, binaries
from remembrancer.db.embedded.account import server_account
from remembrancer.db.embedded.process import ServerLog, ServerProcess
from remembrancer.db.migrate import migrate
from remembrancer.db.replica import may_use_replica
from remembrancer.db.urls import driver_url, libpq_url, service_url
from remembrancer.errors import DatabaseUnavailable
from remembrancer.settings import WorkspaceServer
from remembrancer.statistics import counts

pytestmark = pytest.mark.skipif(
    "REMEMBRANCER_TEST_DATABASE_URL" in os.environ, reason="copies the embedded server"
)


@dataclass
class Copy:
    """A running replica."""

    primary: str
    url: str
    admin: psycopg.Connection[Any]
    process: ServerProcess

    def pause(self, *, paused: bool = True) -> None:
        """Let it replay nothing more, or go on."""
        self.admin.execute(f"SELECT pg_wal_replay_{'pause' if paused else 'resume'}()")
        state = "paused" if paused else "not paused"
        while self.admin.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != (state,):
            pass

    def keep(self, database: str) -> None:
        """Let a database write to the disk, as others of tests do not; wait until it is there."""
        with psycopg.connect(self.primary, autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = on')
        exists = "SELECT count(*) FROM pg_database WHERE datname = %s"
        while self.admin.execute(exists, [database]).fetchone() == (0,):
            pass

    def transactions(self) -> list[Any]:
        """When its connections ended their last transactions: of reads, not of looks."""
        query = """SELECT pid, query_start FROM pg_stat_activity
                    WHERE usename = 'remembrancer_app' AND query = 'COMMIT'"""
        return self.admin.execute(query).fetchall()


@pytest.fixture(scope="module")
def primary(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "copied") as url:
        migrate(driver_url(url), driver_url(service_url(url)))
        yield url


@pytest.fixture(scope="module")
def copy(primary: str, database_url: str) -> Iterator[Copy]:
    place = make_url(database_url)
    home = Path(tempfile.mkdtemp(prefix="remembrancer-", dir="/tmp"))
    data, account = home / "data", server_account(home / "data")
    programs = binaries.installed() / binaries.HOME / "bin"
    there = ["-h", str(place.query["host"]), "-p", str(place.query["port"]), "-U", "postgres"]
    subprocess.run(
        [programs / "pg_basebackup", *there, "-D", data, "-R", "-c", "fast", "--no-sync"],
        check=True,
    )
    if account:
        for path in (home, *home.rglob("*")):
            os.chown(path, account.uid, account.gid)
    own = {"listen_addresses": "", "unix_socket_directories": home, "shared_buffers": "16MB"}
    options = [part for name, value in own.items() for part in ("-c", f"{name}={value}")]
    program = str(binaries.binaries_for(account) / "bin" / "postgres")
    command = [program, "-D", str(data), *options]
    process = ServerProcess(command, account, data, ServerLog(home / "log"))
    url = make_url(primary).update_query_dict({"host": str(home), "port": "5432"})
    address = url.render_as_string(hide_password=False)
    with _connected(address) as admin:
        copy = Copy(primary, address, admin, process)
        copy.keep(str(make_url(primary).database))
        yield copy
    process.stop()
    shutil.rmtree(home)


def _connected(url: str) -> psycopg.Connection[Any]:
    for _ in range(2400):
        with suppress(psycopg.OperationalError):
            return psycopg.connect(libpq_url(url), autocommit=True)
        time.sleep(0.05)
    pytest.fail("the replica did not start")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another server, without a replica."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("second"), shared_buffers="32MB")
    yield server.start()
    server.stop()


@pytest.fixture
async def server(
    primary: str, copy: Copy, second: str, opened: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Remembrancer]:
    """A server with the replica, which asks it each time."""
    monkeypatch.setattr(replica, "REST", 0.0)
    monkeypatch.setattr(replica, "ANSWER", 60.0)
    _wait_long(monkeypatch)
    settings = _settings(primary, copy, opened)
    place = WorkspaceServer(url=SecretStr(service_url(second)), owner_url=SecretStr(second))
    settings.workspaces = settings.workspaces.model_copy(update={"servers": {"second": place}})
    async with Remembrancer.open(settings=settings) as memory:
        yield memory
    with suppress(psycopg.OperationalError):  # one test ends it
        copy.pause(paused=False)


def _wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reads wait for the replica, however slow this machine is."""
    monkeypatch.setattr(replica, "LONGEST_WAIT", 60.0)
    monkeypatch.setattr(replica, "_LOOKS", 1200)


def _settings(primary: str, copy: Copy, opened: Remembrancer) -> Any:
    return opened.settings.model_copy(
        update={
            "database_url": SecretStr(service_url(primary)),
            "database_owner_url": SecretStr(primary),
            "database_replica_url": SecretStr(service_url(copy.url)),
        }
    )


async def _person(memory: Remembrancer, name: str) -> User:
    user = ResolveUser(platform="app", platform_user_id=name, display_name=name)
    return await memory.users.resolve(as_actor(), user)


async def test_lists_and_statistics_come_from_the_replica(server: Remembrancer, copy: Copy) -> None:
    """Recall, contexts and all that writes never do."""
    ada = await _person(server, "Ada")
    me = as_actor(ada)
    await server.remember("Ada drinks tea.", user=ada)
    reads = {
        "memories": lambda: server.memories.list(me),
        "conversations": lambda: server.conversations.list(me),
        "graph": lambda: server.lookup.graph(me),
        "timeline": lambda: server.lookup.timeline(me, "UTC"),
        "numbers": lambda: counts(server.database),
        "statistics": lambda: server.policies.statistics(ADMIN),
        "usage": lambda: server.usage.list(ADMIN),
    }
    for name, read in reads.items():
        before = copy.transactions()
        await read()
        assert copy.transactions() != before, name
    talk = await server.conversations.open(me, ConversationCreate())
    others = {
        "recall": lambda: server.recall("What does Ada drink?", user=ada),
        "context": lambda: server.conversations.context(
            me, ContextQuery(conversation_id=talk.id, message="tea")
        ),
        "write": lambda: server.remember("Ada has a cat.", user=ada),
        "audit": lambda: server.audit.list(ADMIN),
        "one": lambda: server.users.get(me, ada.id),
    }
    before = copy.transactions()
    for other in others.values():
        await other()
    assert copy.transactions() == before


async def test_what_was_written_anywhere_is_in_every_list(
    server: Remembrancer, primary: str, copy: Copy, opened: Remembrancer
) -> None:
    """Written by one server and listed by another at once, by the replica."""
    bob = await _person(server, "Bob")
    async with Remembrancer.open(settings=_settings(primary, copy, opened)) as other:
        for number in range(20):
            text = f"Bob has read book number {number}."
            await server.remember(text, user=bob)
            before = copy.transactions()
            newest = (await other.memories.list(as_actor(bob), limit=1)).items[0]
            assert newest.content == text
            assert copy.transactions() != before


async def test_a_replica_that_lags_shows_nothing_old(
    server: Remembrancer, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The primary answers, and the replica again once it is there."""
    monkeypatch.setattr(replica, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(replica, "_LOOKS", 10)
    cleo = await _person(server, "Cleo")
    await server.remember("Cleo has a boat.", user=cleo)
    copy.pause()
    before = copy.transactions()
    for number in range(3):
        await server.remember(f"Cleo has cat number {number}.", user=cleo)
        page = await server.memories.list(as_actor(cleo))
        assert len(page.items) == number + 2
    assert (await counts(server.database)).memories >= 4
    assert copy.transactions() == before
    findings = await replica_findings(server)
    assert [f.good for f in findings] == [True]
    assert "behind" in findings[0].result
    _wait_long(monkeypatch)
    copy.pause(paused=False)
    assert len((await server.memories.list(as_actor(cleo))).items) == 4
    assert copy.transactions() != before


async def test_workspaces_have_the_replica_of_their_server(
    server: Remembrancer, copy: Copy, second: str
) -> None:
    """Until they move to another; then what they list comes from there."""
    created = await server.workspaces.create(ADMIN, "acme")
    copy.keep(created.database)
    places = (("main", True), ("second", False), ("main", True))
    for number, (place, is_copied) in enumerate(places):
        workspace = await server.workspaces.get(ADMIN, "acme")
        if place != workspace.server:
            async with server.host.use("acme") as store:  # open all the time
                if place == "second":
                    await server.workspaces.move(ADMIN, "acme", "second")
                else:
                    await server.workspaces.undo_move(ADMIN, "acme")
                eva = await _person(store, "Eva")
                await store.remember(f"Eva moved for the {number}. time.", user=eva)
                page = await store.memories.list(as_actor(eva))
                assert page.items[0].content == f"Eva moved for the {number}. time."
                assert store.database.replica is None
        async with server.host.use("acme") as store:
            eva = await _person(store, "Eva")
            await store.remember(f"Eva has read book number {number}.", user=eva)
            before = copy.transactions()
            page = await store.memories.list(as_actor(eva))
            assert page.items[0].content == f"Eva has read book number {number}."
            assert (copy.transactions() != before) == is_copied, place


async def test_a_list_that_has_to_write_does_so_on_the_primary(server: Remembrancer) -> None:
    written = []

    @may_use_replica
    async def note() -> None:
        async with server.database.system() as connection:
            await connection.execute(text("UPDATE memory_policy SET updated_at = now()"))
        written.append(True)

    await note()
    assert written == [True]


async def test_a_replica_that_is_gone_or_none_is_not_missed(
    server: Remembrancer, primary: str, copy: Copy, opened: Remembrancer
) -> None:
    """Lists go on, and ``doctor`` says so; last, since it ends the replica."""
    dora = await _person(server, "Dora")
    await server.remember("Dora paints.", user=dora)
    await server.memories.list(as_actor(dora))
    itself = Copy(primary, primary, copy.admin, copy.process)
    async with Remembrancer.open(settings=_settings(primary, itself, opened)) as other:
        assert len((await other.memories.list(as_actor(dora))).items) == 1
        [finding] = await replica_findings(other)
        assert (finding.good, "is none of this database" in finding.result) == (False, True)
    copy.process.stop()
    assert len((await server.memories.list(as_actor(dora))).items) == 1
    [finding] = await replica_findings(server)
    assert (finding.good, "does not answer" in finding.result) == (False, True)
    # What fails on the primary is told.
    with pytest.raises(DatabaseUnavailable):
        await may_use_replica(_fail)()


async def _fail() -> None:
    raise DatabaseUnavailable("the database does not answer")
