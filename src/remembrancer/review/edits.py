"""A reviewer's edits of pending memories, before they are confirmed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.backend import Backend
from remembrancer.errors import InvalidInput
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories import rules, screening
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import MemoryUpdate
from remembrancer.memories.versions import new_version
from remembrancer.search.index import SearchDocument, SearchIndex

SOURCE: Final = "review"
_UNCHANGED: Final = ("valid_from", "valid_to", "conversation_id", "message_id")
"""Columns that stay when the reviewer changes the content."""


@dataclass(slots=True)
class Edits:
    """The edits of a review, by memory, and reasons against some of them."""

    changes: dict[str, MemoryUpdate] = field(default_factory=dict)
    documents: dict[str, SearchDocument] = field(default_factory=dict)
    """New contents, ready for search."""
    findings: dict[str, list[GuardFinding]] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)


async def prepare(
    backend: Backend,
    rows: Mapping[str, MemoryRow],
    requests: Mapping[str, Mapping[str, Any]],
) -> Edits:
    """Return the edits that change something, checked and ready for search."""
    edits = Edits()
    for memory_id, row in rows.items():
        values = {
            name: value
            for name, value in requests[memory_id].items()
            if value != getattr(row, name)
        }
        if not values:
            continue
        if "content" in values:
            values |= {name: getattr(row, name) for name in _UNCHANGED}
        try:
            rules.check_length(
                values.get("content", ""), characters=backend.limits.memory_characters
            )
            screened = screening.changes(backend.guard, MemoryUpdate.model_validate(values))
        except InvalidInput as error:
            edits.refusals[memory_id] = error.reason
            continue
        edits.changes[memory_id] = screened.model
        edits.findings[memory_id] = screened.findings
    contents = {
        memory_id: change.content
        for memory_id, change in edits.changes.items()
        if change.content is not None
    }
    documents = await backend.search.prepare(list(contents.values()))
    edits.documents = dict(zip(contents, documents, strict=True))
    return edits


async def apply(
    connection: AsyncConnection,
    search: SearchIndex,
    rows: dict[str, MemoryRow],
    ids: Sequence[str],
    edits: Edits,
) -> None:
    """Write new versions of the locked memories ``ids``, and put them into ``rows``."""
    for memory_id in ids:
        row, changes = rows[memory_id], edits.changes[memory_id]
        try:
            screening.check_update(row, changes)
            rules.check_place_change(row, changes)
            async with connection.begin_nested():
                text = edits.documents.get(memory_id)
                rows[memory_id] = await new_version(
                    connection, search, row, changes, text=text, source=SOURCE
                )
        except InvalidInput as error:
            edits.refusals[memory_id] = error.reason
        except IntegrityError:
            edits.refusals[memory_id] = "another memory has exactly this content"
