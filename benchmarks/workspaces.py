"""Many workspaces on two Postgres servers: their life, their cost, and recall in one of them.

Recalls within a workspace and in a store without any take turns, so that both meet the same noise.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count as count_from
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import psutil
import psycopg
import typer
from pydantic import SecretStr
from rich.progress import track
from sqlalchemy import text

from benchmarks.common import console, percentile
from benchmarks.words import Chat
from remembrancer import Actor, MemoryCreate, Remembrancer, ResolveUser, Role, Settings, as_actor
from remembrancer.db import migrate
from remembrancer.db.embedded import EmbeddedPostgres
from remembrancer.db.urls import libpq_url, service_url
from remembrancer.errors import RemembrancerError
from remembrancer.settings import WorkspaceServer, WorkspaceSettings
from remembrancer.workspaces import repository

ADMIN = Actor(Role.ADMIN)
ADA = ResolveUser(platform="discord", platform_user_id="1", display_name="Ada")
MEMORIES = 300
ROUNDS = 20
MOVED = 20
REGISTERED = 100_000
NOTED = [f"registered-{number}" for number in range(50)]
_REGISTER = """
INSERT INTO workspaces (id, name, server, database, state, revision, used_at)
SELECT gen_random_uuid(), 'registered-' || n, 'main', 'remembrancer_registered_' || n, 'active',
       '0031', now() - make_interval(secs => n)
  FROM generate_series(1, CAST(:count AS int)) AS n
"""


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


class Use:
    """People of a workspace: three who write, and two who read, all the time."""

    def __init__(self, memory: Remembrancer, name: str, chat: Chat) -> None:
        self.memory = memory
        self.name = name
        self.chat = chat
        self.numbers = count_from(0)
        self.stored: list[str] = []
        self.reads = 0
        self.failed = 0
        self.longest = {"write": 0.0, "read": 0.0}

    async def one(self, what: str) -> None:
        """Write or read once."""
        began = time.perf_counter()
        number = next(self.numbers)
        try:
            async with self.memory.host.use(self.name) as store:
                ada = ADA.model_copy(update={"platform_user_id": str(number // 100)})
                user = await store.users.resolve(as_actor(), ada)
                if what == "write":
                    line = f"{number} {self.chat.line(least=4, most=9)}"
                    await store.remember(line, user=user)
                    self.stored.append(line)
                else:
                    await store.recall(self.chat.question(), user=user)
                    self.reads += 1
        except RemembrancerError:
            self.failed += 1
        self.longest[what] = max(self.longest[what], time.perf_counter() - began)

    async def go_on(self, what: str) -> None:
        """Write or read until the end."""
        while True:
            await self.one(what)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be used meanwhile."""
        whats = ["write"] * 3 + ["read"] * 2
        tasks = [asyncio.create_task(self.go_on(what)) for what in whats]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def lost(self) -> int:
        """Count the writes that were acknowledged and are not there."""
        row = await self.memory.host.find(self.name)
        url = self.memory.host.servers[row.server].owner_url_of(row.database)
        async with await psycopg.AsyncConnection.connect(libpq_url(url)) as connection:
            found = await connection.execute("SELECT content FROM memories")
            there = {content for (content,) in await found.fetchall()}
        return len(set(self.stored) - there)


async def move(memory: Remembrancer, chat: Chat, names: list[str]) -> None:
    """Print what people notice of moves: one to the other server, and half of them back."""
    seconds, pauses, rows = [], [], 0
    uses = []
    for number, name in enumerate(track(names, "move", console=console)):
        use = Use(memory, name, chat)
        uses.append(use)
        server = "two" if (await memory.host.find(name)).server == "main" else "main"
        async with use.running():
            await asyncio.sleep(2)
            began = time.perf_counter()
            moved = await memory.workspaces.move(ADMIN, name, server)
            while moved.move is None or moved.move.state != "moved":
                moved = await memory.workspaces.move(ADMIN, name, server)
            seconds.append(time.perf_counter() - began)
            pauses.append(moved.move.pause_ms or 0)
            rows += moved.move.rows or 0
            await asyncio.sleep(2)
            end = memory.workspaces.undo_move if number % 2 else memory.workspaces.confirm_move
            await end(ADMIN, name)
            await asyncio.sleep(2)
    lost = sum([await use.lost() for use in uses])
    written, read = sum(len(use.stored) for use in uses), sum(use.reads for use in uses)
    console.print(
        f"move: {percentile(seconds, 0.5):.1f} s, at most {max(seconds):.1f};"
        f" {rows:,} rows compared; writes waited {percentile(pauses, 0.5):.0f} ms, at most"
        f" {max(pauses)}"
    )
    console.print(
        f"meanwhile {written:,} writes, {lost} of them lost, and {read:,} reads;"
        f" {sum(use.failed for use in uses)} failed. The longest write took"
        f" {max(use.longest['write'] for use in uses):.1f} s, the longest read"
        f" {max(use.longest['read'] for use in uses):.1f} s"
    )


async def registry(memory: Remembrancer) -> None:
    """Print the time of what servers and workers ask a large registry."""
    recently = datetime.now(UTC) - timedelta(seconds=7)
    asked: dict[str, Callable[[Any], Awaitable[object]]] = {
        "get one": lambda c: repository.get(c, "registered-5"),
        "note that 50 are used": lambda c: repository.note_uses(c, NOTED),
        "used in the last seconds": lambda c: repository.used(c, recently),
        "all": lambda c: repository.used(c, None),
        "what died": repository.abandoned,
        "moves that died": repository.halted,
        "a page of 50": lambda c: repository.page(c, 50, None),
    }
    async with memory.database.system() as connection:
        await connection.execute(text(_REGISTER), {"count": REGISTERED})
    told = []
    for what, ask in asked.items():
        times = []
        for _ in range(20):
            async with memory.database.system() as connection:
                began = time.perf_counter()
                await ask(connection)
                times.append(time.perf_counter() - began)
        told.append(f"{what} {1000 * percentile(times, 0.5):.1f}")
    async with memory.database.system() as connection:
        sized = await connection.execute(text("SELECT pg_total_relation_size('workspaces')"))
        told.append(f"{sized.scalar_one() / 2**20:.0f} MiB")
        await connection.execute(text("DELETE FROM workspaces WHERE name LIKE 'registered-%'"))
    console.print(f"a registry of {REGISTERED:,}, ms: {', '.join(told)}")


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
        await registry(memory)
        before_moves = memory_mb()
        await move(memory, chat, names[:MOVED])
        console.print(
            f"after moves: {await connections(memory)} connections,"
            f" {memory_mb() - before_moves:+.0f} MB"
        )
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
    """Create, visit, move, migrate and drop many workspaces on two servers."""
    with TemporaryDirectory(prefix="remembrancer-workspaces-") as name:
        asyncio.run(run(count, Path(name)))


if __name__ == "__main__":
    typer.run(main)
