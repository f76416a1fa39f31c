"""Items and postings in the database. No other package writes these tables.

Items of memories copy what recall filters by from ``memories``. After a change there, call
:func:`refresh`, which derives all of it anew.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    Table,
    TextClause,
    Uuid,
    and_,
    case,
    delete,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, Text

from remembrancer.db.arrays import array
from remembrancer.db.copies import copy_rows, values_table
from remembrancer.db.rows import TextRow
from remembrancer.db.sql import among, json_rows, statement, statement_text
from remembrancer.db.tables import item_changes, postings, recall_items, reembeddings
from remembrancer.db.trips import Trip
from remembrancer.ids import MemoryKey

Counts = Counter[str]
"""Rows by table."""

_text = partial(statement_text, "remembrancer.search", "items")


def _noted(changed: str) -> str:
    return _text("noted", changed=changed)


_sql = partial(statement, "remembrancer.search", "items", noted=_noted)
_ADD = _sql("add", items=None)
_ADD_MESSAGES = _sql("add", items=_text("of_messages"))
_LARGEST_FREQUENCY = 32_767
_MODEL = text("SELECT name FROM embedding_model FOR SHARE")


def _erasure(items: str) -> TextClause:
    """Return the deletion of the items that a statement selects."""
    return _sql("erase", items=_text(items))


async def lock_model(connection: AsyncConnection) -> str | None:
    """Keep the embedding model from being changed until the transaction ends; return its name.

    So no vector of the old model is stored after `reembed` has replaced them.
    """
    name: str | None = (await connection.execute(_MODEL)).scalar_one_or_none()
    return name


def add(
    trip: Trip,
    model: str,
    items: Sequence[Mapping[str, object]],
    vectors: Sequence[NDArray[np.float32]],
    terms: Sequence[Mapping[str, int]],
    *,
    of_messages: bool,
) -> Sequence[TextRow]:
    """Insert items and their postings, if the store has vectors of ``model``; read its model.

    ``terms`` are the terms of each item with their counts. The model stays locked until the
    transaction ends, as :func:`lock_model` does.
    """
    counts = np.fromiter(chain.from_iterable(each.values() for each in terms), np.int64)
    numbers = np.repeat(np.arange(1, len(terms) + 1), [len(each) for each in terms])
    binds = {
        "model": model,
        "items": json_rows(items),
        "vectors": array(np.concatenate(vectors), ">f4"),
        "dimensions": len(vectors[0]),
        # A term has no space.
        "terms": " ".join(chain.from_iterable(terms)),
        "numbers": array(numbers, ">i4"),
        "frequencies": array(counts.clip(max=_LARGEST_FREQUENCY), ">i2"),
    }
    return trip.add(_ADD_MESSAGES if of_messages else _ADD, binds, TextRow)


async def refresh(connection: AsyncConnection, memories: Collection[MemoryKey]) -> None:
    """Derive from ``memories`` what the items of these memories copy.

    Whether recall has them, where they lie, which version is current, and its kind, category,
    importance and interval. Store the item of a new version first.
    """
    if memories:
        await connection.execute(_sql("refresh_memories"), key_columns(memories))


async def note(connection: AsyncConnection, memories: Collection[MemoryKey]) -> None:
    """Tell those who have items of these memories in memory that they were pinned or unpinned."""
    await connection.execute(_sql("note_memories"), key_columns(memories))


async def refresh_messages(
    connection: AsyncConnection, messages: Collection[tuple[UUID, UUID]]
) -> None:
    """Set whether recall has messages, given by owner and id: not those that a memory withholds."""
    await connection.execute(_sql("refresh_messages"), key_columns(messages))


async def reshare(connection: AsyncConnection, owner_id: UUID, ids: Collection[str]) -> None:
    """Set for which space the postings of an owner's memories are visible, after a refresh."""
    await connection.execute(_sql("reshare_memories"), {"owner_id": owner_id, "ids": list(ids)})


async def return_items(
    connection: AsyncConnection, versions: Collection[tuple[UUID, str, int]]
) -> None:
    """Give items of versions that will be deleted to the versions before with the same words."""
    await connection.execute(_sql("return_items"), _version_columns(versions))


async def erase_memories(connection: AsyncConnection, memories: Collection[MemoryKey]) -> Counts:
    return await _erase(connection, _sql("erase", items=None), key_columns(memories))


async def erase_versions(
    connection: AsyncConnection, versions: Collection[tuple[UUID, str, int]]
) -> Counts:
    """Delete the items of versions, given by owner, memory and number."""
    return await _erase(connection, _erasure("of_versions"), _version_columns(versions))


async def erase_sources(
    connection: AsyncConnection, sources: Collection[tuple[UUID, UUID]]
) -> Counts:
    """Delete the items of messages and chunks, given by owner and id."""
    return await _erase(connection, _erasure("of_sources"), key_columns(sources))


