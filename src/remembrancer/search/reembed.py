"""Embed everything anew with another model, from the stored text, while the old one serves.

Vectors of the new model gather in ``reembeddings``. When they are complete, one transaction
puts them in place: it holds the row of ``embedding_model``, which every write of a vector
holds as well, so that no item can slip in with a vector of the old model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import Row, bindparam, delete, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.engine import Database
from remembrancer.db.tables import embedding_model, reembeddings
from remembrancer.embeddings import Embedder
from remembrancer.search.index import voiced

BATCH = 256
"""Items embedded at a time; each batch is stored as soon as it is done."""

_TEXTS = """
    SELECT i.owner_id, i.id,
           coalesce(m.sender_name, '') AS speaker,
           coalesce(m.content, v.content, c.content, '') AS content
      FROM recall_items AS i
      LEFT JOIN reembeddings AS done ON done.owner_id = i.owner_id AND done.item_id = i.id
      LEFT JOIN messages AS m
        ON i.source_type = 'message' AND m.owner_id = i.owner_id AND m.id = i.source_id
      LEFT JOIN memory_versions AS v
        ON i.source_type = 'memory' AND v.owner_id = i.owner_id
       AND v.memory_id = i.memory_id AND v.version = i.memory_version
      LEFT JOIN chunks AS c
        ON i.source_type = 'chunk' AND c.owner_id = i.owner_id AND c.id = i.source_id
     WHERE done.item_id IS NULL AND (i.owner_id, i.id) > (:owner_id, :item_id)
     ORDER BY i.owner_id, i.id
     LIMIT :batch
"""
_NEXT = text(_TEXTS)
_FIRST = {"owner_id": "00000000-0000-0000-0000-000000000000", "item_id": -1}

_COUNT = text("""
    SELECT (SELECT count(*) FROM recall_items) AS items,
           (SELECT count(*) FROM reembeddings) AS done
""")
# From the item itself: one that was erased meanwhile takes no vector.
_KEEP = text("""
    INSERT INTO reembeddings (owner_id, item_id, model, embedding)
    SELECT owner_id, id, CAST(:model AS text), CAST(:embedding AS halfvec)
      FROM recall_items
     WHERE owner_id = :owner_id AND id = :item_id
       FOR KEY SHARE
        ON CONFLICT DO NOTHING
""").bindparams(bindparam("embedding", type_=HALFVEC))
_MODEL = text("SELECT name, dimensions FROM embedding_model")
_LOCK = text("SELECT name FROM embedding_model FOR UPDATE")
_SWAP = text("""
    UPDATE recall_items AS i SET embedding = n.embedding
      FROM reembeddings AS n
     WHERE n.owner_id = i.owner_id AND n.item_id = i.id
""")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work has come."""

    items: int
    done: int


class Reembedding:
    """One change of model. May be interrupted at any time, and goes on where it was."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def needed(self) -> bool:
        """Say whether the store holds vectors of another model."""
        async with self._database.system() as connection:
            stored = (await connection.execute(_MODEL)).first()
        mine = (self._embedder.name, self._embedder.dimensions)
        return stored is not None and tuple(stored) != mine

    async def begin(self) -> Progress:
        """Forget what was gathered for other models; say how much there is to do."""
        async with self._database.system() as connection:
            others = reembeddings.c.model != self._embedder.name
            await connection.execute(delete(reembeddings).where(others))
            row = (await connection.execute(_COUNT)).one()
        return Progress(items=row.items, done=row.done)

    async def gather(self, advanced: Callable[[int], None]) -> None:
        """Embed what is not yet embedded; ``advanced`` is told of every batch stored."""
        after: dict[str, Any] = _FIRST
        while True:
            async with self._database.system() as connection:
                rows = await _unembedded(connection, after)
            if not rows:
                return
            embedded = await self._embedded(rows)
            async with self._database.system() as connection:
                await _keep(connection, embedded)
            advanced(len(rows))
            after = {"owner_id": rows[-1].owner_id, "item_id": rows[-1].id}

    async def finish(self) -> int:
        """Put the new vectors in place, all at once; return how many."""
        mine = {"name": self._embedder.name, "dimensions": self._embedder.dimensions}
        async with self._database.system() as connection:
            await connection.execute(_LOCK)
            # what was written since, and nothing can be written now
            while rows := await _unembedded(connection, _FIRST):
                await _keep(connection, await self._embedded(rows))
            swapped = (await connection.execute(_SWAP)).rowcount
            await connection.execute(
                update(embedding_model).values(**mine, updated_at=text("now()"))
            )
            await connection.execute(delete(reembeddings))
        return int(swapped)

    async def _embedded(self, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
        texts = voiced([row.content for row in rows], [row.speaker for row in rows])
        vectors = await self._embedder.embed_documents(texts)
        return [
            {
                "owner_id": row.owner_id,
                "item_id": row.id,
                "model": self._embedder.name,
                "embedding": vector,
            }
            for row, vector in zip(rows, vectors, strict=True)
        ]


async def _unembedded(connection: AsyncConnection, after: dict[str, Any]) -> Sequence[Row[Any]]:
    return (await connection.execute(_NEXT, {**after, "batch": BATCH})).all()


async def _keep(connection: AsyncConnection, rows: list[dict[str, Any]]) -> None:
    await connection.execute(_KEEP, rows)
