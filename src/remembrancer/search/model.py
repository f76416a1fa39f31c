"""The embedding model of the stored vectors."""

from typing import Final

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert

from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.tables import embedding_model
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingModelMismatch
from remembrancer.ids import DEFAULT_WORKSPACE

_INDEX_SHARED: Final = text("SELECT app_index_shared()")


@retries_deadlock
async def claim_store(
    database: Database, embedder: Embedder, *, workspace: str = DEFAULT_WORKSPACE
) -> None:
    """Set the model of a new store; raise ``EmbeddingModelMismatch`` if it has another one."""
    model = {"name": embedder.name, "dimensions": embedder.dimensions}
    query = select(embedding_model.c.name, embedding_model.c.dimensions)
    async with database.system() as connection:
        await connection.execute(insert(embedding_model).values(model).on_conflict_do_nothing())
        name, dimensions = (await connection.execute(query)).one()
        await connection.execute(_INDEX_SHARED)
    if (name, dimensions) != (embedder.name, embedder.dimensions):
        option = "" if workspace == DEFAULT_WORKSPACE else f"--workspace {workspace} "
        raise EmbeddingModelMismatch(
            f"this store has vectors of {name} ({dimensions} dimensions), but {embedder.name} "
            f"({embedder.dimensions}) is configured; configure {name}, or run "
            f"`remembrancer {option}reembed` to embed all texts again"
        )
