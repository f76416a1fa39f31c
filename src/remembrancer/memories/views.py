"""Answers about memories, from rows and from what is kept of an earlier answer."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.errors import NotFound
from remembrancer.guard.schemas import GuardFinding
from remembrancer.ids import public_owner
from remembrancer.memories import repository, rules, screening
from remembrancer.memories.dedup import Verdict
from remembrancer.memories.rules import Resolved
from remembrancer.memories.schemas import (
    Memory,
    MemoryUpdateResult,
    RememberResult,
    Status,
    Suggestion,
)


def memory(row: Row[Any]) -> Memory:
    """Return a memory as the API shows it."""
    notes = None if row.place_id is None else rules.notes_in(row.subject, row.content)
    words = {"user_id": public_owner(row.owner_id), "quoted": screening.is_quoted(row)}
    return Memory.model_validate({**row._mapping, **words, "notes": notes})


def updated(row: Row[Any], findings: Sequence[GuardFinding]) -> MemoryUpdateResult:
    """Return a memory as an update of it is answered."""
    return MemoryUpdateResult(**memory(row).model_dump(), guard=list(findings))


def kept(
    results: Sequence[tuple[Verdict, Resolved]], suggestions: Sequence[Sequence[Suggestion]]
) -> list[dict[str, Any]]:
    """Return what is kept of an answer: ids and outcomes, no content."""
    return [
        {
            "owner_id": str(goes.place.owner_id),
            "memory_id": verdict.memory_id,
            "outcome": verdict.outcome,
            "scope": goes.scope,
            "scope_source": goes.source,
            "scope_changed": goes.changed,
            "suggestions": [one.model_dump(mode="json", exclude={"content"}) for one in some],
        }
        for (verdict, goes), some in zip(results, suggestions, strict=True)
    ]


async def again(
    connection: AsyncConnection, answer: Sequence[dict[str, Any]]
) -> list[RememberResult]:
    """Tell an answer from what was kept of it; ``NotFound`` if that was erased since."""
    found: dict[tuple[str, str], Row[Any]] = {}
    for owner_id in {part["owner_id"] for part in answer}:
        mine = [part for part in answer if part["owner_id"] == owner_id]
        ids = [memory_id for part in mine for memory_id in _ids(part)]
        rows = await repository.by_ids(connection, UUID(owner_id), ids)
        found.update({(owner_id, memory_id): row for memory_id, row in rows.items()})
    if not all((part["owner_id"], part["memory_id"]) in found for part in answer):
        raise NotFound("what this request remembered has been erased", field="memory_id")
    return [
        RememberResult.model_validate(
            {
                **part,
                "memory": memory(found[part["owner_id"], part["memory_id"]]),
                "suggestions": [
                    {**one, "content": target.content}
                    for one in part.get("suggestions", ())
                    if (target := found.get((part["owner_id"], one["target_id"])))
                    and target.status == Status.ACTIVE
                ],
            }
        )
        for part in answer
    ]


def _ids(part: dict[str, Any]) -> list[str]:
    return [part["memory_id"], *(one["target_id"] for one in part.get("suggestions", ()))]
