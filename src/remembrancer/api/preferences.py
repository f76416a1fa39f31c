"""What users want of their agents: /api/memory/users/{user_id}/…, and moving what is there."""

import json
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from remembrancer.api.dependencies import (
    App,
    Authenticated,
    Cursor,
    IdempotencyKey,
    Limit,
)
from remembrancer.errors import InvalidInput
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.paging import Page
from remembrancer.preferences.files import FileFormat, from_csv, to_csv
from remembrancer.preferences.schemas import (
    AgentMemoryConfig,
    Preference,
    PreferenceFile,
    PreferencesResult,
    PreferencesUpdate,
    PreferenceUpdate,
    Toggle,
    ToggleUpdate,
)

DEPRECATED_SINCE: Final = "@1795824000"
"""When the toggle was deprecated, 2026-11-28, as RFC 9745 writes it."""
GUIDE: Final = "/guides/migrating-preferences"

router = APIRouter(prefix="/api/memory/users/{user_id}", tags=["preferences"])

Format = Annotated[FileFormat, Query(alias="format")]
CSV_OR_JSON: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}
FILE_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/PreferenceFile"}},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
}


class ResetAnswer(BaseModel):
    """That a preference is gone."""

    message: str = "Preference reset to agent default"


class ResetAllAnswer(ResetAnswer):
    """That all preferences of a user are gone."""

    message: str = "Preferences reset to agent defaults"
    reset: int = Field(description="How many there were.")


def as_file(file: PreferenceFile, format_: FileFormat) -> Any:
    """Return preferences in the format asked for."""
    if format_ is FileFormat.JSON:
        return file
    headers = {"Content-Disposition": 'attachment; filename="preferences.csv"'}
    return Response(to_csv(file), media_type="text/csv", headers=headers)


async def sent_file(request: Request) -> PreferenceFile:
    """Return the preferences of a body, JSON or CSV as its Content-Type says."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await request.body()
    if kind == "text/csv":
        return from_csv(content)
    if kind != "application/json":
        raise InvalidInput("must be application/json or text/csv", field="body")
    try:
        sent = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidInput("is not valid JSON", field="body") from None
    try:
        return PreferenceFile.model_validate(sent)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in wrong]
        ) from None


@router.get("/agents/settings")
async def list_preferences(app: App, actor: Authenticated, user_id: UUID) -> list[Preference]:
    """List all preferences a user has set."""
    return (await app.preferences.list(actor, user_id)).items


@router.put("/agents/settings")
async def set_preferences(
    app: App, actor: Authenticated, user_id: UUID, wanted: PreferencesUpdate
) -> PreferencesResult:
    """Set a user's preference for many agents, or for all there are now, alike."""
    return await app.preferences.set_many(actor, user_id, wanted)


@router.delete("/agents/settings")
async def reset_preferences(app: App, actor: Authenticated, user_id: UUID) -> ResetAllAnswer:
    """Delete all preferences of a user."""
    return ResetAllAnswer(reset=await app.preferences.reset_all(actor, user_id))


@router.get("/agents/settings/export", response_model=PreferenceFile, responses=CSV_OR_JSON)
async def export_preferences(
    app: App, actor: Authenticated, user_id: UUID, format_: Format = FileFormat.JSON
) -> Any:
    """Return a user's preferences as a file that can be imported again."""
    return as_file(await app.preferences.export(actor, user_id), format_)


@router.post("/agents/settings/import", openapi_extra=FILE_BODY)
async def import_preferences(
    app: App, actor: Authenticated, user_id: UUID, request: Request
) -> PreferencesResult:
    """Set the preferences of a file, all or none; others stay. Again, it changes nothing."""
    return await app.preferences.import_(actor, user_id, await sent_file(request))


@router.get("/agents/scopes")
async def list_scopes(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[AgentMemoryConfig]:
    """List the scope in effect for a user with each agent, and what decided it."""
    return await app.preferences.scopes(actor, user_id, limit=limit, cursor=cursor)


@router.get("/agents/{agent_id}/settings")
async def get_preference(
    app: App, actor: Authenticated, user_id: UUID, agent_id: UUID
) -> Preference:
    """Return a user's preference for an agent; 404 if none is set, and the default counts."""
    return await app.preferences.get(actor, user_id, agent_id)


@router.put("/agents/{agent_id}/settings")
async def set_preference(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    agent_id: UUID,
    wanted: PreferenceUpdate,
) -> Preference:
    """Set a user's preference for an agent, whether or not there was one."""
    return await app.preferences.set(actor, user_id, agent_id, wanted)


@router.delete("/agents/{agent_id}/settings")
async def reset_preference(
    app: App, actor: Authenticated, user_id: UUID, agent_id: UUID
) -> ResetAnswer:
    """Delete a user's preference for an agent, so that the agent's default counts."""
    await app.preferences.reset(actor, user_id, agent_id)
    return ResetAnswer()


@router.get("/agents/{agent_id}/scope")
async def get_scope(
    app: App, actor: Authenticated, user_id: UUID, agent_id: UUID
) -> AgentMemoryConfig:
    """Return the scope in effect for a user with an agent, and what decided it."""
    return await app.preferences.scope(actor, user_id, agent_id)


@router.post("/agents/{agent_id}/memories/move")
async def move_memories(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    agent_id: UUID,
    wanted: MoveRequest,
    idempotency_key: IdempotencyKey = None,
) -> MoveResult:
    """Move or copy an agent's memories of a user to the other scope; at first, only count."""
    return await app.moves.move(actor, user_id, agent_id, wanted, idempotency_key=idempotency_key)


@router.post("/moves/{move_id}/undo")
async def undo_move(app: App, actor: Authenticated, user_id: UUID, move_id: UUID) -> MoveUndoResult:
    """Take a move or copy of memories back, by the `undo_id` it was answered with."""
    return await app.moves.undo(actor, user_id, move_id)


@router.get("/settings", deprecated=True)
async def get_toggle(app: App, actor: Authenticated, user_id: UUID, response: Response) -> Toggle:
    """Return the toggle for all agents at once. Use the preferences for single agents."""
    _deprecated(response, user_id)
    return await app.preferences.toggle(actor, user_id)


@router.put("/settings", deprecated=True)
async def set_toggle(
    app: App,
    actor: Authenticated,
    user_id: UUID,
    wanted: ToggleUpdate,
    response: Response,
) -> Toggle:
    """Set the toggle for all agents at once. Use the preferences for single agents."""
    _deprecated(response, user_id)
    return await app.preferences.set_toggle(actor, user_id, wanted)


def _deprecated(response: Response, user_id: UUID) -> None:
    successor = f"/api/memory/users/{user_id}/agents/settings"
    response.headers["Deprecation"] = DEPRECATED_SINCE
    response.headers["Link"] = (
        f'<{GUIDE}>; rel="deprecation"; type="text/markdown", '
        f'<{successor}>; rel="successor-version"'
    )
