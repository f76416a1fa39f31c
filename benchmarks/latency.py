"""The times of recall and writes, by the size of the store.

Texts are random words of a list, with Zipf's frequencies. Bulk data gets random vectors, since its
embedding does not matter here; rows "with embedding" use the bundled model. Compare figures within
one run only.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import psycopg
import typer

from benchmarks.common import DatabaseUrl, Quick, console, percentile, progress, show, store, write
from benchmarks.probes import Recorder, round_trips
from benchmarks.words import COMMON, Chat
from remembrancer import (
    ConversationCreate,
    MemoryCreate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    User,
    as_actor,
)
from remembrancer.embeddings import Embedder
from remembrancer.embeddings.base import Vectors, normalised

BATCH = 500
MEMORY_SHARE = 0.1
"""Share of memories among a user's items; the rest are messages."""


async def settle(memory: Remembrancer) -> None:
    """Update the planner's statistics, as autovacuum does a minute after a bulk load."""
    url = memory.database.url.replace("+psycopg", "")
    with suppress(psycopg.errors.InsufficientPrivilege):
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("VACUUM ANALYZE")


class SwitchableEmbedder:
    """An embedder of random vectors, or of the inner model while ``real`` is set."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._random = np.random.default_rng(1)
        self.real = False
        self.name = inner.name
        self.dimensions = inner.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.real:
            return await self._inner.embed_documents(texts)
        shape = len(texts), self.dimensions
        return normalised(self._random.standard_normal(shape, dtype=np.float32))

    async def embed_query(self, text: str) -> Vectors:
        return (
            await self._inner.embed_query(text)
            if self.real
            else (await self.embed_documents([text]))[0]
        )

    async def close(self) -> None:
        await self._inner.close()


class BenchmarkStore:
    """Fills and measures a store."""

    def __init__(self, memory: Remembrancer, repeat: int) -> None:
        self.memory = memory
        self.recorder = Recorder(memory)
        self.repeat = repeat
        self.chat = Chat(1)
        self.stored = 0
        self._run = uuid.uuid4().hex

    @property
    def embedder(self) -> SwitchableEmbedder:
        """The embedder, to switch to the model and back."""
        embedder: Any = self.memory.embedder
        return embedder  # type: ignore[no-any-return]

    async def user(self, name: str) -> tuple[User, uuid.UUID]:
        """Return a new user with an open conversation."""
        request = ResolveUser(
            platform="bench", platform_user_id=f"{self._run}/{name}", display_name=name
        )
        user = await self.memory.users.resolve(as_actor(), request)
        opened = await self.memory.conversations.open(as_actor(user), ConversationCreate())
        return user, opened.id

    async def fill(self, user: User, conversation: uuid.UUID, items: int, advance: Any) -> None:
        """Add ``items`` messages and memories of a user."""
        for start in range(0, items, BATCH):
            count = min(BATCH, items - start)
            memories = round(count * MEMORY_SHARE)
            lines = self.chat.lines(count)
            if memories:
                await self.memory.memories.remember_many(
                    as_actor(user), [MemoryCreate(content=line) for line in lines[:memories]]
                )
            await self.memory.conversations.append(
                as_actor(user),
                conversation,
                [MessageCreate(content=line) for line in lines[memories:]],
            )
            self.stored += count
            advance(count)

    async def settle(self) -> None:
        await settle(self.memory)

    async def recall_ms(self, user: User) -> list[float]:
        """Return the times of recalls, each with a new question."""
        return await self._timed(lambda: self.memory.recall(self.chat.question(), user=user))

    async def append_ms(self, user: User, conversation: uuid.UUID) -> list[float]:
        """Return the times of appends of one message."""
        return await self._timed(
            lambda: self.memory.conversations.append(
                as_actor(user), conversation, [MessageCreate(content=self.chat.line())]
            )
        )

    async def remember_ms(self, user: User) -> list[float]:
        """Return the times of one ``remember`` each."""
        return await self._timed(lambda: self.memory.remember(self.chat.line(), user=user))

    async def _timed(self, work: Callable[[], Awaitable[Any]]) -> list[float]:
        for _ in range(5):
            await work()
        times = []
        for _ in range(self.repeat):
            began = time.perf_counter()
            await work()
            times.append((time.perf_counter() - began) * 1e3)
        return times

    async def row(self, user: User, conversation: uuid.UUID, own: int) -> dict[str, Any]:
        """Measure all operations for one user at the current size of the store."""
        row: dict[str, Any] = {"own_items": own, "all_items": self.stored}
        for real in (False, True):
            self.embedder.real = real
            suffix = "_embedding" if real else ""
            row[f"recall{suffix}"] = spread(await self.recall_ms(user))
            row[f"append{suffix}"] = spread(await self.append_ms(user, conversation))
            row[f"remember{suffix}"] = spread(await self.remember_ms(user))
        self.embedder.real = False
        plans = []
        for _ in range(10):
            await self.memory.recall(self.chat.question(), user=user)
            plans.append(await self.recorder.explain())
        row["planning_ms"] = percentile([planning for planning, _ in plans], 0.5)
        row["executing_ms"] = percentile([executing for _, executing in plans], 0.5)
        return row


def spread(times: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile."""
    return {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}


async def growing(bench: BenchmarkStore, sizes: Sequence[int], bar: Any) -> list[dict[str, Any]]:
    """Measure a single user with a growing number of items."""
    rows, filled = [], 0
    user, conversation = await bench.user("grows")
    task = bar.add_task("one user's items", total=max(sizes))
    for size in sorted(sizes):
        await bench.fill(user, conversation, size - filled, lambda n: bar.advance(task, n))
        filled = size
        await bench.settle()
        rows.append(await bench.row(user, conversation, size))
    return rows


