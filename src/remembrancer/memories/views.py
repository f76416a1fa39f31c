"""API models of memories, made from rows and from stored answers."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Visibility
from remembrancer.errors import NotFound
from remembrancer.ids import SHARED_OWNER, MemoryKey, public_owner
from remembrancer.memories import repository, rules
from remembrancer.memories.drafts import WriteResult
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Memory, RememberResult, Status, Suggestion
from remembrancer.spaces import repository as spaces

UNREAD: Final = (
    "this agent will not read it: it is for the user's global agents, and the scope in effect for "
    "this agent is agent"
)

StoredPart = dict[str, Any]
"""What is stored of the answer to one statement: ids and the outcome."""


def memory(row: MemoryRow) -> Memory:
    return Memory.model_validate(fields(row))


def fields(row: MemoryRow) -> dict[str, Any]:
    is_place = row.place_id is not None and row.subject is not None
    return {
        **{name: getattr(row, name) for name in MemoryRow.__match_args__},
        "user_id": public_owner(row.owner_id),
        "shared": row.owner_id == SHARED_OWNER,
        "notes": rules.notes_in(row.subject or "", row.content) if is_place else None,
    }


async def named(
    connection: AsyncConnection, actor: Actor, memories: Sequence[Memory]
) -> list[Memory]:
    """Return memories with the names of their spaces, and of the members who shared them."""
    if all(memory.space_id is None for memory in memories):
        return list(memories)
    names = await spaces.names(connection)
    return [
        memory.model_copy(
            update={
                "space_name": names.space(memory.space_id),
                "author": names.author(
                    memory.user_id or SHARED_OWNER,
                    shared=memory.visibility is Visibility.SHARED,
                    reader=actor.user_id,
                ),
            }
        )
        for memory in memories
    ]


def answer(
    results: Sequence[WriteResult], suggestions: Sequence[Sequence[Suggestion]]
) -> list[StoredPart]:
    """Return the ids and outcomes to store of an answer."""
    return [
        {
            "owner_id": str(result.owner_id),
            "memory_id": result.memory_id,
            "outcome": result.outcome,
            "scope": result.destination.scope,
            "scope_source": result.destination.source,
            "scope_changed": result.destination.changed,
            "note": UNREAD if result.destination.unread else None,
            "suggestions": [s.model_dump(mode="json", exclude={"content"}) for s in suggested],
        }
        for result, suggested in zip(results, suggestions, strict=True)
    ]


async def remembered(
    connection: AsyncConnection, stored: Sequence[StoredPart]
) -> list[RememberResult]:
    """Build a stored answer again; raise ``NotFound`` for an erased memory."""
    ids: dict[UUID, set[str]] = {}
    for part in stored:
        targets = (suggestion["target_id"] for suggestion in part.get("suggestions", ()))
        ids.setdefault(UUID(part["owner_id"]), set()).update((part["memory_id"], *targets))
    rows: dict[MemoryKey, MemoryRow] = {
        (owner_id, memory_id): row
        for owner_id, memory_ids in ids.items()
        for memory_id, row in (await repository.by_ids(connection, owner_id, memory_ids)).items()
    }
    contents = {key: row.content for key, row in rows.items() if row.status == Status.ACTIVE}
    return [_result(part, rows, contents) for part in stored]


def results(
    stored: Sequence[StoredPart],
    rows: Sequence[MemoryRow],
    suggestions: Sequence[Sequence[Suggestion]],
) -> list[RememberResult]:
    """Build an answer with the rows of its memories and the suggestions in it."""
    by_key = {(row.owner_id, row.id): row for row in rows}
    return [
        _result(
            part,
            by_key,
            {(UUID(part["owner_id"]), s.target_id): s.content for s in suggested},
        )
        for part, suggested in zip(stored, suggestions, strict=True)
    ]


def _result(
    part: StoredPart, rows: dict[MemoryKey, MemoryRow], contents: dict[MemoryKey, str]
) -> RememberResult:
    owner_id = UUID(part["owner_id"])
    row = rows.get((owner_id, part["memory_id"]))
    if row is None:
        raise NotFound("the memory of the first request was erased", field="memory_id")
    suggestions = [
        {**suggestion, "content": content}
        for suggestion in part.get("suggestions", ())
        if (content := contents.get((owner_id, suggestion["target_id"]))) is not None
    ]
    return RememberResult.model_validate(
        {**part, "memory": memory(row), "suggestions": suggestions}
    )
