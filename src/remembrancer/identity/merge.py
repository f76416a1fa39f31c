"""Merge a user into another, and undo it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import idempotency, undo
from remembrancer.associations import repository as associations
from remembrancer.context import repository as contexts
from remembrancer.conversations import transfers as conversations
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories as memory_table
from remembrancer.db.tables import undo_records
from remembrancer.errors import Conflict
from remembrancer.extraction import transfers as summaries
from remembrancer.identity.rules import ComparedRow, duplicates
from remembrancer.identity.schemas import MergeCounts
from remembrancer.lookup import saved_filters
from remembrancer.memories import mentions, source_messages, transfers
from remembrancer.memories import repository as memories
from remembrancer.memories.schemas import Status
from remembrancer.preferences import repository as preferences
from remembrancer.search import repository as search
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users

ACTION: Final = "user.merge"
_OWNERS: Final = (preferences, saved_filters, spaces, users, undo)
"""Owners of what moves last, each with ``transfer`` and ``transfer_back``."""


async def merge(connection: AsyncConnection, survivor: UUID, merged: UUID) -> UUID:
    """Move everything of ``merged`` to ``survivor``, who are locked and differ; return the undo id.

    A memory of both becomes one with the mentions of both. The copy stays, inactive, for an undo.
    """
    await _lock_belongings(connection, merged, survivor)
    moving = await _compared(connection, merged)
    staying = await _compared(connection, survivor)
    twins = duplicates(
        [row for row in moving if row.status == Status.ACTIVE],
        [row for row in staying if row.status == Status.ACTIVE],
    )
    taken = {row.id for row in staying}
    clashes = [row.id for row in moving if row.id in taken]
    fresh = await memories.new_ids(connection, survivor, len(clashes))
    renamed = dict(zip(clashes, fresh, strict=True))
    parts = await conversations.transfer(connection, merged, survivor)
    parts |= await summaries.transfer(connection, merged, survivor)
    await _transfer(
        connection,
        merged,
        survivor,
        [row.id for row in moving],
        [*parts["messages"], *parts["chunks"]],
        renamed=renamed,
        statuses=dict.fromkeys(twins, Status.INACTIVE),
    )
    await contexts.transfer(connection, merged, survivor)
    await conversations.leave(connection, merged)
    repeated = {renamed.get(twin, twin): original for twin, original in twins.items()}
    record = {
        "merged": str(merged),
        "memories": [renamed.get(row.id, row.id) for row in moving],
        "renamed": {new: old for old, new in renamed.items()},
        "duplicates": list(repeated),
        "mentions": [str(i) for i in await mentions.repeat(connection, survivor, repeated)],
        **parts,
    }
    await idempotency.transfer(connection, merged, survivor)
    for owner in _OWNERS:
        record |= await owner.transfer(connection, merged, survivor)
    return await undo.add(connection, survivor, ACTION, record)


async def undo_merge(connection: AsyncConnection, survivor: UUID, undo_id: UUID) -> dict[str, Any]:
    """Move everything back; later data stays with the survivor.

    The latest merge first: two merges may have moved the same preference or membership.
    """
    record = await undo.take(connection, survivor, undo_id, ACTION)
    if later := await undo.latest(connection, survivor, ACTION, undo_records.c.id > undo_id):
        raise Conflict("a later merge must be undone first", field="undo_id", undo_id=str(later))
    merged = UUID(record["merged"])
    await users.lock(connection, [survivor, merged])
    await _lock_belongings(connection, survivor, merged)
    mention_ids = [UUID(i) for i in record["mentions"]]
    await mentions.take_back(connection, survivor, mention_ids)
    statuses = {row.id: row.status for row in await _compared(connection, survivor)}
    copies = [i for i in record["duplicates"] if statuses.get(i) == Status.INACTIVE]
    await conversations.transfer_back(connection, survivor, merged, record)
    await _transfer(
        connection,
        survivor,
        merged,
        record["memories"],
        [*record["messages"], *record["chunks"]],
        renamed=record["renamed"],
        statuses=dict.fromkeys(copies, Status.ACTIVE),
    )
    await summaries.transfer_back(connection, survivor, merged, record)
    await contexts.transfer(connection, survivor, merged)
    await conversations.leave_again(connection, survivor, record["joined"])
    for owner in _OWNERS:
        await owner.transfer_back(connection, merged, survivor, record)
    return record


async def _lock_belongings(connection: AsyncConnection, giver: UUID, taker: UUID) -> None:
    # An erasure of somebody else locks spaces before conversations.
    await spaces.hold_created(connection, giver)
    for owner_id in sorted((giver, taker)):
        await memories.lock_owner(connection, owner_id)


async def _compared(connection: AsyncConnection, owner_id: UUID) -> list[ComparedRow]:
    """Return all memories of an owner, the oldest first."""
    column = memory_table.c
    names = ComparedRow.__dataclass_fields__
    query = (
        select(*(column[name] for name in names))
        .where(column.owner_id == owner_id)
        .order_by(column.created_at, column.id)
    )
    return await all_rows(connection, ComparedRow, query)


async def _transfer(
    connection: AsyncConnection,
    giver: UUID,
    taker: UUID,
    memory_ids: Sequence[str],
    source_ids: Sequence[str],
    *,
    renamed: Mapping[str, str],
    statuses: Mapping[str, Status],
) -> None:
    """Move memories with all that refers to them, and the search items of messages and chunks.

    ``renamed`` has the new ids and ``statuses`` the new statuses of some memories, by old id.
    """
    await transfers.copy_to_owner(
        connection, giver, taker, memory_ids, renamed=renamed, statuses=statuses
    )
    await associations.transfer(connection, giver, taker, memory_ids, renamed=renamed)
    ids = [UUID(source_id) for source_id in source_ids]
    await source_messages.transfer(connection, giver, taker, ids, renamed=renamed)
    await search.transfer(
        connection, giver, taker, memory_ids=memory_ids, source_ids=ids, renamed=renamed
    )
    await transfers.erase(connection, [(giver, memory_id) for memory_id in memory_ids])


def counts(record: Mapping[str, Any]) -> MergeCounts:
    moved = sum(1 for row in record["preferences"] if row["moved"])
    return MergeCounts(
        memories=len(record["memories"]),
        duplicates=len(record["duplicates"]),
        messages=len(record["messages"]),
        conversations=len(record["conversations"]),
        chunks=len(record["chunks"]) + len(record["chunks_dropped"]),
        preferences=moved,
        preferences_dropped=len(record["preferences"]) - moved,
        spaces=len(record["spaces"]),
        platform_links=len(record["links"]),
    )
