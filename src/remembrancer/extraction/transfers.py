"""Summaries of a user who is merged into another, and back, or erased. Items move with them."""

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement
from remembrancer.search import repository as search

Json = dict[str, Any]

_sql = partial(statement, "remembrancer.extraction", "transfers")
_erasures = partial(statement, "remembrancer.extraction", "erasures")


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Give ``taker`` the summaries of ``giver``, once they take part; return what moved.

    A summary that both have is dropped; the search items of the others move with their owner's.
    """
    users = {"giver": giver, "taker": taker}
    rows = (await connection.execute(_sql("drop_copies"), users)).mappings()
    dropped = [{name: _plain(value) for name, value in row.items()} for row in rows]
    await search.erase_sources(connection, [(giver, UUID(str(chunk["id"]))) for chunk in dropped])
    moved = (await connection.execute(_sql("move_chunks"), {**users, "ids": None})).scalars()
    return {"chunks": [str(chunk_id) for chunk_id in moved], "chunks_dropped": dropped}


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    """Return summaries to ``taker``, and copies of dropped ones."""
    users = {"giver": giver, "taker": taker}
    await connection.execute(_sql("move_chunks"), {**users, "ids": record["chunks"]})
    dropped = record["chunks_dropped"]
    binds = {
        "ids": [chunk["id"] for chunk in dropped],
        "conversations": [chunk["conversation_id"] for chunk in dropped],
        "starts": [chunk["range_start"] for chunk in dropped],
        "ends": [chunk["range_end"] for chunk in dropped],
    }
    copies = (await connection.execute(_sql("copy_chunks"), {**users, **binds})).all()
    await search.copy_sources(connection, giver, taker, {row.id: row.former_id for row in copies})


def _plain(value: UUID | int) -> str | int:
    return str(value) if isinstance(value, UUID) else value


async def erase_over(connection: AsyncConnection, owner_id: UUID) -> Counter[str]:
    """Delete all users' summaries of an owner's messages."""
    return await _erase(connection, _erasures("erase_over"), {"owner_id": owner_id})


async def erase_unsourced(
    connection: AsyncConnection, positions: Mapping[UUID, Collection[int]]
) -> Counter[str]:
    """Delete all users' summaries over messages, by conversation, of which none is left."""
    places = [(each, position) for each in positions for position in positions[each]]
    binds = {
        "conversations": [each for each, _ in places],
        "positions": [position for _, position in places],
    }
    return await _erase(connection, _erasures("erase_unsourced"), binds)


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counter[str]:
    return await _erase(connection, _erasures("erase_owner"), {"owner_id": owner_id})


async def erase_conversation(connection: AsyncConnection, conversation_id: UUID) -> Counter[str]:
    binds = {"conversation_id": conversation_id}
    return await _erase(connection, _erasures("erase_conversation"), binds)


async def _erase(
    connection: AsyncConnection, deletion: TextClause, binds: Mapping[str, Any]
) -> Counter[str]:
    rows = (await connection.execute(deletion, binds)).all()
    counts = await search.erase_sources(connection, [(row.owner_id, row.id) for row in rows])
    return counts + Counter(chunks=len(rows))
