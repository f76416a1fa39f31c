"""Places and their mentions in the database: memories with a place id."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows, first_row
from remembrancer.db.sql import statement
from remembrancer.db.tables import memories
from remembrancer.ids import MemoryKey
from remembrancer.memories.repository import visible_to
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Status
from remembrancer.paging import Page
from remembrancer.places.rows import PlaceMentionRow

_COLUMN: Final = memories.c
_ORDER: Final = Keyset("places", _COLUMN.created_at, _COLUMN.owner_id, _COLUMN.id)
_MENTIONS: Final = statement("remembrancer.places", "places", "mentions")


async def find(
    connection: AsyncConnection, actor: Actor, place_id: str, *, lock: bool = False
) -> MemoryRow | None:
    """Return a visible active place: the actor's own first, then those outside spaces."""
    query = (
        _visible(actor)
        .where(_COLUMN.place_id == place_id)
        .order_by(
            (_COLUMN.owner_id == actor.user_id).desc(),
            _COLUMN.space_id.is_not(None),
            _COLUMN.created_at,
            _COLUMN.id,
        )
        .limit(1)
    )
    return await first_row(connection, MemoryRow, query.with_for_update() if lock else query)


async def page(
    connection: AsyncConnection, actor: Actor, limit: int, cursor: str | None
) -> Page[MemoryRow]:
    """Return the visible active places, the oldest first."""
    return await _ORDER.page(connection, MemoryRow, _visible(actor), limit, cursor)


async def mentions(
    connection: AsyncConnection, places: Sequence[MemoryKey], most: int | None
) -> Sequence[PlaceMentionRow]:
    """Return the latest ``most`` mentions of each place, the oldest first."""
    owners, ids = [owner for owner, _ in places], [memory_id for _, memory_id in places]
    binds = {"owners": owners, "ids": ids, "most": most}
    return await all_rows(connection, PlaceMentionRow, _MENTIONS, binds)


def _visible(actor: Actor) -> Select[tuple[object, ...]]:
    return select(memories).where(
        _COLUMN.status == Status.ACTIVE, _COLUMN.place_id.is_not(None), visible_to(actor)
    )
