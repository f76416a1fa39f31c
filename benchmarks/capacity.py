"""What memories and messages need in a large store: bytes by table and index, and time.

The tables are filled as by :mod:`benchmarks.growth`, with vectors at random where there is no
cache of real ones: bytes do not depend on them. Nothing is embedded.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import psutil
import typer
from rich.progress import track

from benchmarks.common import DatabaseUrl, console, percentile, show, store, write
from benchmarks.growth import MEMORIES, Filler, Pools, user_id
from benchmarks.vectors import DIRECTORY
from benchmarks.words import Chat
from remembrancer import Actor, MessageCreate, Remembrancer, Role, Settings, as_actor
from remembrancer.ids import SHARED_OWNER
from remembrancer.settings import AuditSettings

OWN: Final = 100
"""Memories of each user, and as many messages."""
AT_ONCE: Final = 500
"""Users that are filled together."""
AS_MEMORIES: Final = (*MEMORIES, "mentions", "changes", "audit")
AS_MESSAGES: Final = ("talks", "messages", "message_items", "postings")

Sizes = Mapping[tuple[str, str | None], int]
Work = Callable[[], Awaitable[object]]


class RandomPools(Pools):
    """Pools whose vectors need no cache."""

    def _centres(self, directory: Path) -> Any:
        if any(directory.glob("all-MiniLM-L6-v2*.sqlite")):
            return super()._centres(directory)
        return np.random.default_rng(2).standard_normal((20_000, 384)).astype(np.float32)


def fill(filler: Filler, users: range, parts: tuple[str, ...], first: int) -> None:
    """Give each user their memories or messages, in the order in which people talk."""
    for start in track(range(users.start, users.stop, AT_ONCE), parts[0]):
        last = min(start + AT_ONCE, users.stop) - 1
        owners = filler.people(start, last)
        filler.items(owners, first, OWN, parts=parts)


def sizes(filler: Filler) -> Sizes:
    """Return bytes by table and index."""
    return {(table, index): int(size) for table, index, size in filler.fetch("sizes")}


async def timed(work: Work, repeat: int, server: psutil.Process | None) -> dict[str, float]:
    """Return milliseconds on the clock, and of the processors of both sides, of one ``work``."""
    for _ in range(10):
        await work()
    spent, python, postgres = [], time.process_time(), _cpu(server)
    for _ in range(repeat):
        began = time.perf_counter()
        await work()
        spent.append((time.perf_counter() - began) * 1e3)
    return {
        "p50": percentile(spent, 0.5),
        "p95": percentile(spent, 0.95),
        "python": (time.process_time() - python) * 1e3 / repeat,
        "postgres": (_cpu(server) - postgres) * 1e3 / repeat,
    }


def _cpu(server: psutil.Process | None) -> float:
    """Return the processor seconds of the embedded Postgres' connections."""
    if server is None:
        return 0.0
    own = [process.cpu_times() for process in server.children(recursive=True)]
    return sum(each.user + each.system for each in own)


def _server(memory: Remembrancer) -> psutil.Process | None:
    """Return the embedded server; none for one of somebody else's."""
    if memory.settings.database_url is not None:
        return None
    file = Path(memory.settings.data_dir) / "postgres" / "postmaster.pid"
    return psutil.Process(int(file.read_text(encoding="ascii").split()[0]))


