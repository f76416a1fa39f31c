"""Recall over REST and in the library, and a mix of requests by many clients.

A store is filled by the library with random vectors, and `remembrancer serve` serves it from a
process of its own. Questions repeat, so that their vectors come from the cache: a figure has no
embedding unless it says so. Clients are raw sockets in this process, on the same cores. On
a busy machine, processor times say more than the others.

With ``--against`` the source tree of another version is measured too, each part right after the
same part of this version. Compare the two, and only within a run.
"""

import asyncio
import json
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import psutil
import psycopg
import typer

from benchmarks.common import Quick, show, store, write
from benchmarks.latency import BenchmarkStore, SwitchableEmbedder, spread
from benchmarks.words import Chat
from remembrancer import Actor, RecallQuery, Role, as_actor
from remembrancer.keys.schemas import KeyCreate

ROOT = Path(__file__).parent.parent
SIZES = (100, 500)
"""Items of the users whose recalls are timed."""
SMALL = 60
"""Items of each user of the mix."""
QUESTIONS = Chat(3).lines(64)
CONTEXT, APPEND = 0.7, 0.2
"""Shares of the mix; the rest are memories to remember."""

Request = tuple[str, dict[str, Any]]


async def keep_store(people: int) -> None:
    """Fill a store, then time recalls in the library as often as a line of stdin asks for it."""
    async with store(None, wrap=SwitchableEmbedder) as memory:
        bench = BenchmarkStore(memory, 1)
        users = {}
        for size in SIZES:
            user, talk = await bench.user(f"{size} items")
            await bench.fill(user, talk, size, lambda _: None)
            users[size] = user
        small = []
        for number in range(people):
            user, talk = await bench.user(f"small {number}")
            await bench.fill(user, talk, SMALL, lambda _: None)
            small.append([str(user.id), str(talk)])
        await bench.settle()
        key = KeyCreate(name="benchmark", role=Role.SERVICE)
        secret = (await memory.keys.create(Actor(Role.ADMIN), key)).secret
        url = memory.database.url.replace("+psycopg", "")
        ids = {size: str(user.id) for size, user in users.items()}
        print(json.dumps({"url": url, "key": secret, "users": ids, "small": small}), flush=True)
        embed, vectors = memory.embedder.embed_query, {}

        async def known(text: str) -> Any:
            if text not in vectors:  # a question, or a name in it
                vectors[text] = await embed(text)
            return vectors[text]

        memory.embedder.embed_query = known  # type: ignore[method-assign]
        for question in QUESTIONS:
            await memory.memories.recall(as_actor(users[500]), RecallQuery(query=question))
        while line := await asyncio.to_thread(sys.stdin.readline):
            size, repeat = map(int, line.split())
            actor, times = as_actor(users[size]), []
            for number in range(repeat):
                query = RecallQuery(query=QUESTIONS[number % len(QUESTIONS)])
                began = time.perf_counter()
                await memory.memories.recall(actor, query)
                times.append((time.perf_counter() - began) * 1e3)
            print(json.dumps(times), flush=True)


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = f"Host: localhost\r\nAuthorization: Bearer {key}\r\n"

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """Return the body of the answer."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode() + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.split(b"content-length: ")[1].split(b"\r\n")[0])
        received = await self._reader.readexactly(length)
        if not answer.startswith(b"http/1.1 2"):
            raise RuntimeError(f"{path}: {received.decode()}")
        return received


class Version:
    """A source tree: its store, its server and its clients."""

    def __init__(self, name: str, tree: Path) -> None:
        self.name = name
        self._paths = os.pathsep.join([str(tree / "src"), str(ROOT)])
        self.results: dict[str, list[float]] = {}
        self.figures: dict[str, float] = {}

    @asynccontextmanager
    async def running(self, people: int) -> AsyncIterator["Version"]:
        async with AsyncExitStack() as stack:
            self._keeper = await self._start(stack, "benchmarks.rest", "--keep-store", str(people))
            line = await self._line()
            self._users = {int(size): id_ for size, id_ in line["users"].items()}
            self._small, self._key = line["small"], line["key"]
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._port = free.getsockname()[1]
            scratch = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            server = await self._start(
                stack, "remembrancer", "--data-dir", scratch, "--database-url", line["url"],
                "serve", "--port", str(self._port), REMEMBRANCER_BUDGET__TOKENS="0",
            )  # fmt: skip
            self.process = psutil.Process(server.pid)
            self._url = line["url"]
            with psycopg.connect(self._url) as connection:
                backend = psutil.Process(connection.info.backend_pid)
                self._postgres = backend.parents()[0]
            await self._is_up()
            yield self

    async def _start(
        self, stack: AsyncExitStack, module: str, *arguments: str, **environment: str
    ) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments,
            env=os.environ | {"PYTHONPATH": self._paths} | environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**20,
        )  # fmt: skip

        async def stop() -> None:
            process.terminate() if module == "remembrancer" else process.stdin.close()  # type: ignore[union-attr]
            await process.communicate()

        stack.push_async_callback(stop)
        return process

    async def _line(self) -> Any:
        assert self._keeper.stdout
        return json.loads(await self._keeper.stdout.readline())

    async def _is_up(self) -> None:
        for _ in range(600):
            try:
                (await asyncio.open_connection("127.0.0.1", self._port))[1].close()
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return
        raise RuntimeError("the server does not start")

    async def jobs_done(self) -> None:
        """Wait for the summaries of what was stored: they embed on all cores for minutes."""
        waiting = "SELECT FROM jobs.procrastinate_jobs WHERE status = 'doing' OR (status = 'todo'"
        waiting += " AND coalesce(scheduled_at, now()) <= now())"
        with psycopg.connect(self._url, autocommit=True) as connection:
            while connection.execute(waiting).fetchone() is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.5)

    async def library(self, size: int, repeat: int) -> None:
        """Time recalls in the library."""
        assert self._keeper.stdin
        self._keeper.stdin.write(f"{size} {repeat}\n".encode())
        self._note(f"library recall, {size} items", await self._line())

    async def recalls(self, size: int, repeat: int, clients: int = 1) -> None:
        """Time recalls of some clients, each with its requests one after the other."""

        def request() -> Request:
            body = {"user_id": self._users[size], "query": random.choice(QUESTIONS)}
            return "/api/memory/recall", body

        name = f"REST recall, {size} items, {clients} client" + "s" * (clients > 1)
        await self._clients(name, clients, repeat, request)

    async def mix(self, clients: int, requests: int) -> None:
        """Time contexts, appends and memories of many users. Writes are embedded."""
        chat = Chat(random.randrange(10**9))

        def request() -> Request:
            user_id, talk = random.choice(self._small)
            share = random.random()
            if share < CONTEXT:
                message = random.choice(QUESTIONS)
                body = {"user_id": user_id, "conversation_id": talk, "message": message}
                return "/api/memory/context", body
            if share < CONTEXT + APPEND:
                body = {"user_id": user_id, "messages": [{"content": chat.line()}]}
                return f"/api/conversations/{talk}/messages", body
            return "/api/memory", {"user_id": user_id, "content": chat.line()}

        await self._clients(f"mix, {clients} clients", clients, requests, request)

    async def _clients(
        self, name: str, count: int, requests: int, request: Callable[[], Request]
    ) -> None:
        clients = [Client(self._port, self._key) for _ in range(count)]
        for client in clients:
            await client.connect()
        times: list[float] = []
        left = iter(range(requests))

        async def work(client: Client) -> None:
            for _ in left:
                path, body = request()
                began = time.perf_counter()
                await client.post(path, body)
                times.append((time.perf_counter() - began) * 1e3)

        began, before = time.perf_counter(), self._processor()
        await asyncio.gather(*map(work, clients))
        self._note(name, times)
        self._note(f"{name}: seconds", [time.perf_counter() - began])
        spent = [after - earlier for after, earlier in zip(self._processor(), before, strict=True)]
        self._note(f"{name}: server", spent[:1])
        self._note(f"{name}: postgres", spent[1:])

    def _processor(self) -> list[float]:
        """Return the processor seconds of the server and of Postgres."""
        postgres = [self._postgres, *self._postgres.children()]
        return [
            sum(sum(process.cpu_times()[:2]) for process in processes)
            for processes in ([self.process], postgres)
        ]

    def _note(self, name: str, times: Sequence[float]) -> None:
        self.results.setdefault(name, []).extend(times)

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the figures of each part."""
        rows: dict[str, dict[str, float]] = {}
        for name, times in self.results.items():
            if ": " in name:
                continue
            rows[name] = spread(times)
            if f"{name}: seconds" in self.results:
                seconds, server, postgres = (
                    sum(self.results[f"{name}: {part}"])
                    for part in ("seconds", "server", "postgres")
                )
                rows[name] |= {
                    "a second": len(times) / seconds,
                    "server CPU": 1e3 * server / len(times),
                    "Postgres CPU": 1e3 * postgres / len(times),
                }
        return rows


