"""The rows of a memory document."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, viewer_binds
from remembrancer.db.tables import memories, memory_versions
from remembrancer.memories.repository import VISIBLE, Rows
from remembrancer.memories.schemas import Status

_COLUMN = memories.c
_IN_USE = (Status.ACTIVE.value, Status.INACTIVE.value)


async def rows(connection: AsyncConnection, actor: Actor) -> Rows:
    """Return what is in the document of the actor's user, in the order it was added."""
    statement = (
        select(memories)
        .where(*_own(actor), _COLUMN.status.in_(_IN_USE))
        .order_by(_COLUMN.created_at, _COLUMN.id)
    )
    found: Rows = (await connection.execute(statement)).all()
    return found


async def taken(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> set[str]:
    """Return which of these ids an owner uses, for whatever."""
    statement = select(_COLUMN.id).where(_COLUMN.owner_id == owner_id, _COLUMN.id.in_(ids))
    return set((await connection.execute(statement)).scalars())


async def words(
    connection: AsyncConnection, actor: Actor, ids: Sequence[str]
) -> dict[str, set[str]]:
    """Return all that memories by these ids say or said, in any status, if the actor sees them."""
    version = memory_versions.c
    statement = (
        select(version.memory_id, version.content)
        .join(
            memories,
            (_COLUMN.owner_id == version.owner_id) & (_COLUMN.id == version.memory_id),
        )
        .where(*_own(actor), _COLUMN.id.in_(ids))
    )
    found: dict[str, set[str]] = {}
    for row in await connection.execute(statement):
        found.setdefault(row.memory_id, set()).add(row.content)
    return found


async def hashes(connection: AsyncConnection, actor: Actor, wanted: Sequence[bytes]) -> set[bytes]:
    """Return which of these statements the actor's user has, in use or set aside."""
    statement = select(_COLUMN.content_hash).where(
        *_own(actor), _COLUMN.status.in_(_IN_USE), _COLUMN.content_hash.in_(wanted)
    )
    return {bytes(one) for one in (await connection.execute(statement)).scalars()}


async def spots(connection: AsyncConnection, actor: Actor, place_ids: Sequence[str]) -> Rows:
    """Return the user's active places by these ids, the first of several scopes first."""
    statement = (
        select(_COLUMN.id, _COLUMN.place_id)
        .where(*_own(actor), _COLUMN.status == Status.ACTIVE, _COLUMN.place_id.in_(place_ids))
        .order_by(_COLUMN.created_at, _COLUMN.id)
    )
    found: Rows = (await connection.execute(statement)).all()
    return found


def _own(actor: Actor) -> Sequence[Any]:
    """Return the conditions for what is the user's own, outside spaces, in scopes they read."""
    return (
        text(VISIBLE).bindparams(**viewer_binds(actor)),
        _COLUMN.owner_id == actor.user_id,
        _COLUMN.space_id.is_(None),
    )
