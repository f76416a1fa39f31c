"""Pages of memories."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.errors import InvalidInput
from remembrancer.memories import repository, told
from remembrancer.memories.schemas import MemoryFilter, MemoryPage, SortBy
from remembrancer.text import from_cursor, to_cursor


async def page(
    connection: AsyncConnection,
    actor: Actor,
    wanted: MemoryFilter,
    *,
    limit: int,
    cursor: str | None,
) -> MemoryPage:
    """Return one page, how many match in all, and where the next page starts."""
    after = _position(wanted.sort, cursor) if cursor is not None else None
    rows = await repository.page(connection, actor, wanted, limit, after)
    shown = rows[:limit]
    return MemoryPage(
        memories=[told.memory(row) for row in shown],
        total=await repository.count(connection, actor, wanted),
        next_cursor=_cursor(wanted.sort, shown[-1]) if len(rows) > limit else None,
    )


def _cursor(sort: SortBy, row: Row[Any]) -> str:
    key = {
        SortBy.RECENT: row.created_at.isoformat(),
        SortBy.IMPORTANCE: repr(row.importance),
        SortBy.MOST_ACCESSED: str(row.access_count),
    }[sort]
    return to_cursor(sort, key, str(row.owner_id), row.id)


def _position(sort: SortBy, cursor: str) -> Sequence[Any]:
    named, key, owner_id, memory_id = from_cursor(cursor, 4)
    parse: Callable[[str], Any] = {
        SortBy.RECENT: datetime.fromisoformat,
        SortBy.IMPORTANCE: float,
        SortBy.MOST_ACCESSED: int,
    }[sort]  # type: ignore[assignment]
    try:
        if named != sort:
            raise ValueError(named)
        return [parse(key), UUID(owner_id), memory_id]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
