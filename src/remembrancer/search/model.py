"""The embedding model of the stored vectors."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from remembrancer.db.engine import Database
from remembrancer.db.tables import embedding_model
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingModelMismatch


async def claim_store(database: Database, embedder: Embedder) -> None:
    """Note the model of a new store; refuse one that another model has filled."""
    mine = {"name": embedder.name, "dimensions": embedder.dimensions}
    async with database.system() as connection:
        await connection.execute(insert(embedding_model).values(mine).on_conflict_do_nothing())
        stored = (await connection.execute(select(embedding_model))).one()
    if (stored.name, stored.dimensions) != (embedder.name, embedder.dimensions):
        raise EmbeddingModelMismatch(
            f"this store holds vectors of {stored.name} ({stored.dimensions} dimensions), but "
            f"{embedder.name} ({embedder.dimensions}) is configured; go back to that model, "
            "or run `remembrancer reembed` to embed everything anew"
        )
