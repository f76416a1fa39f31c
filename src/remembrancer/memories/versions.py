"""An update is a new version: the old one is closed, never overwritten."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import tokens
from remembrancer.access import Placement, Visibility
from remembrancer.memories import repository, rules, screening
from remembrancer.memories.pipeline import source_of, version_row
from remembrancer.memories.schemas import MemoryUpdate
from remembrancer.search.index import SearchDocument, SearchIndex


async def new_version(
    connection: AsyncConnection,
    indexer: SearchIndex,
    memory: Row[Any],
    changes: MemoryUpdate,
    *,
    text: SearchDocument | None,
    source: str,
) -> Row[Any]:
    """Write the next version of a locked memory and return the memory.

    The old version is superseded now and held, at the latest, until the new one begins to.
    ``text`` is the new content made searchable; without new content the old vector and
    postings serve on, under the new version.
    """
    now = datetime.now(UTC)
    values = _values(memory, changes, source, now)
    changed = await repository.change(connection, memory.owner_id, memory.id, values)
    row = dict(changed._mapping)
    if text is None:
        await repository.close_version(connection, row, now, held_until=None)
        await repository.renew_item(connection, row)
    else:
        await repository.close_version(connection, row, now, changes.valid_from or now)
        place = Placement(
            memory.owner_id, memory.agent_id, memory.space_id, Visibility(memory.visibility)
        )
        await indexer.store(connection, [(place, source_of(row, now), text)])
    await repository.add_versions(connection, [version_row(row, now)])
    return changed


def as_changes(told: Any) -> MemoryUpdate:
    """Return what a statement, or a memory that waits (its row), makes of the one it changes."""
    names = ("content", "category", "valid_from", "valid_to", "conversation_id", "message_id")
    return MemoryUpdate.model_validate({name: getattr(told, name) for name in names})


def _values(memory: Row[Any], changes: MemoryUpdate, source: str, now: datetime) -> dict[str, Any]:
    """Return the columns that change."""
    given = changes.model_dump(exclude_unset=True, exclude={"expected_version"})
    values = {name: getattr(value, "value", value) for name, value in given.items()}
    for name in ("valid_from", "valid_to"):
        # A new statement has an interval of its own.
        kept = None if "content" in values else getattr(memory, name)
        values.setdefault(name, kept)
    if "content" in values:
        # And sources of its own: it does not rest on what its predecessor was said in.
        for name in ("platform", "conversation_id", "message_id"):
            values.setdefault(name, None)
    content = values.get("content", memory.content)
    if screening.is_quoted(changes):
        values["review"] = "pending"
    values["content_hash"] = rules.statement_hash(
        content, values["valid_from"], values["valid_to"], memory.place_id, memory.address
    )
    values["tokens"] = tokens.count(content)
    if "subject" in values:
        values["subject_key"] = rules.subject_key(values["subject"])
    return values | {"version": memory.version + 1, "updated_at": now, "source": source}
