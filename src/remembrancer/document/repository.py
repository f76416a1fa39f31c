"""Memories of a document, and those that a user has before an import."""

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Select, TextClause, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, viewer_binds
from remembrancer.db.rows import TextRow, all_rows, one_row
from remembrancer.db.sql import statement
from remembrancer.db.tables import memories, memory_versions
from remembrancer.document.rows import NumbersRow
from remembrancer.memories.repository import visible_to
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Status

_COLUMN: Final = memories.c
_OF_OTHERS: Final = statement("remembrancer.document", "sources", "of_others")
_MARKS: Final = statement("remembrancer.document", "marks", "marks")
_SHOWN: Final = (Status.ACTIVE.value, Status.INACTIVE.value)
"""Statuses of memories in the document."""


async def rows(connection: AsyncConnection, actor: Actor) -> Sequence[MemoryRow]:
    """Return the memories of the document in the order of their creation."""
    return await all_rows(connection, MemoryRow, _shown(actor))


async def page(
    connection: AsyncConnection, actor: Actor, *, start: int, limit: int
) -> Sequence[MemoryRow]:
    """Return some facts of the document, and all its places."""
    facts = _shown(actor).where(_COLUMN.place_id.is_(None)).offset(start).limit(limit)
    places = _shown(actor).where(_COLUMN.place_id.is_not(None))
    return [
        *await all_rows(connection, MemoryRow, facts),
        *await all_rows(connection, MemoryRow, places),
    ]


async def numbers(connection: AsyncConnection, actor: Actor) -> NumbersRow:
    fact = _COLUMN.place_id.is_(None)
    query = (
        _shown(actor)
        .order_by(None)
        .with_only_columns(
            func.count().filter(fact).label("facts"),
            func.count().filter(fact, _COLUMN.status == Status.ACTIVE).label("active_facts"),
            func.coalesce(func.sum(_COLUMN.tokens), 0).label("tokens"),
            func.max(_COLUMN.updated_at).label("updated_at"),
        )
    )
    return await one_row(connection, NumbersRow, query)


def _shown(actor: Actor) -> Select[Any]:
    return (
        select(memories)
        .where(*_own(actor), _COLUMN.status.in_(_SHOWN))
        .order_by(_COLUMN.created_at, _COLUMN.id)
    )


async def marks(
    connection: AsyncConnection, actor: Actor, parts: Sequence[tuple[str, str]]
) -> Sequence[str]:
    """Return a mark of each part, a kind and a name of ``sql/marks.sql``."""
    binds = {
        "kinds": [kind for kind, _ in parts],
        "names": [name for _, name in parts],
        **viewer_binds(actor),
    }
    return [row.value for row in await all_rows(connection, TextRow, _MARKS, binds)]


async def used_ids(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> set[str]:
    query = select(_COLUMN.id).where(_COLUMN.owner_id == owner_id, _COLUMN.id.in_(ids))
    return set((await connection.execute(query)).scalars())


async def sources_of_others(
    connection: AsyncConnection, user_id: UUID, ids: Collection[UUID]
) -> set[UUID]:
    """Return which of these conversations and messages exist and are without the user.

    Row-level security hides them: call it in a transaction across all owners.
    """
    if not ids:
        return set()
    binds = {"user_id": user_id, "ids": list(ids)}
    return set((await connection.execute(_OF_OTHERS, binds)).scalars())


async def contents(
    connection: AsyncConnection, actor: Actor, ids: Sequence[str]
) -> dict[str, set[str]]:
    """Return the contents of all versions of visible memories in any status, by memory id."""
    version = memory_versions.c
    query = (
        select(version.memory_id, version.content)
        .join(
            memories,
            (_COLUMN.owner_id == version.owner_id) & (_COLUMN.id == version.memory_id),
        )
        .where(*_own(actor), _COLUMN.id.in_(ids))
    )
    by_id: dict[str, set[str]] = {}
    for row in await connection.execute(query):
        by_id.setdefault(row.memory_id, set()).add(row.content)
    return by_id


async def known_hashes(
    connection: AsyncConnection, actor: Actor, hashes: Sequence[bytes]
) -> set[bytes]:
    query = select(_COLUMN.content_hash).where(
        *_own(actor), _COLUMN.status.in_(_SHOWN), _COLUMN.content_hash.in_(hashes)
    )
    return {bytes(value) for value in (await connection.execute(query)).scalars()}


async def places(
    connection: AsyncConnection, actor: Actor, place_ids: Sequence[str]
) -> Sequence[MemoryRow]:
    """Return the user's active places, the oldest first."""
    query = (
        select(memories)
        .where(*_own(actor), _COLUMN.status == Status.ACTIVE, _COLUMN.place_id.in_(place_ids))
        .order_by(_COLUMN.created_at, _COLUMN.id)
    )
    return await all_rows(connection, MemoryRow, query)


def _own(actor: Actor) -> Sequence[ColumnElement[Any] | TextClause]:
    """Return the conditions of the user's visible memories outside spaces."""
    return (visible_to(actor), _COLUMN.owner_id == actor.user_id, _COLUMN.space_id.is_(None))
