"""LangGraph's store on Postgres: a namespace per conversation."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore

from benchmarks.peers.base import Bench, CachedVectors, Talk, voiced

BATCH = 100


@asynccontextmanager
async def open(bench: Bench) -> AsyncIterator["LangGraph"]:  # noqa: A001
    """Open a store on a database of its own."""
    url = await bench.database("langgraph")
    index = {
        "embed": Embedding(bench.vectors),
        "dims": bench.vectors.dimensions,
        "fields": ["text"],
    }
    async with AsyncPostgresStore.from_conn_string(url, index=index) as store:
        await store.setup()
        yield LangGraph(store)


class Embedding(Embeddings):
    def __init__(self, vectors: CachedVectors) -> None:
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._vectors.documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._vectors.query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return (await self._vectors.embed_documents(texts)).tolist()

    async def aembed_query(self, text: str) -> list[float]:
        return (await self._vectors.embed_query(text)).tolist()


class LangGraph:
    def __init__(self, store: AsyncPostgresStore) -> None:
        self._store = store

    async def add(self, talk: Talk) -> None:
        for start in range(0, len(talk.turns), BATCH):
            await self._store.abatch(
                PutOp(
                    (talk.name,),
                    turn.id,
                    {"text": voiced(turn), "sender": turn.sender, "at": turn.at.isoformat()},
                )
                for turn in talk.turns[start : start + BATCH]
            )

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        items = await self._store.asearch((talk.name,), query=question, limit=limit)
        return [item.key for item in items]