async def measure(
    trees: dict[str, Path], rounds: int, repeat: int, people: int, mixed: int
) -> dict[str, Any]:
    """Measure each part of each version in turn, ``rounds`` times."""
    async with AsyncExitStack() as stack:
        versions = [
            await stack.enter_async_context(Version(name, tree).running(people))
            for name, tree in trees.items()
        ]
        parts: list[Callable[[Version], Any]] = [
            *(lambda v, s=s: v.library(s, repeat) for s in SIZES),
            *(lambda v, s=s: v.recalls(s, repeat) for s in SIZES),
            lambda v: v.recalls(500, repeat * 2, clients=4),
            lambda v: v.mix(20, mixed),
        ]
        for version in versions:
            await version.recalls(500, 200, clients=4)  # connections, statements, vectors
            await version.mix(20, 3 * people)  # freezes the stable blocks
            await version.library(500, 20)
            await version.jobs_done()
            version.results.clear()
            version.figures["MB before"] = version.process.memory_info().rss / 2**20
        for _ in range(rounds):
            for part in parts:
                for version in versions:
                    await part(version)
        for version in versions:
            version.figures["MB after"] = version.process.memory_info().rss / 2**20
    return {v.name: {"parts": v.rows(), "memory": v.figures} for v in versions}


def report(result: dict[str, Any]) -> None:
    """Print the result."""
    names = list(result)
    parts = result[names[0]]["parts"]
    rows = [
        [f"{part}: {figure}", *(f"{result[n]['parts'][part][figure]:.1f}" for n in names)]
        for part, figures in parts.items()
        for figure in figures
    ]
    memory = [
        [figure, *(f"{result[n]['memory'][figure]:.0f}" for n in names)]
        for figure in ("MB before", "MB after")
    ]
    show("Milliseconds, and requests a second", ["", *names], rows + memory)


def main(
    against: Annotated[
        Path | None, typer.Option(help="Source tree of another version to compare with.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Times that each part is measured.")] = 4,
    repeat: Annotated[int, typer.Option(min=5, help="Recalls of a part and round.")] = 200,
    people: Annotated[int, typer.Option(min=1, help="Users of the mix.")] = 200,
    mixed: Annotated[int, typer.Option(min=20, help="Requests of the mix in a round.")] = 1000,
    quick: Quick = False,
    keep_store: Annotated[int, typer.Option("--keep-store", hidden=True)] = 0,
) -> None:
    """Measure recall over REST and in the library, and a mix of requests by 20 clients."""
    if keep_store:
        asyncio.run(globals()["keep_store"](keep_store))
        return
    if quick:
        rounds, repeat, people, mixed = 1, 50, 20, 200
    trees = {"this": ROOT} | ({"against": against} if against else {})
    result = asyncio.run(measure(trees, rounds, repeat, people, mixed))
    report(result)
    write("rest", {"benchmark": "rest", "versions": result})


if __name__ == "__main__":
    typer.run(main)
