"""What moves between the two namespaces of one owner, in the database.

The owner stays, so rows are changed in place; a copy is a memory of its own, with everything
that hangs on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Row,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger

from remembrancer.db.tables import (
    associations,
    memories,
    memory_versions,
    mentions,
    postings,
    recall_items,
)
from remembrancer.db.tables.base import written_columns
from remembrancer.memories.schemas import Status

Rows = Sequence[Row[*tuple[Any, ...]]]

_COLUMNS = memories.c[
    "id", "content", "content_hash", "kind", "place_id", "address", "valid_from", "valid_to",
    "agent_id", "status", "version", "mention_count",
]  # fmt: skip

# Which agent a memory was first told to.
_FIRST_TOLD = (
    select(mentions.c.agent_id)
    .where(mentions.c.owner_id == memories.c.owner_id, mentions.c.memory_id == memories.c.id)
    .order_by(mentions.c.mentioned_at, mentions.c.id)
    .limit(1)
    .scalar_subquery()
)

# The share lock holds off a change of the embedding model, whose vectors would be copied.
_HOLD_MODEL = text("SELECT name FROM embedding_model FOR SHARE")
_NUMBER_ITEMS = text("""
    SELECT i.id AS old, p.new AS memory_id,
           nextval(pg_get_serial_sequence('recall_items', 'id')) AS new
      FROM unnest(CAST(:olds AS text[]), CAST(:news AS text[])) AS p (old, new)
      JOIN recall_items AS i ON i.owner_id = :owner_id AND i.memory_id = p.old
""")


async def in_namespace(connection: AsyncConnection, owner_id: UUID, agent_id: UUID | None) -> Rows:
    """Return an owner's active memories in the namespace of an agent, or the global one."""
    return (await connection.execute(_namespace(owner_id, agent_id))).all()


async def told_first(connection: AsyncConnection, owner_id: UUID, agent_id: UUID) -> Rows:
    """Return an owner's active global memories that an agent was the first to be told."""
    statement = _namespace(owner_id, None).where(agent_id == _FIRST_TOLD)
    return (await connection.execute(statement)).all()


async def by_ids(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> Rows:
    """Return what is compared of an owner's memories, in any status."""
    statement = select(*_COLUMNS).where(memories.c.owner_id == owner_id, memories.c.id.in_(ids))
    return (await connection.execute(statement)).all()


async def move(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], agent_id: UUID | None
) -> None:
    """Put memories into the namespace of an agent, or the global one."""
    for table, column in ((memories, memories.c.id), (recall_items, recall_items.c.memory_id)):
        await connection.execute(
            update(table)
            .where(table.c.owner_id == owner_id, column.in_(ids))
            .values(agent_id=agent_id)
        )


async def set_status(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], status: Status
) -> None:
    """Set the status of memories; recall finds those that are active."""
    column, item = memories.c, recall_items.c
    await connection.execute(
        update(memories)
        .where(column.owner_id == owner_id, column.id.in_(ids))
        .values(status=status.value)
    )
    await connection.execute(
        update(recall_items)
        .where(item.owner_id == owner_id, item.memory_id.in_(ids))
        .values(active=status is Status.ACTIVE)
    )


async def copy(
    connection: AsyncConnection, owner_id: UUID, new_ids: Mapping[str, str], agent_id: UUID | None
) -> None:
    """Copy memories to new ids and another namespace, with versions, mentions and items."""
    if not new_ids:
        return
    await connection.execute(_HOLD_MODEL)
    names = {"old": (list(new_ids), Text), "new": (list(new_ids.values()), Text)}
    renamed = _listed(names)
    await _copy(
        connection,
        owner_id,
        memories.c.id == renamed.c.old,
        renamed,
        {"id": renamed.c.new, "agent_id": agent_id},
    )
    hanging: list[tuple[Any, dict[str, Any]]] = [
        (memory_versions.c.memory_id, {}),
        (mentions.c.memory_id, {"id": func.gen_random_uuid()}),
    ]
    for column, also in hanging:
        changes = {"memory_id": renamed.c.new, **also}
        await _copy(connection, owner_id, column == renamed.c.old, renamed, changes)
    await _copy_items(connection, owner_id, new_ids, agent_id)


async def _copy_items(
    connection: AsyncConnection, owner_id: UUID, new_ids: Mapping[str, str], agent_id: UUID | None
) -> None:
    binds = {"owner_id": owner_id, "olds": list(new_ids), "news": list(new_ids.values())}
    items = (await connection.execute(_NUMBER_ITEMS, binds)).all()
    numbered = _listed(
        {
            "old": ([item.old for item in items], BigInteger),
            "new": ([item.new for item in items], BigInteger),
            "memory_id": ([item.memory_id for item in items], Text),
        }
    )
    column = numbered.c
    changes = {"id": column.new, "memory_id": column.memory_id, "agent_id": agent_id}
    await _copy(connection, owner_id, recall_items.c.id == column.old, numbered, changes)
    changes = {"item_id": column.new}
    await _copy(connection, owner_id, postings.c.item_id == column.old, numbered, changes)


async def remove(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Delete memories with everything that hangs on them, and what points at them."""
    item, edge = recall_items.c, associations.c
    items = select(item.id).where(item.owner_id == owner_id, item.memory_id.in_(ids))
    for table, which in (
        (postings, postings.c.item_id.in_(items)),
        (recall_items, item.memory_id.in_(ids)),
        (associations, (edge.target_owner_id == owner_id) & edge.target_id.in_(ids)),
        (memories, memories.c.id.in_(ids)),
    ):
        await connection.execute(delete(table).where(table.c.owner_id == owner_id, which))


def _namespace(owner_id: UUID, agent_id: UUID | None) -> Any:
    column = memories.c
    return (
        select(*_COLUMNS)
        .where(
            column.owner_id == owner_id,
            column.status == Status.ACTIVE,
            column.space_id.is_(None),
            column.agent_id.is_not_distinct_from(agent_id),
        )
        .order_by(column.created_at, column.id)
    )


def _listed(columns: Mapping[str, tuple[Sequence[Any], Any]]) -> Any:
    """Return rows, given as values and type of each column, as a table to join."""
    binds = [
        bindparam(None, list(values), type_=ARRAY(type_), unique=True)
        for values, type_ in columns.values()
    ]
    return func.unnest(*binds).table_valued(*columns).render_derived()


async def _copy(
    connection: AsyncConnection,
    owner_id: UUID,
    matches: Any,
    listed: Any,
    changes: Mapping[str, Any],
) -> None:
    """Insert the rows of a table again that match those listed, with some columns changed."""
    table: Table = matches.left.table
    columns = written_columns(table)
    values = [changes.get(name, table.c[name]) for name in columns]
    rows = (
        select(*values).select_from(table.join(listed, matches)).where(table.c.owner_id == owner_id)
    )
    await connection.execute(insert(table).from_select(columns, rows))
