import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from remembrancer import (
    ConversationCreate,
    EmbeddingModelMismatch,
    EmbeddingUnavailable,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    RecallQuery,
    Remembrancer,
    Settings,
    User,
    as_actor,
)
from remembrancer.embeddings.base import Vectors, normalised
from remembrancer.search import reembed
from remembrancer.search.model import claim_store
from remembrancer.search.reembed import Reembedding


class Fake:
    """An embedder whose vectors say which model and text they are of."""

    def __init__(self, name: str, dimensions: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self.embedded: list[str] = []
        self.fails_after: int | None = None

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        if self.fails_after is not None and len(self.embedded) > self.fails_after:
            raise EmbeddingUnavailable("the endpoint is gone")
        return normalised(np.array([self._vector(t) for t in texts], dtype=np.float32))

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = (await self.embed_documents([text]))[0]
        return vector

    async def close(self) -> None:
        pass

    def _vector(self, text: str) -> list[float]:
        seed = hashlib.sha256(f"{self.name}|{text}".encode()).digest()
        return list(np.random.default_rng(list(seed)).normal(size=self.dimensions))


@pytest.fixture
async def old(memory: Remembrancer) -> AsyncIterator[Remembrancer]:
    """The store, as another model of 8 numbers has filled it."""
    old = Fake("old", 8)
    await _claimed_by(memory, old)
    yield Remembrancer(Settings(), memory.database, old)
    await _claimed_by(memory, memory.embedder)


async def _claimed_by(memory: Remembrancer, embedder: Any) -> None:
    async with memory.database.system() as connection:
        await connection.execute(text("DELETE FROM recall_items"))
        await connection.execute(text("DELETE FROM embedding_model"))
    await claim_store(memory.database, embedder)


async def _fill(memory: Remembrancer, user: User, count: int = 3) -> None:
    actor = as_actor(user)
    await memory.memories.remember(actor, MemoryCreate(content="Ada sails."))
    talk = await memory.conversations.open(actor, ConversationCreate())
    said = [MessageCreate(content=f"Line {n}") for n in range(count)]
    await memory.conversations.append(actor, talk.id, said)


async def _vectors(memory: Remembrancer) -> list[list[float]]:
    async with memory.database.system() as connection:
        found = await connection.execute(
            text("SELECT embedding::text FROM recall_items ORDER BY id")
        )
        return [[float(n) for n in row[0].strip("[]").split(",")] for row in found]


async def _left(memory: Remembrancer) -> int:
    async with memory.database.system() as connection:
        return int(
            (await connection.execute(text("SELECT count(*) FROM reembeddings"))).scalar_one()
        )


async def test_every_item_gets_the_new_models_vector(old: Remembrancer, ada: User) -> None:
    """Memories are embedded by their words, messages with who said them, and recall works."""
    await _fill(old, ada)
    new = Fake("new", 12)
    work = Reembedding(old.database, new)
    assert await work.needed()
    assert (await work.begin()).items == 4
    seen: list[int] = []
    await work.gather(seen.append)
    assert sum(seen) == 4
    assert await work.finish() == 4
    texts = ["Ada sails.", "Ada: Line 0", "Ada: Line 1", "Ada: Line 2"]
    assert sorted(new.embedded) == sorted(texts)
    expected = await Fake("new", 12).embed_documents(texts)
    np.testing.assert_allclose(await _vectors(old), expected, atol=2e-3)
    assert await _left(old) == 0
    assert not await work.needed()
    renewed = Remembrancer(Settings(), old.database, new)
    answer = await renewed.memories.recall(as_actor(ada), RecallQuery(query="Ada sails."))
    assert answer.hits[0].content == "Ada sails."


async def test_a_version_that_was_replaced_keeps_its_own_words(
    old: Remembrancer, ada: User
) -> None:
    """Old versions are embedded from what they said, for recall as of then."""
    made = await old.memories.remember(as_actor(ada), MemoryCreate(content="Ada rents."))
    await old.memories.update(as_actor(ada), made.memory.id, MemoryUpdate(content="Ada owns."))
    new = Fake("new", 12)
    work = Reembedding(old.database, new)
    await work.gather(lambda _: None)
    assert sorted(new.embedded) == ["Ada owns.", "Ada rents."]


async def test_an_interrupted_run_goes_on(
    old: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before an interruption is not embedded again."""
    monkeypatch.setattr(reembed, "BATCH", 2)
    await _fill(old, ada)
    new = Fake("new", 12)
    new.fails_after = 2
    work = Reembedding(old.database, new)
    with pytest.raises(EmbeddingUnavailable):
        await work.gather(lambda _: None)
    assert (await work.begin()).done == 2
    new.fails_after, new.embedded = None, []
    await work.gather(lambda _: None)
    assert len(new.embedded) == 2
    assert await work.finish() == 4


async def test_what_was_gathered_for_another_model_is_dropped(old: Remembrancer, ada: User) -> None:
    """A third model starts from nothing."""
    await _fill(old, ada)
    await Reembedding(old.database, Fake("new", 12)).gather(lambda _: None)
    work = Reembedding(old.database, Fake("newer", 5))
    assert (await work.begin()).done == 0
    await work.gather(lambda _: None)
    assert await work.finish() == 4
    assert {len(vector) for vector in await _vectors(old)} == {5}


async def test_the_old_server_works_until_the_swap(old: Remembrancer, ada: User) -> None:
    """Writes after the gathering are embedded in the swap; after it, the old model is refused."""
    await _fill(old, ada)
    work = Reembedding(old.database, Fake("new", 12))
    await work.gather(lambda _: None)
    await old.memories.remember(as_actor(ada), MemoryCreate(content="Ada rows, too."))
    hits = (await old.memories.recall(as_actor(ada), RecallQuery(query="rows"))).hits
    assert "Ada rows, too." in [hit.content for hit in hits]
    assert await work.finish() == 5
    assert {len(vector) for vector in await _vectors(old)} == {12}
    with pytest.raises(EmbeddingUnavailable):
        await old.memories.remember(as_actor(ada), MemoryCreate(content="Too late."))
    with pytest.raises(EmbeddingUnavailable):
        await old.memories.recall(as_actor(ada), RecallQuery(query="rows"))


async def test_a_store_of_another_model_is_refused(old: Remembrancer, database_url: str) -> None:
    """Opening it with another model names the command that helps; maintenance may open it."""
    with pytest.raises(EmbeddingModelMismatch, match="remembrancer reembed"):
        async with Remembrancer.open(database_url=database_url):
            pass
    async with Remembrancer.open(database_url=database_url, check_model=False) as opened:
        assert await Reembedding(opened.database, opened.embedder).needed()
