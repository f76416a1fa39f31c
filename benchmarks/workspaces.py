"""Many workspaces on two Postgres servers: their life, their cost, and recall in one of them.

Recalls within a workspace and in a store without any take turns, so that both meet the same noise.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import psutil
import psycopg
import typer
from pydantic import SecretStr
from rich.progress import track

from benchmarks.common import console, percentile
from benchmarks.words import Chat
from remembrancer import Actor, MemoryCreate, Remembrancer, ResolveUser, Role, Settings, as_actor
from remembrancer.db import migrate
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.engine import service_url
from remembrancer.settings import WorkspaceServer, WorkspaceSettings
from remembrancer.workspaces import repository

ADMIN = Actor(Role.ADMIN)
ADA = ResolveUser(platform="discord", platform_user_id="1", display_name="Ada")
MEMORIES = 300
ROUNDS = 20


@asynccontextmanager
async def host(directory: Path) -> AsyncIterator[Remembrancer]:
    """A host with two servers on this machine."""
    servers = [EmbeddedPostgres(directory / name, shared_buffers="64MB") for name in ("one", "two")]
    first, second = [await asyncio.to_thread(server.start) for server in servers]
    settings = Settings(
        data_dir=directory / "host",
        database_url=SecretStr(service_url(first)),
        database_owner_url=SecretStr(first),
        workspaces=WorkspaceSettings(
            servers={
                "two": WorkspaceServer(
                    url=SecretStr(service_url(second)), owner_url=SecretStr(second)
                )
            }
        ),
    )
    try:
        async with Remembrancer.open(settings=settings) as memory:
            yield memory
    finally:
        for server in servers:
            await asyncio.to_thread(server.stop)


def memory_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


async def connections(memory: Remembrancer) -> int:
    """Count the connections of the service to both servers."""
    total = 0
    for name in ("main", "two"):
        url = memory.host.servers[name].owner_url.replace("+psycopg", "")
        async with await psycopg.AsyncConnection.connect(url) as connection:
            found = await connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = 'remembrancer_app'"
            )
            row: Any = await found.fetchone()
            total += row[0]
    return total


async def fill(store: Remembrancer, chat: Chat) -> None:
    """Store memories of one user."""
    user = await store.users.resolve(as_actor(), ADA)
    made = [MemoryCreate(content=chat.line(least=4, most=9)) for _ in range(MEMORIES)]
    await store.memories.remember_many(as_actor(user), made)


async def recall_ms(store: Remembrancer, chat: Chat) -> list[float]:
    """Return the times of recalls of one user."""
    user = await store.users.resolve(as_actor(), ADA)
    times = []
    for _ in range(20):
        query = chat.line(least=3, most=6)
        began = time.perf_counter()
        await store.recall(query, user=user)
        times.append(1000 * (time.perf_counter() - began))
    return times


async def compare(memory: Remembrancer, chat: Chat, name: str) -> None:
    """Print recall within a workspace against recall in the host's own store."""
    await fill(memory, chat)
    within: list[float] = []
    without: list[float] = []
    async with memory.host.use(name) as store:
        await fill(store, chat)
        for _ in range(ROUNDS):
            within += await recall_ms(store, chat)
            without += await recall_ms(memory, chat)
    for share in (0.5, 0.95):
        a, b = percentile(within, share), percentile(without, share)
        ratio = f"{a:.2f} ms within, {b:.2f} without: {a / b:.2f} times"
        console.print(f"recall p{100 * share:.0f}: {ratio}")


async def run(count: int, directory: Path) -> None:
    """Print what ``count`` workspaces cost."""
    chat = Chat(7)
    async with host(directory) as memory:
        names = [f"customer-{number}" for number in range(count)]
        before = memory_mb()
        times = []
        for number, name in enumerate(track(names, "create", console=console)):
            began = time.perf_counter()
            await memory.workspaces.create(ADMIN, name, server=("main", "two")[number % 2])
            times.append(time.perf_counter() - began)
        console.print(
            f"create: {percentile(times, 0.5):.2f} s, the first two with the blank database"
            f" {times[0]:.1f} and {times[1]:.1f} s; {count} in {sum(times):.0f} s"
        )
        for turn in range(3):
            began = time.perf_counter()
            for name in names:
                async with memory.host.use(name) as store:
                    await store.users.resolve(as_actor(), ADA)
            seconds = (time.perf_counter() - began) / count
            console.print(
                f"visit {turn + 1}: {1000 * seconds:.0f} ms each; {await connections(memory)}"
                f" connections, {memory_mb() - before:+.0f} MB"
            )
        sizes = [(await memory.workspaces.drop(ADMIN, name)).bytes for name in names[:2]]
        console.print(f"size of one with a user: {sizes[0] / 2**20:.1f} MiB")
        await compare(memory, chat, names[0])
        await memory.host.close()
        for name in track(names, "make older", console=console):
            row = await memory.host.find(name)
            owner = memory.host.servers[row.server].owner_url_of(row.database)
            await asyncio.to_thread(migrate.downgrade, owner, "0028")
            async with memory.database.system() as connection:
                await repository.note_revision(connection, name, "0028")
        began = time.perf_counter()
        report = await memory.workspaces.migrate(ADMIN)
        seconds = time.perf_counter() - began
        console.print(f"migrate all: {seconds:.0f} s, complete: {report.is_complete}")
        began = time.perf_counter()
        for name in names[:20]:
            await memory.workspaces.suspend(ADMIN, name)
            await memory.workspaces.drop(ADMIN, name, dry_run=False)
        console.print(f"drop: {(time.perf_counter() - began) / min(count, 20):.2f} s each")


def main(count: Annotated[int, typer.Option(help="How many workspaces.")] = 200) -> None:
    """Create, visit, migrate and drop many workspaces on two servers."""
    with TemporaryDirectory(prefix="remembrancer-workspaces-") as name:
        asyncio.run(run(count, Path(name)))


if __name__ == "__main__":
    typer.run(main)
