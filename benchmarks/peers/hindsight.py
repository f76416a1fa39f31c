"""Hindsight without a language model: each message is a memory unit, as it is.

Its cross-encoder needs a download, so that results stay in the order of its fusion.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import sqlalchemy
from hindsight_api import MemoryEngine, RequestContext
from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
from hindsight_api.engine.embeddings import Embeddings
from hindsight_api.engine.task_backend import SyncTaskBackend

from benchmarks.peers.base import Bench, CachedVectors, Talk, Unavailable, voiced

BATCH = 50
TOKENS = 20_000
"""What recall may return, in tokens: more than ten messages."""


@asynccontextmanager
async def open(bench: Bench) -> AsyncIterator["Hindsight"]:  # noqa: A001
    """Open an engine on a database of its own."""
    if not sqlalchemy.__version__.startswith("2.0."):
        raise Unavailable("needs SQLAlchemy 2.0: see docs/benchmarks.md")
    engine = MemoryEngine(
        db_url=await bench.database("hindsight"),
        memory_llm_provider="none",
        embeddings=Embedding(bench.vectors),
        cross_encoder=RRFPassthroughCrossEncoder(),
        task_backend=SyncTaskBackend(),
    )
    await engine.initialize()
    try:
        yield Hindsight(engine)
    finally:
        await engine.close()


class Embedding(Embeddings):
    provider_name = "remembrancer"

    def __init__(self, vectors: CachedVectors) -> None:
        self._vectors = vectors

    @property
    def dimension(self) -> int:
        return self._vectors.dimensions

    async def initialize(self) -> None:
        """Do nothing: the model is loaded."""

    async def encode(self, texts: list[str]) -> list[list[float]]:
        return (await self._vectors.embed_documents(texts)).tolist()

    async def encode_query(self, texts: list[str]) -> list[list[float]]:
        return [(await self._vectors.embed_query(text)).tolist() for text in texts]


class Hindsight:
    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine
        self._context = RequestContext()

    async def add(self, talk: Talk) -> None:
        for start in range(0, len(talk.turns), BATCH):
            await self._engine.retain_batch_async(
                talk.name,
                [
                    {"content": voiced(turn), "event_date": turn.at, "document_id": turn.id}
                    for turn in talk.turns[start : start + BATCH]
                ],
                request_context=self._context,
            )

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        answer = await self._engine.recall_async(
            talk.name, question, max_tokens=TOKENS, request_context=self._context
        )
        return [fact.document_id for fact in answer.results[:limit]]
