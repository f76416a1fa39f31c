"""Recall in stores that grow: other users, shared knowledge, and one user with very many items.

``growth.sql`` fills the tables directly. Vectors are those of real texts, from the cache of
:mod:`benchmarks.longmemeval`, each plus a random vector of length 0.6; texts are random words with
Zipf's frequencies. Nothing is embedded: a question is a text and a vector made in the same way.
"""

import asyncio
import hashlib
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final
from unittest.mock import patch
from uuid import UUID

import numpy as np
import psycopg
import typer
from rich.progress import track
from sqlalchemy import make_url

from benchmarks import svg
from benchmarks.common import DatabaseUrl, console, percentile, store, write
from benchmarks.vectors import DIRECTORY
from benchmarks.words import Chat
from remembrancer import Remembrancer, Settings
from remembrancer.analysis import analyse
from remembrancer.embeddings import Embedder
from remembrancer.embeddings.base import Vectors, normalised
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall import service
from remembrancer.settings import AuditSettings

TEXTS: Final = 20_000
NOISES: Final = 5_000
SPREAD: Final = 0.6
"""Length of the random vector beside the real one, which has 1."""
MOST_ROWS: Final = 50_000
"""Rows of one batch."""


MEMORIES: Final = ("memories", "versions", "items", "postings")
"""The statements that store memories."""


