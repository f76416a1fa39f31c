"""Items and postings in the database. No other package writes these tables.

Items of memories copy what recall filters by from ``memories``. After a change there, call
:func:`refresh`, which derives all of it anew.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Table,
    TextClause,
    Uuid,
    and_,
    any_,
    case,
    cast,
    delete,
    insert,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, Text

from remembrancer.db.copies import copy_rows, values_table
from remembrancer.db.sql import statement, statement_text
from remembrancer.db.tables import postings, recall_items, reembeddings
from remembrancer.ids import MemoryKey

Counts = Counter[str]
"""Rows by table."""

_PACKAGE = "remembrancer.search"
_MODEL = text("SELECT name FROM embedding_model FOR SHARE")
_NEW_IDS = statement(_PACKAGE, "items", "new_ids")
_ADD_POSTINGS = statement(_PACKAGE, "items", "add_postings")
_REFRESH = statement(_PACKAGE, "items", "refresh_memories")
_RESHARE = statement(_PACKAGE, "items", "reshare_memories")
_RETURN_ITEMS = statement(_PACKAGE, "items", "return_items")
_NUMBER_MEMORIES = statement(_PACKAGE, "items", "number_memories")


def _deletions(items: str) -> Mapping[str, TextClause]:
    """Return, by table, the deletion of the items that a statement selects."""
    selected = statement_text(_PACKAGE, "items", items)
    columns = {"postings": "item_id", "reembeddings": "item_id", "recall_items": "id"}
    return {
        table: text(
            f"DELETE FROM {table} AS t USING ({selected}) AS s"
            f" WHERE t.owner_id = s.owner_id AND t.{column} = s.id"
        )
        for table, column in columns.items()
    }


_ERASE_MEMORIES = _deletions("of_memories")
_ERASE_VERSIONS = _deletions("of_versions")


async def lock_model(connection: AsyncConnection) -> str | None:
    """Keep the embedding model from being changed until the transaction ends; return its name.

    So no vector of the old model is stored after `reembed` has replaced them.
    """
    name: str | None = (await connection.execute(_MODEL)).scalar_one_or_none()
    return name


async def new_ids(connection: AsyncConnection, count: int) -> Sequence[int]:
    """Return ids for so many new items."""
    return (await connection.execute(_NEW_IDS, {"count": count})).scalars().all()


async def add(
    connection: AsyncConnection,
    items: Sequence[dict[str, Any]],
    terms: Mapping[str, Sequence[Any]],
) -> None:
    """Insert items (rows) and their postings (columns)."""
    await connection.execute(insert(recall_items), items)
    await connection.execute(_ADD_POSTINGS, terms)


async def refresh(connection: AsyncConnection, memories: Collection[MemoryKey]) -> None:
    """Derive from ``memories`` what the items of these memories copy.

    Whether recall has them, where they lie, which version is current, and its kind, category,
    importance and interval. Store the item of a new version first.
    """
    if memories:
        await connection.execute(_REFRESH, _columns(memories))


async def reshare(connection: AsyncConnection, owner_id: UUID, ids: Collection[str]) -> None:
    """Set for which space the postings of an owner's memories are visible, after a refresh."""
    await connection.execute(_RESHARE, {"owner_id": owner_id, "ids": list(ids)})


async def return_items(
    connection: AsyncConnection, versions: Collection[tuple[UUID, str, int]]
) -> None:
    """Give items of versions that will be deleted to the versions before with the same words."""
    await connection.execute(_RETURN_ITEMS, _version_columns(versions))


async def erase_memories(connection: AsyncConnection, memories: Collection[MemoryKey]) -> Counts:
    """Delete the items of memories."""
    return await _erase(connection, _ERASE_MEMORIES, _columns(memories))


async def erase_versions(
    connection: AsyncConnection, versions: Collection[tuple[UUID, str, int]]
) -> Counts:
    """Delete the items of versions, given by owner, memory and number."""
    return await _erase(connection, _ERASE_VERSIONS, _version_columns(versions))


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counts:
    """Delete all items of an owner."""
    counts: Counts = Counter()
    for table in (postings, reembeddings, recall_items):
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
    numbers = (await connection.execute(_NUMBER_MEMORIES, binds)).all()
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
    of_memories = and_(
        item.owner_id == giver, item.memory_id == any_(cast(list(memory_ids), ARRAY(Text)))
    )
    of_sources = and_(
        item.owner_id == giver, item.source_id == any_(cast(list(source_ids), ARRAY(Uuid)))
    )
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
        and_(table.c.owner_id == giver, column == any_(cast(ids, ARRAY(BigInteger))))
        for table, column, _ in tables
    ]
    for (table, _, changes), condition in zip(tables, conditions, strict=True):
        await copy_rows(connection, table, condition, {"owner_id": literal(taker, Uuid), **changes})
    for (table, _, _), condition in reversed(list(zip(tables, conditions, strict=True))):
        await connection.execute(delete(table).where(condition))
    await refresh(connection, [(taker, renamed.get(i, i)) for i in memory_ids])


async def _erase(
    connection: AsyncConnection, deletions: Mapping[str, TextClause], binds: dict[str, list[Any]]
) -> Counts:
    counts: Counts = Counter()
    for table, deletion in deletions.items():
        counts[table] = (await connection.execute(deletion, binds)).rowcount
    return counts


def _columns(keys: Collection[tuple[UUID, Any]]) -> dict[str, list[Any]]:
    return {"owners": [owner for owner, _ in keys], "ids": [key for _, key in keys]}


def _version_columns(versions: Collection[tuple[UUID, str, int]]) -> dict[str, list[Any]]:
    return {
        **_columns([(owner_id, memory_id) for owner_id, memory_id, _ in versions]),
        "versions": [version for _, _, version in versions],
    }
