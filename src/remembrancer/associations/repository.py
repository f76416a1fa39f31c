"""The only writer of associations."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Visibility, viewer_binds
from remembrancer.associations.rows import AssociationRow, NeighbourRow, SimilarRow
from remembrancer.db import sql
from remembrancer.db.copies import copy_rows
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import associations, memories
from remembrancer.db.trips import Trip
from remembrancer.ids import MemoryKey
from remembrancer.paging import Page
from remembrancer.search.repository import key_columns

Row = dict[str, Any]

_COLUMN: Final = associations.c
_KEY: Final = ("owner_id", "memory_id", "target_owner_id", "target_id", "relation")
_ORDER: Final = Keyset(
    "associations",
    _COLUMN.weight,
    *(_COLUMN[name] for name in _KEY),
    descending=True,
)


@cache
def _statement(name: str) -> sa.TextClause:
    return sql.statement("remembrancer.associations", "associations", name)


async def owners(
    connection: AsyncConnection, actor: Actor, ids: Collection[str]
) -> dict[str, UUID]:
    """Return the owners of visible memories by id; if two have the same id, the actor first."""
    binds = {"ids": sorted(ids), **viewer_binds(actor)}
    return {row.id: row.owner_id for row in await connection.execute(_statement("owners"), binds)}


async def put(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> list[AssociationRow]:
    """Add associations, each once, or set the weights of existing ones."""
    names = (*_KEY, "weight")
    binds = {f"{name}s": [row[name] for row in rows] for name in names}
    return await all_rows(connection, AssociationRow, _statement("set"), binds)


async def restore(connection: AsyncConnection, owner_id: UUID, rows: Sequence[Row]) -> None:
    """Add associations of an export; those that exist stay as they are."""
    if rows:
        await connection.execute(upsert(associations).values(list(rows)).on_conflict_do_nothing())
        await reshare(connection, owner_id, [row["memory_id"] for row in rows])


async def remove(
    connection: AsyncConnection,
    owner_id: UUID,
    memory_id: str,
    target: tuple[UUID | None, str],
    relation: str | None,
) -> int:
    """Remove one relation or all. Without an owner, the target is any memory with the id."""
    target_owner_id, target_id = target
    statement = sa.delete(associations).filter_by(
        owner_id=owner_id, memory_id=memory_id, target_id=target_id
    )
    if target_owner_id is not None:
        statement = statement.where(_COLUMN.target_owner_id == target_owner_id)
    if relation is not None:
        statement = statement.where(_COLUMN.relation == relation)
    return (await connection.execute(statement)).rowcount


async def erase(connection: AsyncConnection, keys: Collection[MemoryKey]) -> int:
    """Remove the associations from and to memories; return their number."""
    return (await connection.execute(_statement("erase"), key_columns(keys))).rowcount


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> int:
    """Remove the associations from and to all memories of an owner; return the number."""
    condition = sa.or_(_COLUMN.owner_id == owner_id, _COLUMN.target_owner_id == owner_id)
    return (await connection.execute(sa.delete(associations).where(condition))).rowcount


async def transfer(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    ids: Sequence[str],
    *,
    renamed: Mapping[str, str],
) -> None:
    """Move the associations from and to memories that the taker has now, of all owners.

    ``renamed`` has the new ids of some memories, by old id.
    """

    def new_id(column: Any) -> Any:
        return sa.case(dict(renamed), value=column, else_=column) if renamed else column

    moved = sa.cast(list(ids), sa.ARRAY(sa.Text))
    given = sa.and_(_COLUMN.owner_id == giver, _COLUMN.memory_id == sa.any_(moved))
    changes = {"owner_id": sa.literal(taker, sa.Uuid), "memory_id": new_id(_COLUMN.memory_id)}
    await copy_rows(connection, associations, given, changes)
    await connection.execute(sa.delete(associations).where(given))
    await connection.execute(
        sa.update(associations)
        .where(_COLUMN.target_owner_id == giver, _COLUMN.target_id == sa.any_(moved))
        .values(target_owner_id=taker, target_id=new_id(_COLUMN.target_id))
    )


async def reshare(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Update the space of shared associations, after memories changed their visibility."""
    same = (memories.c.owner_id == _COLUMN.owner_id) & (memories.c.id == _COLUMN.memory_id)
    space_id = sa.select(memories.c.space_id).where(
        same, memories.c.visibility == Visibility.SHARED
    )
    await connection.execute(
        sa.update(associations)
        .where(_COLUMN.owner_id == owner_id, _COLUMN.memory_id.in_(ids))
        .values(shared_space_id=space_id.scalar_subquery())
    )


def similar(
    trip: Trip,
    actor: Actor,
    owner_id: UUID,
    ids: Sequence[str],
    *,
    least: float,
    count: int,
) -> Sequence[SimilarRow]:
    """Let a trip read memories to associate each memory with, the most similar first.

    Up to ``count`` with at least the similarity ``least``, and as many on the same subject.
    """
    binds = {"owner_id": owner_id, "ids": list(ids), "least": least, "count": count}
    binds |= viewer_binds(actor)
    return trip.add(_statement("similar"), binds, SimilarRow)


async def page(
    connection: AsyncConnection, actor: Actor, memory: MemoryKey, limit: int, cursor: str | None
) -> Page[AssociationRow]:
    """Return the associations of a visible memory in both directions, the strongest first.

    Only those whose other end the actor sees.
    """
    owner_id, memory_id = memory
    names = ("weight", *(f"after_{name}" for name in _KEY))
    after = _ORDER.position(cursor) or [None] * len(names)
    binds = {
        "owner_id": owner_id,
        "memory_id": memory_id,
        "count": limit + 1,
        **dict(zip(names, after, strict=True)),
        **viewer_binds(actor),
    }
    return _ORDER.cut(await all_rows(connection, AssociationRow, _statement("page"), binds), limit)


async def neighbours(
    connection: AsyncConnection, actor: Actor, nodes: Collection[MemoryKey], most: int
) -> list[NeighbourRow]:
    """Return visible memories one step away, by the ``most`` strongest associations each way."""
    binds = {**key_columns(nodes), "most": most, **viewer_binds(actor)}
    return await all_rows(connection, NeighbourRow, _statement("neighbours"), binds)


async def between(
    connection: AsyncConnection, nodes: Collection[MemoryKey]
) -> list[AssociationRow]:
    return await all_rows(connection, AssociationRow, _statement("between"), key_columns(nodes))
