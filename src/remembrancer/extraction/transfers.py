"""Summaries of a user who is merged into another, and back. Search items move with them."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement
from remembrancer.search import sources

Json = dict[str, Any]

_statement = partial(statement, "remembrancer.extraction", "transfers")
_DROP_COPIES = _statement("drop_copies")
_MOVE = _statement("move_chunks")
_COPY = _statement("copy_chunks")


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Give ``taker`` the summaries of ``giver``, once they take part; return what moved.

    A summary that both have is dropped; the search items of the others move with their owner's.
    """
    users = {"giver": giver, "taker": taker}
    rows = (await connection.execute(_DROP_COPIES, users)).mappings()
    dropped = [{name: _plain(value) for name, value in row.items()} for row in rows]
    await sources.erase(connection, [(giver, UUID(str(chunk["id"]))) for chunk in dropped])
    moved = (await connection.execute(_MOVE, {**users, "ids": None})).scalars()
    return {"chunks": [str(chunk_id) for chunk_id in moved], "chunks_dropped": dropped}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    """Return summaries to ``taker``, and copies of dropped ones."""
    users = {"giver": giver, "taker": taker}
    await connection.execute(_MOVE, {**users, "ids": record["chunks"]})
    dropped = record["chunks_dropped"]
    binds = {
        "ids": [chunk["id"] for chunk in dropped],
        "conversations": [chunk["conversation_id"] for chunk in dropped],
        "starts": [chunk["range_start"] for chunk in dropped],
        "ends": [chunk["range_end"] for chunk in dropped],
    }
    copies = (await connection.execute(_COPY, {**users, **binds})).all()
    await sources.copy(connection, giver, taker, {row.id: row.former_id for row in copies})


def _plain(value: UUID | int) -> str | int:
    return str(value) if isinstance(value, UUID) else value