class PooledVectors:
    """An embedder of random vectors around those of real texts; a text always has the same."""

    def __init__(self, inner: Embedder, centres: Vectors, noises: Vectors) -> None:
        self._inner, self._centres, self._noises = inner, centres, noises
        self.name, self.dimensions = inner.name, inner.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([await self.embed_query(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        a, b = np.frombuffer(hashlib.blake2b(text.encode()).digest()[:16], dtype=np.uint64)
        vector = self._centres[a % len(self._centres)] + self._noises[b % len(self._noises)]
        return normalised(vector[None])[0]

    async def close(self) -> None:
        await self._inner.close()


class Pools:
    """What texts and vectors are made of."""

    def __init__(self, directory: Path) -> None:
        self.centres = self._centres(directory)
        noises = np.random.default_rng(1).standard_normal((NOISES, self.centres.shape[1]))
        self.noises = SPREAD * normalised(noises.astype(np.float32))
        chat = Chat(5)
        self.texts = [chat.line(least=3, most=8)[:-1] for _ in range(TEXTS)]

    def _centres(self, directory: Path) -> Vectors:
        [file] = directory.glob("all-MiniLM-L6-v2*.sqlite")
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as cache:
            stored = cache.execute("SELECT v FROM vectors ORDER BY digest").fetchall()
        return np.array([np.frombuffer(v, dtype=np.float32) for (v,) in stored])

    def embedder(self, inner: Embedder) -> PooledVectors:
        """Return the embedder of questions."""
        return PooledVectors(inner, self.centres, self.noises)


class Filler:
    """Fills one database."""

    def __init__(self, memory: Remembrancer, pools: Pools) -> None:
        url = make_url(memory.database.url).set(drivername="postgresql")
        self.connection = psycopg.connect(url.render_as_string(False), autocommit=True)
        self.connection.execute(
            "SET synchronous_commit = off; SET work_mem = '256MB';"
            "SET session_replication_role = replica"
        )
        self._sizes = {"texts": TEXTS, "centres": len(pools.centres), "noises": NOISES}
        self._run("pools")
        with self.connection.cursor() as cursor:
            with cursor.copy("COPY growth_texts FROM STDIN") as copy:
                for number, text in enumerate(pools.texts):
                    terms = analyse(text)
                    words = " ".join(term for term, n in terms.items() for _ in range(n))
                    copy.write_row((number, text, words, list(terms), list(terms.values())))
            for table, vectors in (("centres", pools.centres), ("noises", pools.noises)):
                with cursor.copy(f"COPY growth_{table} FROM STDIN") as copy:
                    for number, vector in enumerate(vectors):
                        copy.write_row((number, str(vector.tolist())))
        self.connection.execute("ANALYZE growth_texts, growth_centres, growth_noises")

    def people(self, first: int, last: int) -> list[UUID]:
        """Add users by their numbers; return their ids."""
        self._run("people", first=first, last=last)
        return [user_id(number) for number in range(first, last + 1)]

    def items(
        self,
        owners: Sequence[UUID],
        start: int,
        count: int,
        seed: int = 1,
        parts: Sequence[str] = MEMORIES,
    ) -> None:
        """Give each owner ``count`` memories or messages, from number ``start`` on."""
        step = max(MOST_ROWS // len(owners), 1)
        for first in track(range(start, start + count, step), "filling"):
            part = {"start": first, "count": min(step, start + count - first), "seed": seed}
            self._run("batch", owners=list(owners), **part)
            for table in parts:
                self._run(table)
            self.connection.execute("DROP TABLE growth_batch")

    def conversations(self, first: int, last: int) -> None:
        """Add conversations at rest by their numbers, one for each user."""
        self._run("conversations", first=first, last=last)

    def settle(self) -> None:
        """Do what autovacuum does after a load."""
        self.connection.execute("VACUUM ANALYZE")

    def size(self) -> dict[str, float]:
        """Return the megabytes of the tables that recall reads, with their indexes."""
        query = "SELECT pg_total_relation_size(%s::regclass) / 1e6"
        tables = "recall_items", "postings", "memories"
        rows = {table: self.connection.execute(query, [table]).fetchone() for table in tables}
        return {table: float(row[0]) for table, row in rows.items() if row}

    def fetch(self, name: str) -> list[Any]:
        """Return the rows of a statement without values."""
        return self.connection.execute(_STATEMENTS[name].replace("%%", "%")).fetchall()

    def _run(self, name: str, **binds: Any) -> None:
        psycopg.ClientCursor(self.connection).execute(_STATEMENTS[name], {**self._sizes, **binds})


def _statements() -> dict[str, str]:
    """Return the statements of ``growth.sql`` with psycopg's placeholders."""
    source = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").replace("%", "%%")
    _, *parts = re.split(
        r"^-- name: (\w+)$", re.sub(r"(?<!:):(\w+)", r"%(\1)s", source), flags=re.MULTILINE
    )
    return dict(zip(parts[::2], parts[1::2], strict=True))


_STATEMENTS: Final = _statements()


def user_id(number: int) -> UUID:
    """Return the id of a user, as ``growth.sql`` makes it."""
    return UUID(hashlib.md5(f"growth {number}".encode(), usedforsecurity=False).hexdigest())


@asynccontextmanager
async def two_stores(
    pools: Pools, url: str | None
) -> AsyncIterator[tuple[Remembrancer, Remembrancer]]:
    """Open two empty stores on one server."""
    settings = Settings(audit=AuditSettings(reads="admin"))
    async with store(url, wrap=pools.embedder, settings=settings) as first:
        beside = make_url(first.database.url).set(drivername="postgresql")
        with psycopg.connect(beside.render_as_string(False), autocommit=True) as connection:
            connection.execute("CREATE DATABASE growth_beside")
        beside = beside.set(database="growth_beside")
        async with store(
            beside.render_as_string(False), wrap=pools.embedder, settings=settings
        ) as second:
            yield first, second


async def times(
    stores: Sequence[Remembrancer], user: UUID, questions: Sequence[str], warm: int = 8
) -> list[list[float]]:
    """Return milliseconds of recalls by store, each question asked of all in turn."""
    measured: list[list[float]] = [[] for _ in stores]
    for number, question in enumerate([*questions[:warm], *questions]):
        for memory, spent in zip(stores, measured, strict=True):
            began = time.perf_counter()
            await memory.recall(question, user=user)
            if number >= warm:
                spent.append((time.perf_counter() - began) * 1e3)
    return measured


def spread(spent: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile."""
    return {"p50": percentile(spent, 0.5), "p95": percentile(spent, 0.95)}


async def crowd(pools: Pools, url: str | None, sizes: Sequence[int], repeat: int) -> list[Any]:
    """Measure a user of 500 items alone and among others, who have 100 each."""
    chat, rows, own = Chat(7), [], 500
    questions = [chat.question() for _ in range(repeat)]
    async with two_stores(pools, url) as (big, alone):
        fillers = [Filler(memory, pools) for memory in (big, alone)]
        user, filled = user_id(0), 0
        for filler in fillers:
            filler.people(0, 0)
        for size in sizes:
            began = time.perf_counter()
            # In ten rounds, so that the items of a user lie in ten places.
            others = fillers[0].people(filled // 100 + 1, size // 100)
            for part in range(10):
                fillers[0].items(others, part * 10, 10)
                if not filled:
                    for filler in fillers:
                        filler.items([user], part * own // 10, own // 10)
            filled = size
            for filler in fillers:
                filler.settle()
            took = time.perf_counter() - began
            spent = await times((big, alone), user, questions)
            row = {"others": size, "fill_s": took, "size": fillers[0].size()}
            row |= {"among": spread(spent[0]), "alone": spread(spent[1])}
            rows.append(row | {"ratio": row["among"]["p50"] / row["alone"]["p50"]})
            console.print(rows[-1])
    return rows


async def shared(pools: Pools, url: str | None, sizes: Sequence[int], repeat: int) -> list[Any]:
    """Measure a user of 100 items beside shared knowledge, against the exact search."""
    chat, rows, filled = Chat(7), [], 0
    questions = [chat.question() for _ in range(repeat)]
    async with two_stores(pools, url) as (memory, alone):
        filler, beside = Filler(memory, pools), Filler(alone, pools)
        user = user_id(0)
        for each in (filler, beside):
            each.items(each.people(0, 0), 0, 100)
        for size in sizes:
            began = time.perf_counter()
            # Built at the end: one row after the other takes several times as long.
            filler.connection.execute("DROP INDEX ix_recall_items_shared_vector")
            filler.items([SHARED_OWNER], filled, size - filled)
            filler.connection.execute("SELECT app_index_shared()")
            filled = size
            filler.settle()
            beside.settle()
            took = time.perf_counter() - began
            spent = await times((memory, alone), user, questions)
            row = {"shared": size, "fill_s": took, "size": filler.size()}
            row |= {"beside": spread(spent[0]), "without": spread(spent[1])}
            rows.append(row | await agreement(memory, user, questions))
            console.print(rows[-1])
    return rows


def exactly() -> Any:
    """Make recall compare all items."""
    return patch.dict(service.SIZES, most_shared=1_000_000_000, most_own=1_000_000_000)


async def agreement(memory: Remembrancer, user: UUID, questions: Sequence[str]) -> dict[str, float]:
    """Return which share of the exact search's first ten hits recall has, and its time."""
    found = [await memory.recall(question, user=user, limit=10) for question in questions]
    exact, spent = [], []
    with exactly():
        for number, question in enumerate([*questions[:2], *questions]):
            began = time.perf_counter()
            answer = await memory.recall(question, user=user, limit=10)
            if number >= 2:
                spent.append((time.perf_counter() - began) * 1e3)
                exact.append(answer)
    shares = [
        len({hit.id for hit in a.hits} & {hit.id for hit in b.hits}) / len(b.hits)
        for a, b in zip(found, exact, strict=True)
    ]
    return {
        "recall_at_10": sum(shares) / len(shares),
        "least": min(len(answer.hits) for answer in found),
        "exact": spread(spent),
    }


async def own(pools: Pools, url: str | None, sizes: Sequence[int], repeat: int) -> list[Any]:
    """Measure one user with very many items."""
    chat, rows, filled = Chat(7), [], 0
    questions = [chat.question() for _ in range(repeat)]
    async with two_stores(pools, url) as (memory, _):
        filler = Filler(memory, pools)
        [user] = filler.people(0, 0)
        for size in sizes:
            filler.items([user], filled, size - filled)
            filled = size
            filler.settle()
            [spent] = await times([memory], user, questions)
            rows.append(
                {"own": size, "recall": spread(spent)} | await agreement(memory, user, questions)
            )
            console.print(rows[-1])
    return rows


async def sweeps(pools: Pools, url: str | None, sizes: Sequence[int]) -> list[Any]:
    """Measure a sweep with conversations at rest: the minutely one, and one that looks at all."""
    rows = []
    async with two_stores(pools, url) as (memory, _):
        filler = Filler(memory, pools)
        filler.people(1, max(sizes))
        for before, size in zip([0, *sizes], sizes, strict=False):
            filler.conversations(before + 1, size)
            filler.settle()
            row: dict[str, Any] = {"conversations": size}
            for everything in (False, True):
                spent = []
                for _ in range(5):
                    began = time.perf_counter()
                    await memory.summaries.sweep(everything=everything)
                    spent.append((time.perf_counter() - began) * 1e3)
                row["everything" if everything else "failed"] = percentile(spent, 0.5)
            rows.append(row)
    return rows


PARTS: Final = {
    "crowd": ("others", "among", "alone"),
    "shared": ("shared", "beside", "exact"),
    "own": ("own", "recall", "exact"),
}
"""For each part, the columns of its plot: the size, and two series of times."""
TITLES: Final = {
    "crowd": ("One user of 500 memories", "memories of other users"),
    "shared": ("One user beside shared knowledge", "shared memories"),
    "own": ("One user with very many items", "memories of the user"),
}


def draw(part: str, rows: Sequence[Any], directory: Path) -> None:
    """Plot the medians of a part."""
    size, *columns = PARTS[part]
    lines = {name: [(row[size], row[name]["p50"]) for row in rows] for name in columns}
    svg.plot(directory / f"growth-{part}.svg", TITLES[part][0], TITLES[part][1], "ms", lines)


def main(
    part: Annotated[str, typer.Argument(help="crowd, shared, own or sweeps.")],
    vectors: Annotated[Path, typer.Option(help="The cache of vectors.")] = DIRECTORY,
    sizes: Annotated[str, typer.Option(help="Sizes, separated by commas.")] = "10000,100000",
    repeat: Annotated[int, typer.Option(min=5, help="Questions behind each figure.")] = 60,
    plots: Annotated[Path | None, typer.Option(help="Directory for a plot.")] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Measure one part at growing sizes.

    Milliseconds depend on the machine: compare within a row.
    """
    pools = Pools(vectors)
    numbers = [int(size) for size in sizes.split(",")]
    if part == "sweeps":
        rows = asyncio.run(sweeps(pools, database_url, numbers))
    else:
        measure = {"crowd": crowd, "shared": shared, "own": own}[part]
        rows = asyncio.run(measure(pools, database_url, numbers, repeat))
        if plots is not None:
            draw(part, rows, plots)
    console.print(rows)
    write(f"growth_{part}", {"benchmark": "growth", "part": part, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
