"""Chroma: a collection per conversation, in memory, by cosine."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import chromadb
from chromadb.config import Settings
from chromadb.utils.embedding_functions import EmbeddingFunction

from benchmarks.peers.base import Bench, CachedVectors, Talk, voiced

BATCH = 500


@asynccontextmanager
async def open(bench: Bench) -> AsyncIterator["Chroma"]:  # noqa: A001
    """Open an ephemeral client."""
    yield Chroma(chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), bench.vectors)


class Embedding(EmbeddingFunction):
    def __init__(self, vectors: CachedVectors) -> None:
        self._vectors = vectors

    def __call__(self, input: list[str]) -> Any:  # noqa: A002
        return self._vectors.documents(input)

    def embed_query(self, input: list[str]) -> Any:  # noqa: A002
        return [self._vectors.query(text) for text in input]


class Chroma:
    def __init__(self, client: Any, vectors: CachedVectors) -> None:
        self._client = client
        self._embedding = Embedding(vectors)

    async def add(self, talk: Talk) -> None:
        await asyncio.to_thread(self._add, talk)

    def _add(self, talk: Talk) -> None:
        collection = self._client.create_collection(
            talk.name,
            embedding_function=self._embedding,
            configuration={"hnsw": {"space": "cosine"}},
        )
        for start in range(0, len(talk.turns), BATCH):
            turns = talk.turns[start : start + BATCH]
            collection.add(
                ids=[turn.id for turn in turns],
                documents=[voiced(turn) for turn in turns],
                metadatas=[{"sender": turn.sender, "at": turn.at.isoformat()} for turn in turns],
            )

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._recall, talk, question, limit)

    def _recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        collection = self._client.get_collection(talk.name, embedding_function=self._embedding)
        return collection.query(query_texts=[question], n_results=limit)["ids"][0]
