"""Open workspaces: who may go on with one, what counts as use, and servers that are silent."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from helpers import ADMIN, Api, person, rows
from pydantic import SecretStr
from test_workspaces import bearer, forget_host, host

from remembrancer import Remembrancer, as_actor
from remembrancer.backup import back_up, restore
from remembrancer.db.urls import libpq_url
from remembrancer.errors import DatabaseUnavailable, Forbidden, WorkspaceUnavailable
from remembrancer.settings import WorkspaceServer
from remembrancer.workspaces import host as hosts
from remembrancer.workspaces import repository
from remembrancer.workspaces.databases import in_thread

__all__ = ["host"]  # a fixture


async def _replace(host: Remembrancer) -> None:
    """Drop a workspace, and create another of its name."""
    await host.workspaces.suspend(ADMIN, "tenant")
    await host.workspaces.drop(ADMIN, "tenant", dry_run=False)
    await host.workspaces.create(ADMIN, "tenant")


async def test_whoever_has_a_dropped_workspace_open_never_gets_to_its_successor(
    host: Remembrancer,
) -> None:
    """By whatever is still to be written, too."""
    await host.workspaces.create(ADMIN, "tenant")
    settings = host.settings.model_copy()
    async with (
        Remembrancer.open(settings=settings, workspace="tenant") as alone,
        Remembrancer.open(settings=settings) as other,
        other.host.use("tenant") as store,
    ):
        ada = await person(store, "Ada")
        await store.remember("Ada drinks tea.", user=ada)
        await store.recall("tea", user=ada)  # a line of the audit log waits
        await person(alone, "Ada")
        await _replace(host)
        for old in (alone, store):
            for _ in range(2):
                with pytest.raises(WorkspaceUnavailable, match="was dropped"):
                    await old.users.list(ADMIN)
    async with host.host.use("tenant") as new:
        assert (await new.users.list(ADMIN)).items == []
        assert [line.action for line in (await new.audit.list(ADMIN)).items] == ["key.create"]


async def test_a_workspace_that_moves_to_an_unknown_server_is_unavailable(
    host: Remembrancer,
) -> None:
    """This process has older settings: nothing is wrong with the request."""
    created = await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        rows("UPDATE workspaces SET server = 'elsewhere'")
        rows(f'DROP DATABASE "{created.database}" WITH (FORCE)')
        with pytest.raises(WorkspaceUnavailable, match="on a server that this process does not"):
            await store.users.list(ADMIN)
    rows("DELETE FROM workspaces")


async def test_a_workspace_whose_database_is_broken_is_unavailable(
    host: Remembrancer, api: Api
) -> None:
    """To whoever asks, without a reason."""
    created = await host.workspaces.create(ADMIN, "tenant")
    await forget_host(host)
    url = host.host.servers[created.server].owner_url_of(created.database)
    with psycopg.connect(libpq_url(url), autocommit=True) as connection:
        connection.execute("DROP TABLE embedding_model")
    answer = await api.client.get("/api/users", headers=bearer(created.secret))
    assert (answer.status_code, "embedding_model" in answer.text) == (503, False)


async def test_what_was_lent_is_looked_at_to_its_end(host: Remembrancer) -> None:
    """A long request notices a suspension, new limits and a drop, though others let go of it."""
    await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant") as store:
        host.host.check(store)
        await host.workspaces.suspend(ADMIN, "tenant")  # which lets go of it
        await host.host._follow()
        with pytest.raises(Forbidden, match="suspended"):
            host.host.check(store)
        assert not host.host.is_active(store)
        await host.workspaces.resume(ADMIN, "tenant")
        rows("""UPDATE workspaces SET limits = '{"requests_per_minute": 7}'""")
        await host.host._follow()
        host.host.check(store)
        assert host.host.limits(store) == {"requests_per_minute": 7}
        await _replace(host)
        await host.host._follow()
        with pytest.raises(WorkspaceUnavailable, match="dropped"):
            host.host.check(store)
    assert len(host.host._living) == len(host.host._opened)


async def test_a_workspace_that_a_newer_server_has_migrated_is_opened_anew(
    host: Remembrancer,
) -> None:
    await host.workspaces.create(ADMIN, "tenant")
    async with host.host.use("tenant"):
        pass
    rows("UPDATE workspaces SET revision = '9999'")
    await host.host._follow()
    assert not host.host._opened


async def test_turns_and_strangers_are_no_use_of_a_workspace(host: Remembrancer, api: Api) -> None:
    """So the last use is true, and one turn does not beget the next."""
    created = await host.workspaces.create(ADMIN, "tenant")
    await host.host._follow()
    rows("UPDATE workspaces SET used_at = NULL")
    await host.turns.once()
    answer = await api.client.get("/api/users", headers=bearer("rmb_tenant.stranger"))
    assert answer.status_code == 401
    await host.workspaces.drop(ADMIN, "tenant")  # a dry run
    await host.host._follow()
    assert rows("SELECT used_at FROM workspaces") == [(None,)]
    assert (await api.client.get("/api/users", headers=bearer(created.secret))).status_code == 200
    await host.host._follow()
    assert rows("SELECT used_at IS NULL FROM workspaces") == [(False,)]


async def test_a_use_that_cannot_be_noted_now_is_noted_later(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its background jobs would wait for the next round."""
    await host.workspaces.create(ADMIN, "tenant")
    await host.host._follow()
    rows("UPDATE workspaces SET used_at = NULL")

    async def lose(*_: object) -> None:
        raise DatabaseUnavailable("the database does not answer; try again later")

    async with host.host.use("tenant"):
        with monkeypatch.context() as patched:
            patched.setattr(repository, "note_uses", lose)
            with pytest.raises(DatabaseUnavailable):
                await host.host._follow()
        await host.host._follow()
    assert rows("SELECT used_at IS NULL FROM workspaces") == [(False,)]


