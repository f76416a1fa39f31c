"""Remember the vectors of recent questions."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from remembrancer.embeddings.base import Embedder, Vectors


class CachedQueries:
    """An embedder that keeps the vectors of its last ``size`` questions.

    The same question asked while it is being embedded is not embedded again. Documents pass
    through: they are embedded once anyway. Vectors handed out are read-only, for they are
    shared. For use from one event loop.
    """

    def __init__(self, inner: Embedder, size: int) -> None:
        self._inner = inner
        self._size = size
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._pending: dict[str, asyncio.Task[Vectors]] = {}
        self.name = inner.name
        self.dimensions = inner.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, dimensions)."""
        return await self._inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, of length 1: shape (dimensions,)."""
        if (vector := self._known.get(text)) is not None:
            self._known.move_to_end(text)
            return vector
        # A task of its own, so that one impatient caller does not cancel it for the others.
        task = self._pending.get(text) or self._start(text)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Forget everything and close the embedder within."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._known.clear()
        await self._inner.close()

    def forget(self) -> None:
        """Drop all cached questions, as after an erasure."""
        self._known.clear()

    def _start(self, text: str) -> asyncio.Task[Vectors]:
        task = asyncio.create_task(self._inner.embed_query(text))
        self._pending[text] = task
        task.add_done_callback(lambda done: self._keep(text, done))
        return task

    def _keep(self, text: str, done: asyncio.Task[Vectors]) -> None:
        self._pending.pop(text, None)
        # Asking for the exception also marks it as seen when every caller has left.
        if done.cancelled() or done.exception() is not None:
            return
        vector = done.result()
        vector.flags.writeable = False
        self._known[text] = vector
        while len(self._known) > self._size:
            self._known.popitem(last=False)
