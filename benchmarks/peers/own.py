"""Remembrancer, through its library."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.common import store
from benchmarks.locomo import StoredConversation, fill
from benchmarks.peers.base import Bench, Talk
from remembrancer import Remembrancer


@asynccontextmanager
async def open(bench: Bench) -> AsyncIterator["Own"]:  # noqa: A001
    """Open a store on a database of its own."""
    url = await bench.database("remembrancer")
    async with store(url, wrap=lambda _: bench.vectors) as memory:
        yield Own(memory)


class Own:
    def __init__(self, memory: Remembrancer) -> None:
        self._memory = memory
        self._run = uuid.uuid4().hex
        self._stored: dict[str, StoredConversation] = {}

    async def add(self, talk: Talk) -> None:
        self._stored[talk.name] = await fill(self._memory, talk.sample, self._run, summaries=False)

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        return await self._stored[talk.name].recall(self._memory, question, limit)
