"""Embed all stored texts with another model, while the old one serves.

Vectors of the new model are stored in ``reembeddings``. When they are complete, one transaction
replaces the old ones. It locks the row of ``embedding_model``, which every write of an item locks
too, so that no item gets a vector of the old model afterwards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.engine import Database
from remembrancer.db.rows import all_rows, first_row, one_row
from remembrancer.db.sql import statement
from remembrancer.db.tables import embedding_model, reembeddings
from remembrancer.embeddings import Embedder
from remembrancer.errors import Conflict
from remembrancer.search.index import voiced
from remembrancer.search.repository import key_columns

BATCH = 256
"""Items embedded at a time; each batch is stored at once."""

_sql = partial(statement, "remembrancer.search", "reembed")
_START: Final = (UUID(int=0), -1)


@dataclass(frozen=True, slots=True)
class Progress:
    """The number of items, and of those with a vector of the new model."""

    items: int
    done: int


@dataclass(frozen=True, slots=True)
class _ItemText:
    owner_id: UUID
    id: int
    speaker: str
    content: str


async def running(database: Database) -> Progress | None:
    """Return the progress of a change of the model that is under way or interrupted."""
    async with database.system() as connection:
        return await first_row(connection, Progress, _sql("running"))


class Reembedding:
    """One change of the model. It may be interrupted at any time, and continues from there."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def needed(self) -> bool:
        query = select(embedding_model.c.name, embedding_model.c.dimensions)
        async with self._database.system() as connection:
            row = (await connection.execute(query)).first()
        return row is not None and tuple(row) != (self._embedder.name, self._embedder.dimensions)

    async def begin(self) -> Progress:
        """Drop new vectors of other models; return the progress.

        Raises ``Conflict`` for a workspace on its way to another server.
        """
        async with self._database.system() as connection:
            # All vectors at once would hold up the server that follows.
            if (await connection.execute(_sql("is_moving"))).first() is not None:
                raise Conflict(
                    "the workspace is on its way to another server; confirm or undo its move first"
                )
            others = reembeddings.c.model != self._embedder.name
            await connection.execute(delete(reembeddings).where(others))
            return await one_row(connection, Progress, _sql("progress"))

    async def gather(self, advanced: Callable[[int], None]) -> None:
        """Embed the missing texts; call ``advanced`` with the size of each stored batch."""
        after = _START
        while True:
            async with self._database.system() as connection:
                items = await _missing(connection, after)
            if not items:
                return
            vectors = await self._vectors(items)
            async with self._database.system() as connection:
                await self._add(connection, items, vectors)
            advanced(len(items))
            after = (items[-1].owner_id, items[-1].id)

    async def finish(self) -> int:
        """Replace all vectors in one transaction; return their number."""
        async with self._database.system() as connection:
            await connection.execute(select(embedding_model.c.name).with_for_update())
            # Items that were added since; from now on, nobody can add any.
            while items := await _missing(connection, _START):
                await self._add(connection, items, await self._vectors(items))
            replaced = (await connection.execute(_sql("replace_vectors"))).rowcount
            await connection.execute(
                update(embedding_model).values(
                    name=self._embedder.name,
                    dimensions=self._embedder.dimensions,
                    updated_at=func.now(),
                )
            )
            await connection.execute(delete(reembeddings))
        return replaced

    async def _vectors(self, items: Sequence[_ItemText]) -> list[str]:
        texts = voiced([item.content for item in items], [item.speaker for item in items])
        vectors = await self._embedder.embed_documents(texts)
        return [str(vector.tolist()) for vector in vectors]

    async def _add(
        self, connection: AsyncConnection, items: Sequence[_ItemText], vectors: Sequence[str]
    ) -> None:
        columns = key_columns([(item.owner_id, item.id) for item in items])
        binds = {"model": self._embedder.name, "embeddings": vectors, **columns}
        await connection.execute(_sql("add"), binds)


async def _missing(connection: AsyncConnection, after: tuple[UUID, int]) -> list[_ItemText]:
    owner_id, item_id = after
    binds = {"owner_id": owner_id, "item_id": item_id, "batch": BATCH}
    return await all_rows(connection, _ItemText, _sql("missing"), binds)
