"""Pages of the memories that match filters."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Scope, may_change
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import among
from remembrancer.db.tables import memories
from remembrancer.ids import SHARED_OWNER, MemoryKey
from remembrancer.memories import metadata, repository, views
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import subject_key
from remembrancer.memories.schemas import MemoryFilter, MemoryPage, SortBy, Status

_COLUMN: Final = memories.c
_ORDERS: Final = {
    sort: Keyset(f"memories {sort}", key, _COLUMN.owner_id, _COLUMN.id, descending=True)
    for sort, key in (
        (SortBy.RECENT, _COLUMN.created_at),
        (SortBy.IMPORTANCE, _COLUMN.importance),
        (SortBy.MOST_ACCESSED, _COLUMN.access_count),
    )
}


async def page(
    connection: AsyncConnection, actor: Actor, query: MemoryFilter, limit: int, cursor: str | None
) -> MemoryPage:
    statement = matching(actor, query, select(memories))
    page = await _ORDERS[query.sort].page(connection, MemoryRow, statement, limit, cursor)
    total = len(page.items)
    if cursor is not None or page.next_cursor is not None:
        counted = matching(actor, query, select(func.count()).select_from(memories))
        total = (await connection.execute(counted)).scalar_one()
    return MemoryPage(
        items=await views.named(connection, actor, [views.memory(row) for row in page.items]),
        total=total,
        next_cursor=page.next_cursor,
    )


async def search(
    connection: AsyncConnection,
    actor: Actor,
    query: MemoryFilter,
    found: Collection[MemoryKey],
    most: int,
) -> Sequence[MemoryKey]:
    """Return the memories that match ``query`` and have its text, or are among ``found``."""
    # By the id first: of pairs, every row would be compared with every one.
    ids = and_(among(_COLUMN.id, [memory_id for _, memory_id in found]), _is_among(found))
    text_in = _COLUMN.content.icontains(query.text or "", autoescape=True)
    statement = matching(
        actor, query.model_copy(update={"text": None}), select(_COLUMN.owner_id, _COLUMN.id)
    )
    statement = statement.where(or_(text_in, ids)).order_by(
        ids.desc(), _COLUMN.created_at.desc(), _COLUMN.id
    )
    return [(row.owner_id, row.id) for row in await connection.execute(statement.limit(most))]


async def in_order(connection: AsyncConnection, keys: Sequence[MemoryKey]) -> list[MemoryRow]:
    """Return memories in the order of their keys. The caller checks the access rule."""
    rows = await all_rows(connection, MemoryRow, select(memories).where(_is_among(keys)))
    by_key = {(row.owner_id, row.id): row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


def _is_among(keys: Collection[MemoryKey]) -> ColumnElement[bool]:
    return tuple_(_COLUMN.owner_id, _COLUMN.id).in_(list(keys))


def matching(actor: Actor, query: MemoryFilter, statement: Select[Any]) -> Select[Any]:
    """Return a statement on memories for those that the actor sees and that match filters."""
    choices: list[tuple[Any, Sequence[str]]] = [
        (_COLUMN.status, query.statuses),
        (_COLUMN.kind, query.kinds),
        (_COLUMN.category, query.categories),
        (_COLUMN.review, query.reviews),
        (_COLUMN.external_id, query.external_ids),
    ]
    equal: list[tuple[Any, Any]] = [
        (_COLUMN.space_id, query.space_id),
        (_COLUMN.pinned, query.pinned),
        (_COLUMN.agent_id, query.kept_for),
        (_COLUMN.source, query.source),
    ]
    conditions: list[ColumnElement[bool]] = [
        *(column.in_(values) for column, values in choices if values),
        *(column == value for column, value in equal if value is not None),
        *([] if query.since is None else [_COLUMN.created_at >= query.since]),
        *([] if query.until is None else [_COLUMN.created_at < query.until]),
    ]
    if Status.FORGOTTEN not in query.statuses:
        conditions.append(repository.UNEXPIRED)
    is_shared = _COLUMN.owner_id == SHARED_OWNER
    if query.shared is not None:
        conditions.append(is_shared if query.shared else ~is_shared)
    if set(query.statuses) != {Status.ACTIVE}:
        # Only those who may change memories see the ones that are not active.
        own = is_shared if may_change(actor, SHARED_OWNER) else _COLUMN.owner_id == actor.user_id
        conditions.append(or_(own, _COLUMN.status == Status.ACTIVE))
    if query.scope is not None:
        of_agent = _COLUMN.agent_id.is_not(None)
        conditions.append(of_agent if query.scope is Scope.AGENT else ~of_agent)
    if query.subject is not None:
        conditions.append(_COLUMN.subject_key == subject_key(query.subject))
    if query.text is not None:
        conditions.append(_COLUMN.content.icontains(query.text, autoescape=True))
    binds = metadata.binds_of(metadata.conditions_of(query.metadata))
    of_metadata = text(metadata.matching(binds)).bindparams(**binds)
    return statement.where(repository.visible_to(actor), of_metadata, *conditions)
