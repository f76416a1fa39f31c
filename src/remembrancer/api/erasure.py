"""Erasure and export of a user's data."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from remembrancer.api.dependencies import App, Caller, RequestActor
from remembrancer.api.endpoints import Router
from remembrancer.api.memories import MemoryId
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import InvalidInput
from remembrancer.portability.schemas import ExportFormat
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
    responses={
        200: {"content": {f.media_type: {"schema": {"type": "string"}} for f in ExportFormat}}
    },
)
async def export_user(
    app: App,
    actor: Caller,
    user_id: UserRef,
    format_: Annotated[
        ExportFormat,
        Query(
            alias="format",
            description="`json`: JSON Lines, an object a line. `markdown`: a zip archive of notes. "
            "`json-ld`: JSON-LD with the vocabulary of schema.org.",
        ),
    ] = ExportFormat.JSON,
) -> StreamingResponse:
    """Return everything of a user as a file, without what they have forgotten."""
    parts = app.users.export(actor, user_id, format=format_)
    first = await anext(parts)
    name = f"remembrancer-{user_id}.{format_.ending}"
    return StreamingResponse(
        _joined(first, parts),
        media_type=format_.media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _joined(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in parts:
        yield part