class _Turn:
    """Notes whose turn it is, and waits where it is told to."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, bool]] = []
        self.waits = {"tenant-0": asyncio.Event()}
        self.more: list[str] = []

    async def __call__(
        self, store: Remembrancer, seconds: float, *, sweep: bool, remove_old: bool
    ) -> bool:
        self.taken.append((store.workspace, sweep))
        if store.workspace in self.waits:
            await self.waits[store.workspace].wait()
        if has_more := store.workspace in self.more:
            self.more.remove(store.workspace)
        return has_more

    async def reaches(self, count: int) -> None:
        while len(self.taken) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_used_workspace_has_its_turn_before_a_round(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that waits loses no sweep, and what is left to do comes again."""
    for number in range(4):
        await host.workspaces.create(ADMIN, f"tenant-{number}")
    await host.host._follow()
    turn = _Turn()
    monkeypatch.setattr(host.turns, "_turn", turn)
    rows("UPDATE workspaces SET used_at = NULL")
    await host.turns.look()  # of all
    await turn.reaches(1)
    rows("UPDATE workspaces SET used_at = now() WHERE name = 'tenant-3'")
    await host.turns.look()
    turn.more = ["tenant-3"]
    turn.waits["tenant-0"].set()
    await turn.reaches(5)
    assert turn.taken == [
        ("tenant-0", True), ("tenant-3", True), ("tenant-3", False),
        ("tenant-1", True), ("tenant-2", True),
    ]  # fmt: skip
    await asyncio.gather(*host.turns._running.values())


