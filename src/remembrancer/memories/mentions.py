"""Mentions in the database: each time a memory came up."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows
from remembrancer.db.sql import json_rows, statement
from remembrancer.db.tables import mentions
from remembrancer.db.trips import Trip
from remembrancer.memories.rows import MentionRow

LATEST: Final = 100
"""Mentions in the history of a memory."""

_sql = partial(statement, "remembrancer.memories", "mentions")


def add(
    trip: Trip,
    owner_id: UUID,
    rows: Sequence[dict[str, Any]],
    repeated: Sequence[str],
    expiries: Sequence[datetime | None] = (),
) -> None:
    """Insert mentions, and count those of ``repeated``: memories that were there before.

    ``expiries`` are times from which they are forgotten, if those are later than their own.

    The wording is dropped where it equals the memory's content.
    """
    trip.add(_sql("add"), {"mentions": json_rows(rows)})
    if repeated:
        trip.add(
            _sql("count"),
            {"owner_id": owner_id, "repeated": list(repeated), "expiries": list(expiries)},
        )
    if ids := [row["id"] for row in rows if row["wording"] is not None]:
        trip.add(_sql("drop_same_wording"), {"owner_id": owner_id, "ids": ids})


async def latest(
    connection: AsyncConnection, owner_id: UUID, memory_id: str
) -> Sequence[MentionRow]:
    """Return the latest 100 mentions of a memory, the newest first."""
    query = select(mentions).filter_by(owner_id=owner_id, memory_id=memory_id)
    return await all_rows(
        connection, MentionRow, query.order_by(mentions.c.id.desc()).limit(LATEST)
    )


async def repeat(
    connection: AsyncConnection, owner_id: UUID, pairs: Mapping[str, str]
) -> list[UUID]:
    """Add the mentions of each memory to the one it repeats; return the ids of those added."""
    binds = {"owner_id": owner_id, "repeats": list(pairs), "originals": list(pairs.values())}
    return list((await connection.execute(_sql("repeat"), binds)).scalars())


async def take_back(connection: AsyncConnection, owner_id: UUID, ids: Sequence[UUID]) -> None:
    """Remove mentions that :func:`repeat` added."""
    await connection.execute(_sql("take_back"), {"owner_id": owner_id, "ids": list(ids)})