async def among_others(
    bench: BenchmarkStore, own: int, others: int, people: int, bar: Any
) -> list[dict[str, Any]]:
    """Measure one user before and after other users fill the store."""
    user, conversation = await bench.user("measured")
    task = bar.add_task("others' items", total=own + others)
    await bench.fill(user, conversation, own, lambda n: bar.advance(task, n))
    await bench.settle()
    rows = [await bench.row(user, conversation, own)]
    for number in range(people):
        other, talk = await bench.user(f"other {number}")
        await bench.fill(other, talk, others // people, lambda n: bar.advance(task, n))
    await bench.settle()
    return [*rows, await bench.row(user, conversation, own)]


async def trips(bench: BenchmarkStore) -> dict[str, int]:
    """Count round trips of a recall and of the writes."""
    user, conversation = await bench.user("travels")
    actor, chat = as_actor(user), bench.chat
    works: dict[str, Callable[[Remembrancer], Awaitable[Any]]] = {
        "recall": lambda m: m.recall(chat.question(), user=user),
        "append one message": lambda m: m.conversations.append(
            actor, conversation, [MessageCreate(content=chat.line())]
        ),
        "append 20 messages": lambda m: m.conversations.append(
            actor, conversation, [MessageCreate(content=line) for line in chat.lines(20)]
        ),
        "remember one statement": lambda m: m.remember(chat.line(), user=user),
        "remember 20 statements": lambda m: m.memories.remember_many(
            actor, [MemoryCreate(content=line) for line in chat.lines(20)]
        ),
    }
    return {name: await round_trips(bench.memory, work) for name, work in works.items()}


async def bulk(bench: BenchmarkStore, count: int) -> float:
    """Return the chat lines that one process stores per second, with embedding."""
    user, conversation = await bench.user("imports")
    chat = Chat(2, words=list(dict.fromkeys(COMMON)))
    messages = [MessageCreate(content=line) for line in chat.lines(count)]
    bench.embedder.real = True
    began = time.perf_counter()
    for start in range(0, count, 200):
        await bench.memory.conversations.append(
            as_actor(user), conversation, messages[start : start + 200]
        )
    seconds = time.perf_counter() - began
    bench.embedder.real = False
    return count / seconds


async def measure(
    sizes: Sequence[int],
    own: int,
    others: int,
    people: int,
    repeat: int,
    imported: int,
    url: str | None,
) -> dict[str, Any]:
    """Run every part and return the result."""
    result: dict[str, Any] = {"benchmark": "latency", "repeat": repeat, "people": people}
    with progress() as bar:
        async with store(url, wrap=SwitchableEmbedder) as memory:
            result["growing"] = await growing(BenchmarkStore(memory, repeat), sizes, bar)
        async with store(url, wrap=SwitchableEmbedder) as memory:
            bench = BenchmarkStore(memory, repeat)
            result["among_others"] = await among_others(bench, own, others, people, bar)
            result["round_trips"] = await trips(bench)
            result["import_per_second"] = await bulk(bench, imported)
    before, after = result["among_others"]
    result["ratio"] = {
        name: after[name]["p50"] / before[name]["p50"] for name in ("recall", "append", "remember")
    }
    return result


def report(result: dict[str, Any]) -> None:
    """Print the result."""
    measured = ("recall", "append", "remember")
    runs = [run for part in ("growing", "among_others") for run in result[part]]
    show(
        "Milliseconds, by items of the user and of the store",
        ["", *(f"{run['own_items']:,}\nof {run['all_items']:,}" for run in runs)],
        [
            [f"{name} {p}", *(f"{run[name][p]:.1f}" for run in runs)]
            for name in measured
            for p in ("p50", "p95")
        ]
        + [
            [
                f"{name} with embedding p50",
                *(f"{run[f'{name}_embedding']['p50']:.1f}" for run in runs),
            ]
            for name in measured
        ]
        + [
            [f"recall: {phase}", *(f"{run[f'{phase}_ms']:.1f}" for run in runs)]
            for phase in ("planning", "executing")
        ],
    )
    ratio = result["ratio"]
    after = result["among_others"][1]
    console.print(
        f"One user with {after['own_items']:,} items, with {result['people']} other users: "
        + ", ".join(f"{name} takes {ratio[name]:.2f} times as long" for name in measured)
    )
    show("Round trips to the database", ["", "trips"], list(result["round_trips"].items()))
    console.print(
        f"import with the bundled model: {result['import_per_second']:.0f} messages a second"
    )


def main(
    sizes: Annotated[
        str, typer.Option(help="Sizes of a single user, separated by commas.")
    ] = "1000,5000,20000",
    own: Annotated[int, typer.Option(min=1, help="Items of the user among others.")] = 5000,
    others: Annotated[int, typer.Option(min=0, help="Items of all others together.")] = 95_000,
    people: Annotated[int, typer.Option(min=1, help="Number of other users.")] = 99,
    repeat: Annotated[int, typer.Option(min=5, help="Measurements behind each figure.")] = 100,
    imported: Annotated[int, typer.Option(min=1, help="Messages of the import.")] = 2000,
    quick: Quick = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure recall and writes by a user's size, with other users, and in round trips.

    Milliseconds depend on the machine; compare within one run. All sizes take some minutes,
    --quick under one.
    """
    if quick:
        sizes, own, others, people, repeat, imported = "500,2000", 1000, 4000, 20, 30, 200
    numbers = [int(size) for size in sizes.split(",")]
    result = asyncio.run(measure(numbers, own, others, people, repeat, imported, database_url))
    report(result)
    write("latency", result)


if __name__ == "__main__":
    typer.run(main)
