"""Erasure and export of a user's data."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from remembrancer.api.dependencies import App, Caller, RequestActor
from remembrancer.api.endpoints import Router
from remembrancer.api.memories import MemoryId
from remembrancer.erasure.export import Line
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.user_names import UserRef

router = Router(tags=["erasure"])

DryRun = Annotated[
    bool,
    Query(description="Only count. The default, because erasure cannot be undone."),
]


@router.post("/api/users/{user_id}/erase")
async def erase_user(
    app: App,
    actor: Caller,
    user_id: UserRef,
    dry_run: DryRun = True,
    memories_only: Annotated[
        bool, Query(description="Leave the user, links, preferences and memberships.")
    ] = False,
    confirm: Annotated[
        UserRef | None, Query(description="The user's id again; needed to erase.")
    ] = None,
) -> Receipt:
    """Delete all data of a user for good; return a receipt."""
    if not dry_run and confirm != user_id:
        raise InvalidInput("must be the user's id to erase for good", field="confirm")
    return await app.users.erase(actor, user_id, dry_run=dry_run, memories_only=memories_only)


@router.post("/api/memory/{memory_id}/erase")
async def erase_memory(
    app: App, actor: RequestActor, memory_id: MemoryId, dry_run: DryRun = True
) -> Receipt:
    """Delete a memory for good, with its versions, mentions and associations."""
    return await app.memories.erase(actor, memory_id, dry_run=dry_run)


@router.get(
    "/api/users/{user_id}/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}},
)
async def export_user(app: App, actor: Caller, user_id: UserRef) -> StreamingResponse:
    """Return all data of a user as JSON Lines, one object per line."""
    lines = app.users.export(actor, user_id)
    first = await anext(lines)
    return StreamingResponse(
        _json_lines(first, lines),
        media_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="remembrancer-{user_id}.jsonl"'},
    )


async def _json_lines(first: Line, lines: AsyncIterator[Line]) -> AsyncIterator[str]:
    yield json.dumps(first, ensure_ascii=False) + "\n"
    async for line in lines:
        yield json.dumps(line, ensure_ascii=False) + "\n"
