"""A store behind PgBouncer in transaction mode: each transaction may run in another session."""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx2
import psycopg
import pytest
from helpers import ADMIN, free_port, rows
from pydantic import SecretStr
from sqlalchemy import make_url, text

from remembrancer import (
    ContextQuery,
    ConversationCreate,
    MemoryCreate,
    MemoryFilter,
    MessageCreate,
    RecallQuery,
    Remembrancer,
    ResolveUser,
    Role,
    Settings,
    User,
    as_actor,
)
from remembrancer.access import Actor
from remembrancer.api import create_app
from remembrancer.backup import Archive, back_up
from remembrancer.cli.doctor import check_store
from remembrancer.client import AsyncClient
from remembrancer.db.engine import Database
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import APP_ROLE
from remembrancer.keys.schemas import KeyCreate
from remembrancer.settings import DatabaseSettings, EmbeddingSettings, JobSettings, SummarySettings

BOUNCER: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SESSIONS: Final = 2
"""Sessions of Postgres that all clients share."""

pytestmark = pytest.mark.skipif(BOUNCER is None, reason="PgBouncer is not installed")


@pytest.fixture(scope="module")
def bouncer(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The addresses of the service and the owner, through PgBouncer."""
    owner = make_url(database_url)
    place = {
        "host": owner.query.get("host", owner.host),
        "port": owner.query.get("port", owner.port),
        "dbname": owner.database,
        "password": owner.password,
    }
    known = " ".join(f"{name}={value}" for name, value in place.items() if value is not None)
    anywhere = known.replace(f" dbname={owner.database}", "")
    port = free_port()
    config = tmp_path_factory.mktemp("bouncer") / "pgbouncer.ini"
    config.write_text(f"""
[databases]
service = {known} user={APP_ROLE}
owner = {known} user={owner.username}
* = {anywhere} user={APP_ROLE}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {SESSIONS}
max_client_conn = 200
log_connections = 0
log_disconnections = 0
""")
    # Root it refuses to be; the socket of the embedded server is open to its own account alone.
    socket_dir = Path(str(place["host"]))
    account = socket_dir.owner() if socket_dir.is_dir() and os.geteuid() == 0 else ""
    assert BOUNCER
    command = [BOUNCER, "--quiet", *(["--user", account] if account else []), str(config)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        address = f"postgresql://anybody@127.0.0.1:{port}"
        yield f"{address}/service", f"{address}/owner"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < until, "PgBouncer does not start"
            time.sleep(0.02)
        else:
            return


def _settings(service: str, owner: str | None, data_dir: Path) -> Settings:
    return Settings(
        data_dir=data_dir,
        database_url=SecretStr(service),
        database_owner_url=None if owner is None else SecretStr(owner),
        database=DatabaseSettings(pool_size=8),
        embedding=EmbeddingSettings(threads=1),
        jobs=JobSettings(heartbeat=1),
        summaries=SummarySettings(messages=20, batch=4),
    )


async def test_people_at_once_share_two_sessions_and_see_their_own(
    memory: Remembrancer, bouncer: tuple[str, str], tmp_path: Path
) -> None:
    """Of many clients at once, each acts for its user alone, on every way in, and nothing fails."""
    service, owner = bouncer
    # Nobody sees a step that is due, so a server goes on at once.
    await asyncio.to_thread(migrate, owner, service)
    async with Remembrancer.open(settings=_settings(service, owner, tmp_path)) as pooled:
        assert await pooled.database.is_pooled()
        assert not await memory.database.is_pooled()
        names = [f"Person{n}" for n in range(4)]
        people = [await _person(pooled, name) for name in names]
        secrets = [
            (
                await pooled.keys.create(
                    ADMIN, KeyCreate(name=user.display_name, role=Role.USER, user_id=user.id)
                )
            ).secret
            for user in people
        ]
        transport = httpx2.ASGITransport(app=create_app(pooled))
        clients = [AsyncClient("http://test", secret, transport=transport) for secret in secrets]
        async with pooled.worker.running():
            await asyncio.gather(
                *(_live(client, user) for client, user in zip(clients, people, strict=True)),
                *(_peek(pooled.database, user) for user in people * 5),
            )
            await _summarised(pooled)
        for client in clients:
            await client.close()
        assert rows("SELECT count(*) FROM chunks WHERE owner_id <> ALL (%s)", _ids(people)) == [
            (0,)
        ]

        ada, bob, cleo, *_ = people
        merged = await pooled.users.merge(as_actor(), ada.id, bob.id)
        assert merged.counts.memories == 2
        known = await pooled.recall("What is the word?", user=ada.id, limit=50)
        assert {"Person0", "Person1"} <= set(_told(hit.content for hit in known.hits))
        await pooled.users.undo_merge(as_actor(), ada.id, merged.undo_id)
        await pooled.users.erase(as_actor(), cleo.id, dry_run=False)
        assert rows("SELECT count(*) FROM memories WHERE owner_id = %s", cleo.id) == [(0,)]
        found = {finding.subject: finding for finding in await check_store(pooled)}
        assert "pooler" in found["Connections"].result
        assert all(finding.good for finding in found.values())

    file = tmp_path / "store.backup"
    await asyncio.to_thread(back_up, owner, file)
    with Archive(file) as archive:
        lines = {table.name: table.rows for table in archive.manifest.tables}
    assert lines["public.memories"] == 2 * (len(people) - 1)
    await _untouched(service, owner)


async def test_the_owner_acts_as_the_service_behind_a_pooler_too(
    memory: Remembrancer, bouncer: tuple[str, str]
) -> None:
    """With one address, the role is set for each transaction: no session keeps it."""
    service, owner = bouncer
    database = Database(owner, pool_size=8)
    people = [await _person(memory, f"Person{n}") for n in range(4)]
    for user in people:
        await memory.remember(f"The word of {user.display_name} is kept.", user=user)
    try:
        await asyncio.gather(*(_peek(database, user) for user in people * 10))
    finally:
        await database.close()
    await _untouched(service, owner)


async def _person(memory: Remembrancer, name: str) -> User:
    who = ResolveUser(platform="discord", platform_user_id=name, display_name=name)
    return await memory.users.resolve(as_actor(), who)


async def _live(client: AsyncClient, user: User) -> None:
    """Do with the client of a user what a bot does, and see nobody else."""
    name = user.display_name
    talk = await client.conversations.open(ConversationCreate())
    for n in range(2):
        await client.memories.remember(MemoryCreate(content=f"The word of {name} is {n}."))
        said = [MessageCreate(content=f"My word {n}, says {name}, part {k}.") for k in range(13)]
        await client.conversations.append(talk.id, said)
        answer = await client.memories.recall(RecallQuery(query="What is the word?", limit=50))
        assert set(_told(hit.content for hit in answer.hits)) == {name}
        context = await client.conversations.context(
            ContextQuery(message="What is the word?", conversation_id=talk.id)
        )
        assert set(_told([str(context)])) == {name}
        listed = await client.memories.list(MemoryFilter())
        assert set(_told(each.content for each in listed.items)) == {name}
        assert {each.user_id for each in listed.items} == {user.id}
    [only] = (await client.conversations.list()).items
    assert only.id == talk.id


def _told(texts: Any) -> list[str]:
    """Who is named in texts."""
    return [f"Person{n}" for text in texts for n in range(9) if f"Person{n}" in text]


async def _peek(database: Database, user: User) -> None:
    """Look at all memories, without the access rule of the services: the policies hide others'."""
    async with database.transaction(Actor(Role.USER, user_id=user.id)) as (connection, _):
        for _ in range(2):
            query = (
                "SELECT current_user, current_setting('app.user_id'), current_setting('app.role'),"
                " current_setting('timezone'), current_setting('jit'),"
                " ARRAY(SELECT DISTINCT owner_id FROM memories) <@ ARRAY[CAST(:me AS uuid)]"
            )
            row = (await connection.execute(text(query), {"me": user.id})).one()
            assert tuple(row) == (APP_ROLE, str(user.id), "user", "UTC", "off", True)
            await asyncio.sleep(0)


async def _summarised(memory: Remembrancer) -> None:
    """Wait for the worker, which nobody wakes up."""
    until = time.monotonic() + 240
    while rows("SELECT count(DISTINCT owner_id) FROM chunks") != [(4,)]:
        assert time.monotonic() < until, (await memory.jobs.list(ADMIN)).items
        await asyncio.sleep(0.05)


async def _untouched(*addresses: str) -> None:
    """Nothing is left in the sessions behind the pooler."""
    query = (
        "SELECT coalesce(current_setting('app.role', true), ''), current_user = session_user,"
        # Those of a newer PgBouncer are its own.
        " (SELECT count(*) FROM pg_prepared_statements WHERE name !~ '^PGBOUNCER_'),"
        " (SELECT count(*) FROM pg_listening_channels()),"
        " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"
    )
    for address in addresses:
        async with AsyncExitStack() as stack:
            # Each has a session of its own while its transaction is open.
            for _ in range(SESSIONS):
                opened = await psycopg.AsyncConnection.connect(address, prepare_threshold=None)
                connection = await stack.enter_async_context(opened)
                cursor = await connection.execute(query)
                assert await cursor.fetchone() == ("", True, 0, 0, 0)


def _ids(people: list[User]) -> list[Any]:
    return [user.id for user in people]


async def test_workspaces_are_created_used_and_dropped_behind_it(
    memory: Remembrancer, database_url: str, bouncer: tuple[str, str], tmp_path: Path
) -> None:
    """Also the first of a server, for which a blank database is made."""
    for (name,) in rows(
        "SELECT datname FROM pg_database WHERE datname LIKE 'remembrancer_blank_%'"
    ):
        rows(f'DROP DATABASE "{name}" WITH (FORCE)')
    service = make_url(bouncer[0]).set(database=make_url(database_url).database)
    address = service.render_as_string(hide_password=False)
    async with Remembrancer.open(settings=_settings(address, database_url, tmp_path)) as pooled:
        for name in ("tenant-a", "tenant-b"):
            await pooled.workspaces.create(ADMIN, name)
            async with pooled.host.use(name) as store:
                who = ResolveUser(platform="app", platform_user_id="ada", display_name="Ada")
                ada = await store.users.resolve(as_actor(), who)
                await store.remember("Ada drinks tea.", user=ada)
                assert len((await store.recall("tea", user=ada)).hits) == 1
        for name in ("tenant-a", "tenant-b"):
            await pooled.workspaces.suspend(ADMIN, name)
            receipt = await pooled.workspaces.drop(ADMIN, name, dry_run=False)
            assert (receipt.users, receipt.memories) == (1, 1)