async def measure(memory: Remembrancer, users: int, repeat: int) -> dict[str, dict[str, float]]:
    """Measure requests of users all over the store, and the work in the background."""
    chat, server = Chat(7), _server(memory)
    asked = iter(np.random.default_rng(3).integers(0, users, 100_000).tolist())
    admin = Actor(Role.ADMIN)

    def anybody() -> Any:
        return as_actor(user_id(next(asked)))

    one = as_actor(user_id(0))
    talk = (await memory.conversations.list(one)).items[0].id

    async def recall_of(actor: Any) -> None:
        await memory.recall(chat.question(), user=actor.user_id)

    work: dict[str, Work] = {
        "recall, one user again": lambda: recall_of(one),
        "recall, anybody": lambda: recall_of(anybody()),
        "remember, anybody": lambda: memory.remember(chat.line(), user=anybody().user_id),
        "append a message": lambda: memory.conversations.append(
            one, talk, [MessageCreate(content=chat.line())]
        ),
        "list of memories, anybody": lambda: memory.memories.list(anybody(), limit=50),
    }
    rows = {name: await timed(each, repeat, server) for name, each in work.items()}
    background: dict[str, Work] = {
        "sweep of failed jobs": lambda: memory.summaries.sweep(everything=False),
        "sweep of all conversations": lambda: memory.summaries.sweep(everything=True),
        "expiry": memory.expiry.sweep,
        "retention, as by default": lambda: memory.retention.run(admin, dry_run=False),
    }
    for name, each in background.items():
        rows[name] = await timed(each, 3, server)
    return rows


async def run(
    count: int, pools: Pools, repeat: int, url: str | None, shared: int
) -> dict[str, Any]:
    """Fill a store and measure it."""
    users = range(max(count // OWN, 1))
    settings = Settings(audit=AuditSettings(reads="all"))
    async with store(url, wrap=pools.embedder, settings=settings) as memory:
        filler = Filler(memory, pools)
        empty, began = sizes(filler), time.perf_counter()
        await asyncio.to_thread(fill, filler, users, AS_MEMORIES, 0)
        filler.settle()
        with_memories = sizes(filler)
        await asyncio.to_thread(fill, filler, users, AS_MESSAGES, 1_000_000)
        if shared:
            filler.items([SHARED_OWNER], 0, shared, parts=AS_MEMORIES)
        filler.settle()
        with_messages, took = sizes(filler), time.perf_counter() - began
        return {
            "memories": len(users) * OWN,
            "filled_s": took,
            "a_memory": _each(empty, with_memories, len(users) * OWN),
            "a_message": _each(with_memories, with_messages, len(users) * OWN),
            "work": await measure(memory, len(users), repeat),
            "hot": dict(filler.fetch("hot")),
        }


def _each(before: Sizes, after: Sizes, count: int) -> list[tuple[str, float]]:
    """Return the bytes of one by table and index, the largest table first."""
    grown = {key: (size - before.get(key, 0)) / count for key, size in after.items()}
    tables: Counter[str] = Counter()
    for (table, _), size in grown.items():
        tables[table] += size  # type: ignore[assignment]
    ordered = sorted(grown, key=lambda key: (-tables[key[0]], key[1] or ""))
    return [(f"{t}.{i}" if i else t, grown[t, i]) for t, i in ordered if grown[t, i] >= 0.5]


def main(
    count: Annotated[int, typer.Argument(min=OWN, help="Memories, and as many messages.")],
    vectors: Annotated[Path, typer.Option(help="The cache of vectors, if any.")] = DIRECTORY,
    repeat: Annotated[int, typer.Option(min=5, help="Requests behind each figure.")] = 200,
    shared: Annotated[int, typer.Option(help="Memories for all users.")] = 0,
    database_url: DatabaseUrl = None,
) -> None:
    """Print bytes by table and index, and milliseconds of requests and sweeps.

    Milliseconds depend on the machine. Without embedding.
    """
    result = asyncio.run(run(count, RandomPools(vectors), repeat, database_url, shared))
    for what in ("a_memory", "a_message"):
        rows = [[name, round(size)] for name, size in result[what]]
        total = sum(size for _, size in result[what])
        show(f"Bytes of {what.replace('_', ' ')}", ["", "bytes"], [*rows, ["all", round(total)]])
    columns = ["p50", "p95", "python", "postgres"]
    rows = [[name, *(each[c] for c in columns)] for name, each in result["work"].items()]
    show("Milliseconds", ["", *columns], rows)
    show("HOT updates", ["table", "share"], [list(each) for each in result["hot"].items()])
    console.print(f"filled in {result['filled_s']:.0f} s")
    write(f"capacity_{count}", result)


if __name__ == "__main__":
    typer.run(main)
