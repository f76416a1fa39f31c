"""Answers about memories, from rows and from what is kept of an earlier answer."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.ids import public_owner
from remembrancer.memories import repository
from remembrancer.memories.dedup import Verdict
from remembrancer.memories.rules import Resolved
from remembrancer.memories.schemas import Memory, MemoryWritten


def memory(row: Row[Any]) -> Memory:
    """Return a memory as the API shows it."""
    return Memory.model_validate({**row._mapping, "user_id": public_owner(row.owner_id)})


def kept(results: Sequence[tuple[Verdict, Resolved]]) -> list[dict[str, Any]]:
    """Return what is kept of an answer: ids and outcomes, no content."""
    return [
        {
            "owner_id": str(goes.place.owner_id),
            "memory_id": verdict.memory_id,
            "outcome": verdict.outcome,
            "scope": goes.scope,
            "scope_source": goes.source,
            "scope_changed": goes.changed,
        }
        for verdict, goes in results
    ]


async def again(
    connection: AsyncConnection, answer: Sequence[dict[str, Any]]
) -> list[MemoryWritten]:
    """Tell an answer from what was kept of it."""
    found: dict[tuple[str, str], Row[Any]] = {}
    for owner_id in {part["owner_id"] for part in answer}:
        ids = [part["memory_id"] for part in answer if part["owner_id"] == owner_id]
        rows = await repository.by_ids(connection, UUID(owner_id), ids)
        found.update({(owner_id, memory_id): row for memory_id, row in rows.items()})
    return [
        MemoryWritten.model_validate(
            {**part, "memory": memory(found[part["owner_id"], part["memory_id"]])}
        )
        for part in answer
    ]
