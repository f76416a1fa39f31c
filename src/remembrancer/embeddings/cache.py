"""A cache of query vectors."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from remembrancer.embeddings.base import Embedder, Vectors
from remembrancer.embeddings.onnx import OnnxEmbedder
from remembrancer.telemetry.spans import span

LONGEST: Final = 600.0
"""Seconds until the cache is emptied: another machine may have erased who asked."""


class CachedQueries:
    """An embedder that caches the vectors of its last ``size`` queries.

    Concurrent calls with the same query embed it once. Documents are not cached. The vectors are
    shared, so they are read-only. For use from one event loop.
    """

    def __init__(self, inner: Embedder, size: int) -> None:
        self._inner = inner
        self._size = size
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._pending: dict[str, asyncio.Task[Vectors]] = {}
        self._mark: Path | None = None
        self._marked_at = 0
        self._since = time.monotonic()
        self.name = inner.name
        self.dimensions = inner.dimensions

    @property
    def is_loaded(self) -> bool:
        """Whether no text waits for the start of a model in this process."""
        return not isinstance(self._inner, OnnxEmbedder) or self._inner.is_loaded

    async def load(self) -> None:
        """Load a model of this process, before the first text needs it."""
        if isinstance(self._inner, OnnxEmbedder):
            await asyncio.to_thread(self._inner.load)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, dimensions)."""
        with span("embedding", model=self.name, texts=len(texts)):
            return await self._inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, of length 1: shape (dimensions,)."""
        self._expire()
        if (vector := self._vectors.get(text)) is not None:
            self._vectors.move_to_end(text)
            return vector
        if (task := self._pending.get(text)) is None:
            # A separate task: a caller that gives up must not cancel it for the others.
            task = asyncio.create_task(self._embed_query(text))
            self._pending[text] = task
            task.add_done_callback(lambda task: self._store(text, task))
        return await asyncio.shield(task)

    async def _embed_query(self, text: str) -> Vectors:
        with span("embedding", model=self.name, texts=1):
            return await self._inner.embed_query(text)

    async def close(self) -> None:
        """Empty the cache and close the inner embedder."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._vectors.clear()
        await self._inner.close()

    def forget(self) -> None:
        """Empty the cache, for example after an erasure."""
        self._vectors.clear()
        if self._mark is not None:
            self._mark.touch()

    def share(self, directory: Path | None) -> None:
        """Tell other processes with the same directory when the cache is emptied."""
        self._mark = directory / "forget" if directory is not None else None
        self.follow()

    def follow(self) -> None:
        """Empty the cache if another process did so since the last call, or if it is old."""
        self._expire()
        with suppress(OSError):
            if self._mark is not None and (at := self._mark.stat().st_mtime_ns) != self._marked_at:
                self._marked_at = at
                self._vectors.clear()

    def _expire(self) -> None:
        if (now := time.monotonic()) - self._since > LONGEST:
            self._since = now
            self._vectors.clear()

    def _store(self, text: str, task: asyncio.Task[Vectors]) -> None:
        self._pending.pop(text, None)
        # Reading the exception also marks it as retrieved if every caller has left.
        if task.cancelled() or task.exception() is not None:
            return
        vector = task.result()
        vector.flags.writeable = False
        self._vectors[text] = vector
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
