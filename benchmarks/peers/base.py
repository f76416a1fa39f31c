"""What a peer does, and what it is given."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psycopg
from sqlalchemy.engine import make_url

from benchmarks.locomo import Turn
from remembrancer.embeddings import Embedder
from remembrancer.embeddings.base import Vectors


@dataclass(frozen=True)
class Talk:
    """One conversation of the data set."""

    name: str
    turns: Sequence[Turn]
    sample: dict[str, Any]


class Unavailable(Exception):
    """A peer that is installed cannot run here; the text says why."""


class Peer(Protocol):
    """A store of conversations."""

    async def add(self, talk: Talk) -> None:
        """Store every turn of a conversation."""
        ...

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        """Return the ids of the turns that answer best, best first."""
        ...


@dataclass(frozen=True)
class System:
    """A line of the table."""

    name: str
    module: str
    """The module of this package that opens it."""
    distribution: str = ""
    """What ``pip install`` calls it; empty for what is made here."""

    @property
    def version(self) -> str:
        """The version installed. Raises ``Unavailable`` without one."""
        try:
            return version(self.distribution) if self.distribution else ""
        except PackageNotFoundError:
            raise Unavailable(f"not installed (pip install {self.distribution})") from None


class CachedVectors:
    """An embedder that keeps every vector, for stores which embed the same texts.

    ``seconds`` is the time that the model took, so that it can be left out of a store's time.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        self._documents: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}
        self.name = inner.name
        self.dimensions = inner.dimensions
        self.seconds = 0.0
        self._running = 0

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            vectors = await self._timed(missing)
            self._documents.update(zip(missing, vectors, strict=True))
        return np.array([self._documents[text] for text in texts], dtype=np.float32)

    async def _timed(self, texts: Sequence[str]) -> Vectors:
        # A second in which two calls run counts once.
        if not self._running:
            self._since = time.perf_counter()
        self._running += 1
        try:
            return await self._inner.embed_documents(texts)
        finally:
            self._running -= 1
            if not self._running:
                self.seconds += time.perf_counter() - self._since

    async def embed_query(self, text: str) -> Vectors:
        if text not in self._queries:
            self._queries[text] = await self._inner.embed_query(text)
        return self._queries[text]

    async def close(self) -> None:
        """Do nothing: several stores share it, and each closes its embedder."""

    def documents(self, texts: Iterable[str]) -> list[list[float]]:
        """Return vectors to a store that runs in a thread."""
        rows = asyncio.run_coroutine_threadsafe(self.embed_documents(list(texts)), self._loop)
        return rows.result().tolist()

    def query(self, text: str) -> list[float]:
        """Return the vector of a query to a store that runs in a thread."""
        vector = asyncio.run_coroutine_threadsafe(self.embed_query(text), self._loop)
        return vector.result().tolist()


@dataclass(frozen=True)
class Bench:
    """What every store is given: the embedder, a directory and a Postgres."""

    vectors: CachedVectors
    scratch: Path
    server: str
    """The address of a database on the server."""

    async def database(self, name: str) -> str:
        """Return the address of a new, empty database."""
        name = f"peer_{name}"
        async with await psycopg.AsyncConnection.connect(self.server, autocommit=True) as server:
            await server.execute(f'CREATE DATABASE "{name}"')
        return make_url(self.server).set(database=name).render_as_string(hide_password=False)


def voiced(turn: Turn) -> str:
    """Return the text of a turn as every store gets it, with the sender's name."""
    return f"{turn.sender}: {turn.content}"
