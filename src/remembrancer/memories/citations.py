"""Memories that cite messages which will be deleted, whoever owns them.

A memory without another source is erased. Otherwise it loses the versions, mentions and
references that cite the messages, and the latest version that remains is current again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import tokens
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.ids import MemoryKey
from remembrancer.memories.rules import statement_hash
from remembrancer.memories.schemas import Status
from remembrancer.search import repository as search
from remembrancer.search.repository import Counts

_sql = partial(statement, "remembrancer.memories", "citations")


@dataclass(frozen=True, slots=True)
class CitingMemory:
    """A memory that cites messages, and whether it has mentions and versions that do not."""

    owner_id: UUID
    id: str
    other_mentions: bool
    other_versions: bool

    @property
    def key(self) -> MemoryKey:
        return self.owner_id, self.id


@dataclass(frozen=True, slots=True)
class _VersionKey:
    owner_id: UUID
    memory_id: str
    version: int


@dataclass(frozen=True, slots=True)
class _Fallback:
    owner_id: UUID
    id: str
    version: int
    content: str
    valid_from: datetime | None
    valid_to: datetime | None
    agent_id: UUID | None
    space_id: UUID | None
    status: str
    place_id: str | None
    address: Sequence[str] | None
    external_id: str | None


async def owners(connection: AsyncConnection, messages: Collection[UUID]) -> set[UUID]:
    """Return the owners of memories that cite one of these messages."""
    if not messages:
        return set()
    return set((await connection.execute(_sql("owners"), {"messages": list(messages)})).scalars())


async def lock(connection: AsyncConnection, messages: Sequence[UUID]) -> Sequence[CitingMemory]:
    """Lock the memories that cite messages, before any of them changes."""
    return await all_rows(connection, CitingMemory, _sql("lock"), {"messages": messages})


async def lock_with(connection: AsyncConnection, owner_id: UUID, messages: Sequence[UUID]) -> None:
    """Lock all memories of an owner with those that cite messages, in one order."""
    binds = {"owner_id": owner_id, "messages": list(messages)}
    await connection.execute(_sql("lock_with"), binds)


async def delete_versions(
    connection: AsyncConnection, keys: Collection[MemoryKey], messages: Sequence[UUID]
) -> Counts:
    """Delete the versions of memories that cite messages; the latest other one is current."""
    binds = {**search.key_columns(keys), "messages": messages}
    rows = await all_rows(connection, _VersionKey, _sql("versions"), binds)
    versions = [(row.owner_id, row.memory_id, row.version) for row in rows]
    await search.return_items(connection, versions)
    counts = await search.erase_versions(connection, versions)
    deleted = await connection.execute(_sql("delete_versions"), binds)
    counts["memory_versions"] += deleted.rowcount
    fallbacks = await all_rows(connection, _Fallback, _sql("fallbacks"), search.key_columns(keys))
    if fallbacks:
        await _fall_back(connection, fallbacks)
    return counts


async def delete_superseded(
    connection: AsyncConnection, keys: Collection[MemoryKey], before: datetime
) -> int:
    """Delete the versions of locked memories that were superseded before a time, with their items.

    Returns how many. The item of a version without new content is that of the next by now.
    """
    binds = {**search.key_columns(keys), "before": before}
    rows = await all_rows(connection, _VersionKey, _sql("delete_superseded"), binds)
    versions = [(row.owner_id, row.memory_id, row.version) for row in rows]
    await search.erase_versions(connection, versions)
    return len(rows)


async def delete_mentions(connection: AsyncConnection, messages: Sequence[UUID]) -> Counts:
    result = await connection.execute(_sql("delete_mentions"), {"messages": messages})
    return Counts(mentions=result.scalar_one())


async def remove_references(
    connection: AsyncConnection, keys: Collection[MemoryKey], messages: Sequence[UUID]
) -> None:
    """Remove the messages from the sources of memories and of their versions."""
    binds = {**search.key_columns(keys), "messages": messages}
    await connection.execute(_sql("remove_references"), binds)


async def remove_conversation(
    connection: AsyncConnection, conversation_id: UUID, owner_ids: Collection[UUID]
) -> None:
    """Remove a conversation from the sources of its owners' memories."""
    binds = {"conversation_id": conversation_id, "owners": list(owner_ids)}
    await connection.execute(_sql("remove_conversation"), binds)
    await search.remove_conversation(connection, conversation_id, owner_ids)


async def _fall_back(connection: AsyncConnection, fallbacks: Sequence[_Fallback]) -> None:
    hashes = [
        statement_hash(
            row.content,
            row.valid_from,
            row.valid_to,
            row.place_id,
            row.address,
            row.external_id,
        )
        for row in fallbacks
    ]
    keys = [(row.owner_id, row.id) for row in fallbacks]
    binds = {**search.key_columns(keys), "hashes": hashes}
    repeats = set((await connection.execute(_sql("repeats"), binds)).scalars())
    await connection.execute(
        _sql("fall_back"),
        {
            **binds,
            "versions": [row.version for row in fallbacks],
            "statuses": _statuses(fallbacks, hashes, repeats),
            "valid_tos": [row.valid_to for row in fallbacks],
            "tokens": [tokens.count(row.content) for row in fallbacks],
        },
    )
    await search.refresh(connection, keys)


def _statuses(
    fallbacks: Sequence[_Fallback], hashes: Sequence[bytes], repeats: Collection[int]
) -> list[str]:
    """Return the new statuses: inactive where another active memory has the same statement."""
    statements: set[tuple[UUID, UUID | None, UUID | None, bytes]] = set()
    statuses = []
    for position, (row, hash_) in enumerate(zip(fallbacks, hashes, strict=True), 1):
        statement = (row.owner_id, row.agent_id, row.space_id, hash_)
        active = row.status == Status.ACTIVE
        repeated = active and (position in repeats or statement in statements)
        statuses.append(Status.INACTIVE.value if repeated else row.status)
        if active:
            statements.add(statement)
    return statuses
