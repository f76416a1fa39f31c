"""Versions of memories: an update closes the current version and never overwrites it."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import tokens
from remembrancer.access import Placement, Visibility
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memory_versions
from remembrancer.memories import repository, rules, screening
from remembrancer.memories.drafts import item_source
from remembrancer.memories.rows import MemoryRow, VersionRow
from remembrancer.memories.schemas import MemoryCreate, MemoryUpdate, Review
from remembrancer.search import repository as search
from remembrancer.search.index import SearchDocument, SearchIndex

_COPIED = (
    "owner_id", "version", "content", "valid_from", "valid_to", "source", "platform",
    "conversation_id", "message_id",
)  # fmt: skip
"""Columns of a memory that its current version has too."""


async def history(
    connection: AsyncConnection, owner_id: UUID, memory_id: str
) -> Sequence[VersionRow]:
    """Return all versions of a memory, the oldest first."""
    query = select(memory_versions).filter_by(owner_id=owner_id, memory_id=memory_id)
    return await all_rows(connection, VersionRow, query.order_by(memory_versions.c.version))


async def add(
    connection: AsyncConnection, memories: Sequence[dict[str, Any]], recorded_at: datetime
) -> None:
    """Insert the current versions of memories, given as columns by name."""
    rows = [
        {name: memory[name] for name in _COPIED}
        | {"memory_id": memory["id"], "recorded_at": recorded_at}
        for memory in memories
    ]
    await connection.execute(insert(memory_versions), rows)


async def new_version(
    connection: AsyncConnection,
    index: SearchIndex,
    memory: MemoryRow,
    changes: MemoryUpdate,
    *,
    text: SearchDocument | None,
    source: str,
) -> MemoryRow:
    """Write the next version of a locked memory and return the memory.

    The old version is superseded now, and its content holds no longer than until the new one
    starts to. ``text`` is the new content made searchable; None without new content.
    """
    now = datetime.now(UTC)
    values = _values(memory, changes, source, now)
    changed = await repository.change(connection, memory.owner_id, memory.id, values)
    held_until = None if text is None else changes.valid_from or now
    await _close(connection, changed, now, held_until)
    row = {name: getattr(changed, name) for name in (*_COPIED, "id")}
    await add(connection, [row], now)
    if text is not None:
        placement = Placement(
            memory.owner_id, memory.agent_id, memory.space_id, Visibility(memory.visibility)
        )
        await index.store(
            connection, [(placement, item_source(asdict(changed) | {"created_at": now}), text)]
        )
    await search.refresh(connection, [(memory.owner_id, memory.id)])
    return changed


def as_changes(statement: MemoryCreate | MemoryRow) -> MemoryUpdate:
    """Return a statement, or a pending memory, as changes of the memory that it revises."""
    names = ("content", "category", "valid_from", "valid_to", "conversation_id", "message_id")
    return MemoryUpdate.model_validate({name: getattr(statement, name) for name in names})


async def _close(
    connection: AsyncConnection, memory: MemoryRow, now: datetime, held_until: datetime | None
) -> None:
    """Supersede the version before the current one; with new content, end its interval."""
    version = memory_versions.c
    query = update(memory_versions).filter_by(
        owner_id=memory.owner_id, memory_id=memory.id, superseded_at=None
    )
    values: dict[str, Any] = {"superseded_at": now}
    if held_until is not None:
        values["valid_to"] = func.least(func.coalesce(version.valid_to, held_until), held_until)
    await connection.execute(query.values(values))


def _values(memory: MemoryRow, changes: MemoryUpdate, source: str, now: datetime) -> dict[str, Any]:
    given = changes.model_dump(exclude_unset=True, exclude={"expected_version"})
    values = {name: getattr(value, "value", value) for name, value in given.items()}
    # New content does not inherit the interval and the sources.
    for name in ("valid_from", "valid_to"):
        values.setdefault(name, None if "content" in values else getattr(memory, name))
    if "content" in values:
        for name in ("platform", "conversation_id", "message_id"):
            values.setdefault(name, None)
    content = values.get("content", memory.content)
    if screening.is_quoted(changes):
        values["review"] = Review.PENDING.value
    values["content_hash"] = rules.statement_hash(
        content,
        values["valid_from"],
        values["valid_to"],
        memory.place_id,
        memory.address,
        memory.external_id,
    )
    values["tokens"] = tokens.count(content)
    values["quoted"] = screening.are_quoted(content, values.get("subject", memory.subject))
    if "subject" in values:
        values["subject_key"] = rules.subject_key(values["subject"])
    return values | {"version": memory.version + 1, "updated_at": now, "source": source}
