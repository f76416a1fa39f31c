"""Pages of memories."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, TypeAdapter
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories import repository, views
from remembrancer.memories.schemas import Importance, MemoryFilter, MemoryPage, SortBy
from remembrancer.text import Instant, from_cursor, to_cursor
from remembrancer.users import repository as users

_SORT_VALUE: dict[SortBy, TypeAdapter[Any]] = {
    SortBy.RECENT: TypeAdapter(Instant),
    SortBy.IMPORTANCE: TypeAdapter(Importance),
    SortBy.MOST_ACCESSED: TypeAdapter(Annotated[int, Field(ge=0, le=2_147_483_647)]),
}
"""What the sorted column may hold."""


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
    await _check_known(connection, actor)
    rows = await repository.page(connection, actor, wanted, limit, after)
    shown = rows[:limit]
    return MemoryPage(
        memories=[views.memory(row) for row in shown],
        total=await repository.count(connection, actor, wanted),
        next_cursor=_cursor(wanted.sort, shown[-1]) if len(rows) > limit else None,
    )


async def _check_known(connection: AsyncConnection, actor: Actor) -> None:
    """Raise ``NotFound`` for a user or an agent that is none, whose list would look empty."""
    if actor.user_id is not None and await users.find(connection, actor.user_id) is None:
        raise NotFound("no such user", field="user_id")
    if actor.agent_id is not None and await agents.find(connection, actor.agent_id) is None:
        raise NotFound("no such agent", field="agent_id")


def _cursor(sort: SortBy, row: Row[Any]) -> str:
    key = {
        SortBy.RECENT: row.created_at.isoformat(),
        SortBy.IMPORTANCE: repr(row.importance),
        SortBy.MOST_ACCESSED: str(row.access_count),
    }[sort]
    return to_cursor(sort, key, str(row.owner_id), row.id)


def _position(sort: SortBy, cursor: str) -> Sequence[Any]:
    named, key, owner_id, memory_id = from_cursor(cursor, 4)
    try:
        if named != sort:
            raise ValueError(named)
        return [_SORT_VALUE[sort].validate_strings(key), UUID(owner_id), memory_id]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
