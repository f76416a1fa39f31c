"""Texts that wait for a model in this process, of all requests."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import numpy as np

from remembrancer.embeddings.base import Vectors

AT_ONCE: Final = 8
"""Texts that a thread takes, and the most of a request that is no bulk."""


class Lane:
    """Threads for a model, and a queue.

    A free thread takes its share of the texts that wait, up to ``AT_ONCE``. So texts of concurrent
    requests go through the model together, and one that comes alone waits for nothing.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors], threads: int) -> None:
        self._embed = embed
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "embedding")
        self._waiting: deque[tuple[str, Future[Vectors]]] = deque()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in order; there is at least one."""
        pairs: list[tuple[str, Future[Vectors]]] = [(text, Future()) for text in texts]
        # The longest first: the threads end together, and texts of one length are neighbours.
        self._waiting.extend(sorted(pairs, key=lambda pair: -len(pair[0])))
        for _ in pairs:
            self._pool.submit(self._work)
        return np.stack(await asyncio.gather(*(asyncio.wrap_future(future) for _, future in pairs)))

    def _work(self) -> None:
        share = min(-(-len(self._waiting) // self._threads), AT_ONCE)
        taken: list[tuple[str, Future[Vectors]]] = []
        with suppress(IndexError):
            while len(taken) < share:
                text, future = self._waiting.popleft()
                # A request that was cancelled wants nothing.
                if future.set_running_or_notify_cancel():
                    taken.append((text, future))
        if not taken:
            return
        try:
            rows = self._embed([text for text, _ in taken])
        except BaseException as error:
            for _, future in taken:
                future.set_exception(error)
            raise
        for (_, future), row in zip(taken, rows, strict=True):
            future.set_result(row)
