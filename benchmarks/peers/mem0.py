"""mem0 with its default store (Qdrant), without a language model (``infer=False``).

With fastembed, it also searches by keywords: install ``mem0ai fastembed``.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

from benchmarks.peers.base import Bench, Talk, voiced
from remembrancer.analysis import languages

STOP_WORDS = languages._stop_words()[languages.DEFAULT]


@asynccontextmanager
async def open(bench: Bench) -> AsyncIterator["Mem0"]:  # noqa: A001
    """Open a local store in the scratch directory."""
    # One of the names that its settings accept; what it stands for is never loaded.
    EmbedderFactory.provider_to_class["langchain"] = f"{__name__}.{Embedding.__name__}"
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(bench.scratch / "qdrant"),
                    "embedding_model_dims": bench.vectors.dimensions,
                },
            },
            "embedder": {"provider": "langchain", "config": {"model": bench.vectors}},
            "llm": {"provider": "openai", "config": {"api_key": "never used"}},
            "history_db_path": str(bench.scratch / "mem0.db"),
        }
    )
    if find_spec("fastembed"):
        sparse = importlib.import_module("fastembed").SparseTextEmbedding
        # A path of our own, because its list of stop words is a download.
        memory.vector_store._bm25_encoder = sparse(
            "Qdrant/bm25", specific_model_path=str(bench.scratch), stopwords=STOP_WORDS
        )
    try:
        yield Mem0(memory)
    finally:
        memory.close()


class Embedding(EmbeddingBase):
    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vectors: Any = self.config.model
        if memory_action == "search":
            return vectors.query(text)
        return vectors.documents([text])[0]


class Mem0:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def add(self, talk: Talk) -> None:
        await asyncio.to_thread(self._add, talk)

    def _add(self, talk: Talk) -> None:
        for turn in talk.turns:
            self._memory.add(
                [{"role": "user", "name": turn.sender, "content": voiced(turn)}],
                user_id=talk.name,
                metadata={"turn": turn.id, "created_at": turn.at.isoformat()},
                infer=False,
            )

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._recall, talk, question, limit)

    def _recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        answer = self._memory.search(question, filters={"user_id": talk.name}, top_k=limit)
        return [item["metadata"]["turn"] for item in answer["results"]]
