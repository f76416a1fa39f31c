"""What waits is put into other words by who reviews it, before it is confirmed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.errors import InvalidInput
from remembrancer.guard.guard import Guard
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories import rules, screening
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import MemoryUpdate
from remembrancer.memories.versions import new_version
from remembrancer.search.index import SearchDocument, SearchIndex

SOURCE: Final = "review"
_STAYS: Final = ("valid_from", "valid_to", "conversation_id", "message_id")
"""What other words for the same statement do not change."""


@dataclass(slots=True)
class Rewordings:
    """What is to change, by memory, and why some of it is not."""

    changes: dict[str, MemoryUpdate] = field(default_factory=dict)
    texts: dict[str, SearchDocument] = field(default_factory=dict)
    """New words, made searchable."""
    findings: dict[str, list[GuardFinding]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


async def prepare(
    guard: Guard,
    indexer: SearchIndex,
    rows: Mapping[str, MemoryRow],
    asked: Mapping[str, Mapping[str, Any]],
    *,
    characters: int,
) -> Rewordings:
    """Return what of ``asked`` differs from the memories (rows) and may be stored."""
    wanted = Rewordings()
    for memory_id, row in rows.items():
        new = {
            name: value for name, value in asked[memory_id].items() if value != getattr(row, name)
        }
        if not new:
            continue
        if "content" in new:
            new |= {name: getattr(row, name) for name in _STAYS}
        try:
            rules.check_length(new.get("content", ""), characters=characters)
            screened = screening.changes(guard, MemoryUpdate.model_validate(new))
        except InvalidInput as error:
            wanted.refused[memory_id] = error.reason
            continue
        wanted.changes[memory_id] = screened.model
        wanted.findings[memory_id] = screened.findings
    said = {i: one.content for i, one in wanted.changes.items() if one.content is not None}
    wanted.texts = dict(zip(said, await indexer.prepare(list(said.values())), strict=True))
    return wanted


async def apply(
    connection: AsyncConnection,
    indexer: SearchIndex,
    rows: dict[str, MemoryRow],
    ids: Sequence[str],
    wanted: Rewordings,
) -> None:
    """Make the new versions of ``ids``, which are locked, and put them into ``rows``."""
    for memory_id in ids:
        row, changes = rows[memory_id], wanted.changes[memory_id]
        try:
            screening.check_update(row, changes)
            rules.check_place_change(row, changes)
            async with connection.begin_nested():
                text = wanted.texts.get(memory_id)
                rows[memory_id] = await new_version(
                    connection, indexer, row, changes, text=text, source=SOURCE
                )
        except InvalidInput as error:
            wanted.refused[memory_id] = error.reason
        except IntegrityError:
            wanted.refused[memory_id] = "another memory says exactly this already"