async def remove_conversation(
    connection: AsyncConnection, conversation_id: UUID, owner_ids: Collection[UUID]
) -> None:
    """Remove a conversation from the items of its owners' memories."""
    item = recall_items.c
    change = update(recall_items).where(among(item.owner_id, owner_ids))
    change = change.where(item.conversation_id == conversation_id, item.source_type == "memory")
    await connection.execute(change.values(conversation_id=None))
    await _note_all(connection, owner_ids)


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counts:
    counts: Counts = Counter()
    for table in (postings, reembeddings, recall_items, item_changes):
        result = await connection.execute(delete(table).where(table.c.owner_id == owner_id))
        counts[table.name] = result.rowcount
    return counts


async def copy_memories(
    connection: AsyncConnection, owner_id: UUID, new_ids: Mapping[str, str]
) -> None:
    """Copy the items of an owner's memories to other memories of the owner, by old and new id.

    Refresh the new memories afterwards.
    """
    await lock_model(connection)
    binds = {"owner_id": owner_id, "olds": list(new_ids), "news": list(new_ids.values())}
    numbers = (await connection.execute(_sql("number_memories"), binds)).all()
    numbered = values_table(
        {
            "old": ([row.old for row in numbers], BigInteger()),
            "new": ([row.new for row in numbers], BigInteger()),
            "memory_id": ([row.memory_id for row in numbers], Text()),
        }
    )
    column = numbered.c
    items = and_(recall_items.c.owner_id == owner_id, recall_items.c.id == column.old)
    changes = {"id": column.new, "memory_id": column.memory_id}
    await copy_rows(connection, recall_items, items, changes, joined=numbered)
    terms = and_(postings.c.owner_id == owner_id, postings.c.item_id == column.old)
    await copy_rows(connection, postings, terms, {"item_id": column.new}, joined=numbered)
    await _note_all(connection, [owner_id])


async def copy_sources(
    connection: AsyncConnection, giver: UUID, taker: UUID, new_ids: Mapping[UUID, UUID]
) -> None:
    """Copy the items of the giver's messages and chunks for the taker, by old and new id."""
    if new_ids:
        binds = {"ids": list(new_ids), "new_ids": list(new_ids.values())}
        await connection.execute(_sql("copy_sources"), {"giver": giver, "taker": taker, **binds})
        await _note_all(connection, [taker])


async def transfer(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    *,
    memory_ids: Sequence[str] = (),
    source_ids: Sequence[UUID] = (),
    renamed: Mapping[str, str] | None = None,
) -> None:
    """Make the giver's items of memories, and of messages and chunks, the taker's.

    ``renamed`` has new ids of memories by old id. The memories are the taker's by then.
    """
    item, renamed = recall_items.c, renamed or {}
    memory_id: Any = item.memory_id
    if renamed:
        memory_id = case(dict(renamed), value=item.memory_id, else_=item.memory_id)
    of_memories = and_(item.owner_id == giver, among(item.memory_id, memory_ids))
    of_sources = and_(item.owner_id == giver, among(item.source_id, source_ids))
    ids = [
        row.id
        for condition in (of_memories, of_sources)
        for row in await connection.execute(select(item.id).where(condition))
    ]
    tables: tuple[tuple[Table, Any, dict[str, Any]], ...] = (
        (recall_items, item.id, {"memory_id": memory_id}),
        (postings, postings.c.item_id, {}),
        (reembeddings, reembeddings.c.item_id, {}),
    )
    conditions = [
        and_(table.c.owner_id == giver, among(column, ids)) for table, column, _ in tables
    ]
    for (table, _, changes), condition in zip(tables, conditions, strict=True):
        await copy_rows(connection, table, condition, {"owner_id": literal(taker, Uuid), **changes})
    for (table, _, _), condition in reversed(list(zip(tables, conditions, strict=True))):
        await connection.execute(delete(table).where(condition))
    await _note_all(connection, [giver, taker])
    await refresh(connection, [(taker, renamed.get(i, i)) for i in memory_ids])


async def _note_all(connection: AsyncConnection, owner_ids: Collection[UUID]) -> None:
    await connection.execute(_sql("note_all"), {"owners": list(owner_ids)})


async def _erase(
    connection: AsyncConnection, deletion: TextClause, binds: dict[str, list[Any]]
) -> Counts:
    if not binds["ids"]:
        return Counter()
    return Counter(dict((await connection.execute(deletion, binds)).mappings().one()))


def key_columns(keys: Collection[tuple[UUID, str | int | UUID]]) -> dict[str, list[Any]]:
    """Return keys as the binds of a statement: owners and ids."""
    return {"owners": [owner for owner, _ in keys], "ids": [key for _, key in keys]}


def _version_columns(versions: Collection[tuple[UUID, str, int]]) -> dict[str, list[Any]]:
    return {
        **key_columns([(owner_id, memory_id) for owner_id, memory_id, _ in versions]),
        "versions": [version for _, _, version in versions],
    }
