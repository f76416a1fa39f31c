"""Copy memories with their versions and mentions, give them to another owner, delete them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Text, Uuid, and_, case, delete, func, literal
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.copies import copy_rows, values_table
from remembrancer.db.sql import among, statement
from remembrancer.db.tables import memories, memory_versions, mentions
from remembrancer.ids import MemoryKey
from remembrancer.memories.schemas import Status
from remembrancer.search import repository as search
from remembrancer.search.repository import Counts

_sql = partial(statement, "remembrancer.memories", "transfers")
_PARTS = (mentions, memory_versions)
"""Tables whose rows belong to a memory."""


async def copy(
    connection: AsyncConnection, owner_id: UUID, new_ids: Mapping[str, str], agent_id: UUID | None
) -> None:
    """Copy an owner's memories into a namespace. ``pairs`` are old and new ids."""
    if not new_ids:
        return
    ids = values_table({"old": (list(new_ids), Text()), "new": (list(new_ids.values()), Text())})
    same = and_(memories.c.owner_id == owner_id, memories.c.id == ids.c.old)
    changes: dict[str, Any] = {"id": ids.c.new, "agent_id": literal(agent_id, Uuid)}
    await copy_rows(connection, memories, same, changes, joined=ids)
    for table in _PARTS:
        same = and_(table.c.owner_id == owner_id, table.c.memory_id == ids.c.old)
        changes = {"memory_id": ids.c.new}
        if table is mentions:
            changes["id"] = func.gen_random_uuid()
        await copy_rows(connection, table, same, changes, joined=ids)
    await search.copy_memories(connection, owner_id, new_ids)
    await search.refresh(connection, [(owner_id, new_id) for new_id in new_ids.values()])


async def copy_to_owner(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    ids: Sequence[str],
    *,
    renamed: Mapping[str, str],
    statuses: Mapping[str, Status],
) -> None:
    """Copy memories of the giver to the taker; items are moved by ``search.transfer``.

    ``renamed`` has the new ids and ``statuses`` the new statuses of some, both by old id. When
    all that refers to the memories has followed, :func:`erase` the giver's.
    """
    owner_id = literal(taker, Uuid)
    column = memories.c
    changes: dict[str, Any] = {"owner_id": owner_id, "id": _renamed(column.id, renamed)}
    if statuses:
        values = {memory_id: status.value for memory_id, status in statuses.items()}
        changes["status"] = case(values, value=column.id, else_=column.status)
    same = and_(column.owner_id == giver, among(column.id, ids))
    await copy_rows(connection, memories, same, changes)
    for table in _PARTS:
        memory_id = table.c.memory_id
        same = and_(table.c.owner_id == giver, among(memory_id, ids))
        changes = {"owner_id": owner_id, "memory_id": _renamed(memory_id, renamed)}
        await copy_rows(connection, table, same, changes)


async def erase(connection: AsyncConnection, keys: Collection[MemoryKey]) -> Counts:
    """Delete memories with their versions, mentions and items. Delete associations first."""
    counts = await search.erase_memories(connection, keys)
    rows = await connection.execute(_sql("erase"), search.key_columns(keys))
    return counts + Counter(dict(rows.mappings().one()))


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counts:
    """Delete all memories of an owner with their versions and mentions; items stay."""
    counts: Counts = Counter()
    for table in (*_PARTS, memories):
        deletion = delete(table).where(table.c.owner_id == owner_id)
        counts[table.name] = (await connection.execute(deletion)).rowcount
    return counts


def _renamed(column: Any, renamed: Mapping[str, str]) -> Any:
    return case(dict(renamed), value=column, else_=column) if renamed else column
