"""Workspaces move to another server while people use them, and back."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import pytest
from helpers import ADMIN, rows
from pydantic import SecretStr
from test_workspaces import host

from remembrancer import MemoryCreate, Remembrancer, ResolveUser, User, as_actor
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.engine import service_url
from remembrancer.settings import WorkspaceServer

__all__ = ["host"]  # a fixture

ADA = ResolveUser(platform="discord", platform_user_id="1", display_name="Ada")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another server."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("second"), shared_buffers="32MB")
    yield server.start()
    server.stop()


@pytest.fixture
async def servers(host: Remembrancer, second: str, monkeypatch: pytest.MonkeyPatch) -> Remembrancer:
    """The host, which knows the other server."""
    await host.host.close()
    del host.host
    server = WorkspaceServer(url=SecretStr(service_url(second)), owner_url=SecretStr(second))
    monkeypatch.setitem(host.settings.workspaces.servers, "second", server)
    return host


async def _ada(store: Remembrancer) -> User:
    return await store.users.resolve(as_actor(), ADA)


class Load:
    """People who write and read in a workspace all the time."""

    def __init__(self, app: Remembrancer, workspace: str) -> None:
        self.app = app
        self.workspace = workspace
        self.stored: list[str] = []
        self.reads = 0
        self.longest = 0.0

    async def write(self, writer: int) -> None:
        for number in count():
            began = time.monotonic()
            async with self.app.host.use(self.workspace) as store:
                user = await _ada(store)
                note = MemoryCreate(content=f"Ada has seen bird {writer} of kind {number}.")
                await store.memories.remember(as_actor(user), note)
            self.stored.append(note.content)
            self.longest = max(self.longest, time.monotonic() - began)

    async def read(self) -> None:
        while True:
            async with self.app.host.use(self.workspace) as store:
                user = await _ada(store)
                answer = await store.recall("Which bird?", user=user)
            assert answer.hits or not self.stored
            self.reads += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.write(number)) for number in range(4)]
        tasks += [asyncio.create_task(self.read()) for _ in range(2)]
        yield
        for task in tasks:
            task.cancel()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(error, asyncio.CancelledError), repr(error)


async def test_try(servers: Remembrancer) -> None:
    await servers.workspaces.create(ADMIN, "tenant")
    load = Load(servers, "tenant")
    async with load.running():
        await asyncio.sleep(1)
        said = []
        moved = await servers.workspaces.move(
            ADMIN, "tenant", "second", wait_seconds=60, on_progress=lambda *p: said.append(p)
        )
        print(moved, said)
        await asyncio.sleep(1)
        print(load.longest, len(load.stored), load.reads)
        load.longest = 0
        print(await servers.workspaces.undo_move(ADMIN, "tenant"))
        await asyncio.sleep(1)
        print(load.longest, len(load.stored), load.reads)