async def test_a_long_job_gives_its_place_to_others(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        await host.workspaces.create(ADMIN, f"tenant-{number}")
    turn = _Turn()
    monkeypatch.setattr(host.turns, "_turn", turn)
    monkeypatch.setattr(host.turns, "_seconds", 0.05)
    await host.turns.look()
    await turn.reaches(2)
    assert [name for name, _ in turn.taken] == ["tenant-0", "tenant-1"]
    turn.waits["tenant-0"].set()
    await asyncio.gather(*host.turns._running.values())
    assert (host.turns._places, host.turns._beside) == (host.settings.jobs.concurrency, 0)


class _Silent:
    """A server that takes connections and says nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port = self._listener.getsockname()[1]
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self.connections.append(self._listener.accept()[0])

    def close(self) -> None:
        self._listener.close()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def silent() -> Iterator[_Silent]:
    server = _Silent()
    yield server
    server.close()


async def test_a_silent_server_holds_up_nobody_twice(
    host: Remembrancer, silent: _Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All who ask for its workspaces share one attempt; those who ask next are told at once."""
    for name in ("tenant-a", "tenant-b", "tenant-z"):
        await host.workspaces.create(ADMIN, name)
    await forget_host(host)
    monkeypatch.setattr(hosts, "REST_SECONDS", 600.0)
    # Less than two seconds are not possible.
    url = f"postgresql://remembrancer_app@127.0.0.1:{silent.port}/postgres?connect_timeout=2"
    server = WorkspaceServer(url=SecretStr(url))
    monkeypatch.setitem(host.settings.workspaces.servers, "silent", server)
    rows("UPDATE workspaces SET server = 'silent' WHERE name <> 'tenant-z'")

    async def ask(name: str) -> Any:
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            async with host.host.use(name):
                pass

    await asyncio.gather(*(ask("tenant-a") for _ in range(6)))
    assert len(silent.connections) == 1
    await asyncio.gather(*(ask(name) for name in ("tenant-a", "tenant-b") * 3))
    assert len(silent.connections) == 1
    async with host.host.use("tenant-z") as store:
        ada = await person(store, "Ada")
        assert (await store.users.get(as_actor(ada), ada.id)).display_name == "Ada"


async def test_a_silent_server_takes_no_thread_from_others(
    host: Remembrancer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of its workspaces wait to be migrated, created or counted."""
    go_on = threading.Event()

    def wait(*_: object) -> None:
        go_on.wait(60)

    for name in ("migrate", "is_usable_at"):
        monkeypatch.setattr(hosts, name, wait)
    server = WorkspaceServer(url=SecretStr("postgresql://remembrancer_app@127.0.0.1:9/postgres"))
    monkeypatch.setitem(host.settings.workspaces.servers, "silent", server)
    await forget_host(host)
    rows(
        "INSERT INTO workspaces (id, name, server, database, state, revision)"
        " SELECT gen_random_uuid(), 'tenant-' || n, 'silent', 'tenant', 'active',"
        " CASE n % 2 WHEN 0 THEN '0030' ELSE '9999' END FROM generate_series(1, 80) AS n"
    )
    try:
        waiting = [asyncio.create_task(_use(host, f"tenant-{n}")) for n in range(1, 81)]
        silent = host.host.servers["silent"]
        waiting += [asyncio.create_task(in_thread(wait, silent)) for _ in range(40)]
        await asyncio.sleep(0.2)
        async with asyncio.timeout(5):
            await asyncio.to_thread(wait.__name__.upper)  # as names of servers are looked up
            await host.workspaces.create(ADMIN, "tenant-main")
    finally:
        go_on.set()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _use(host: Remembrancer, name: str) -> None:
    async with host.host.use(name):
        pass


async def test_a_suspended_workspace_is_restored_while_others_are_served(
    host: Remembrancer, tmp_path: Path
) -> None:
    """Its servers let go of it once nobody uses it."""
    created = await host.workspaces.create(ADMIN, "tenant")
    url = host.host.servers[created.server].owner_url_of(created.database)
    async with host.host.use("tenant") as store:
        await person(store, "Ada")
    back_up(url, tmp_path / "tenant.backup")
    async with Remembrancer.open(settings=host.settings.model_copy()) as other:
        async with other.host.use("tenant") as store:
            await person(store, "Bob")
        await host.workspaces.suspend(ADMIN, "tenant")
        for process in (host, other):
            await process.host._follow()
            await asyncio.gather(*process.host._closing)
        restore(url, tmp_path / "tenant.backup", replace=True)
        await host.workspaces.resume(ADMIN, "tenant")
        async with other.host.use("tenant") as store:
            assert [user.display_name for user in (await store.users.list(ADMIN)).items] == ["Ada"]
