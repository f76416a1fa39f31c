"""Preferences, scopes and moves of users, and the admin's policy: /api/memory."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import PlainTextResponse

from remembrancer.api.dependencies import App, Caller, IdempotencyKey, Paging
from remembrancer.api.endpoints import Router, takes_batch
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.paging import Page
from remembrancer.preferences import schemas
from remembrancer.preferences.files import FileFormat, from_csv, to_csv
from remembrancer.user_names import UserRef

DEPRECATED_SINCE: Final = "@1795824000"
"""The day of the toggle's deprecation, 2026-11-28, in the format of RFC 9745."""
GUIDE: Final = "/guides/migrating-preferences"

router = Router(prefix="/api/memory/users/{user_id}", tags=["preferences"])
policy = Router(prefix="/api/memory", tags=["policy"])
guides = Router(include_in_schema=False)

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
    """Confirms that a preference was reset."""

    message: str = "Preference reset to agent default"


class ResetAllAnswer(ResetAnswer):
    """Confirms that all preferences of a user were reset."""

    message: str = "Preferences reset to agent defaults"
    reset: int = Field(description="Number of preferences.")


def as_file(file: schemas.PreferenceFile, format_: FileFormat) -> Any:
    """Return preferences as JSON or as a CSV file."""
    if format_ is FileFormat.JSON:
        return file
    headers = {"Content-Disposition": 'attachment; filename="preferences.csv"'}
    return Response(to_csv(file), media_type="text/csv", headers=headers)


async def file_of_body(request: Request) -> schemas.PreferenceFile:
    """Return the preferences of a JSON or CSV body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/csv":
        return from_csv(await request.body())
    if kind != "application/json":
        raise InvalidInput("must be application/json or text/csv", field="body")
    try:
        document = await request.json()
    except (ValueError, RecursionError):
        raise InvalidInput("is not valid JSON", field="body") from None
    try:
        return schemas.PreferenceFile.model_validate(document)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**each, "loc": ("body", *each["loc"])} for each in errors]
        ) from None


@router.get("/agents/settings")
async def list_preferences(app: App, actor: Caller, user_id: UserRef) -> list[schemas.Preference]:
    """List all preferences of a user."""
    return (await app.preferences.list(actor, user_id)).items


@router.put("/agents/settings")
async def set_preferences(
    app: App, actor: Caller, user_id: UserRef, preferences: schemas.PreferencesUpdate
) -> schemas.PreferencesResult:
    """Set one preference for many agents, or for all existing agents."""
    return await app.preferences.set_many(actor, user_id, preferences)


@router.delete("/agents/settings")
async def reset_preferences(app: App, actor: Caller, user_id: UserRef) -> ResetAllAnswer:
    """Delete all preferences of a user."""
    return ResetAllAnswer(reset=await app.preferences.reset_all(actor, user_id))


@router.get("/agents/settings/export", response_model=schemas.PreferenceFile, responses=CSV_OR_JSON)
async def export_preferences(
    app: App, actor: Caller, user_id: UserRef, format_: Format = FileFormat.JSON
) -> Any:
    """Return a user's preferences as a file that can be imported."""
    return as_file(await app.preferences.export(actor, user_id), format_)


@router.post("/agents/settings/import", openapi_extra=FILE_BODY)
@takes_batch
async def import_preferences(
    app: App, actor: Caller, user_id: UserRef, request: Request
) -> schemas.PreferencesResult:
    """Set the preferences in a file, all or none. Other preferences stay. Safe to repeat."""
    return await app.preferences.import_(actor, user_id, await file_of_body(request))


@router.get("/agents/scopes")
async def list_scopes(
    app: App, actor: Caller, user_id: UserRef, page: Paging
) -> Page[schemas.AgentMemoryConfig]:
    """List the effective scope of a user with each agent, and its source."""
    return await app.preferences.scopes(actor, user_id, **page)


@router.get("/agents/{agent_id}/settings")
async def get_preference(
    app: App, actor: Caller, user_id: UserRef, agent_id: UUID
) -> schemas.Preference:
    """Return a user's preference for an agent. 404 without one: the agent's default applies."""
    return await app.preferences.get(actor, user_id, agent_id)


@router.put("/agents/{agent_id}/settings")
async def set_preference(
    app: App, actor: Caller, user_id: UserRef, agent_id: UUID, preference: schemas.PreferenceUpdate
) -> schemas.Preference:
    """Set a user's preference for an agent."""
    return await app.preferences.set(actor, user_id, agent_id, preference)


@router.delete("/agents/{agent_id}/settings")
async def reset_preference(
    app: App, actor: Caller, user_id: UserRef, agent_id: UUID
) -> ResetAnswer:
    """Delete a user's preference for an agent: the agent's default applies."""
    await app.preferences.reset(actor, user_id, agent_id)
    return ResetAnswer()


@router.get("/agents/{agent_id}/scope")
async def get_scope(
    app: App, actor: Caller, user_id: UserRef, agent_id: UUID
) -> schemas.AgentMemoryConfig:
    """Return the effective scope of a user with an agent, and its source."""
    return await app.preferences.scope(actor, user_id, agent_id)


@router.post("/agents/{agent_id}/memories/move")
async def move_memories(
    app: App,
    actor: Caller,
    user_id: UserRef,
    agent_id: UUID,
    request: MoveRequest,
    idempotency_key: IdempotencyKey = None,
) -> MoveResult:
    """Move or copy an agent's memories of a user to the other scope. By default, only count."""
    return await app.moves.move(actor, user_id, agent_id, request, idempotency_key=idempotency_key)


@router.post("/moves/{move_id}/undo")
async def undo_move(app: App, actor: Caller, user_id: UserRef, move_id: UUID) -> MoveUndoResult:
    """Undo a move or copy, by the `undo_id` of its response."""
    return await app.moves.undo(actor, user_id, move_id)


@router.get("/settings", deprecated=True)
async def get_toggle(
    app: App, actor: Caller, user_id: UserRef, response: Response
) -> schemas.Toggle:
    """Return the toggle for all agents. Use preferences of single agents instead."""
    _set_deprecation(response, user_id)
    return await app.preferences.toggle(actor, user_id)


@router.put("/settings", deprecated=True)
async def set_toggle(
    app: App, actor: Caller, user_id: UserRef, toggle: schemas.ToggleUpdate, response: Response
) -> schemas.Toggle:
    """Set the toggle for all agents. Use preferences of single agents instead."""
    _set_deprecation(response, user_id)
    return await app.preferences.set_toggle(actor, user_id, toggle)


def _set_deprecation(response: Response, user_id: UserRef) -> None:
    successor = f"/api/memory/users/{user_id}/agents/settings"
    response.headers["Deprecation"] = DEPRECATED_SINCE
    response.headers["Link"] = (
        f'<{GUIDE}>; rel="deprecation"; type="text/markdown", '
        f'<{successor}>; rel="successor-version"'
    )


@policy.get("/policy")
async def get_policy(app: App, actor: Caller) -> schemas.Policy:
    """Return the policy, which overrides all preferences."""
    return await app.policies.get(actor)


@policy.put("/policy")
async def set_policy(app: App, actor: Caller, update: schemas.PolicyUpdate) -> schemas.Policy:
    """Set the policy. Stored memories keep their scope."""
    return await app.policies.set(actor, update)


@policy.get("/statistics")
async def statistics(app: App, actor: Caller) -> schemas.ScopeStatistics:
    """Count agents, users, pairs and memories by scope."""
    return await app.policies.statistics(actor)


@policy.get("/preferences/export", response_model=schemas.PreferenceFile, responses=CSV_OR_JSON)
async def export_all_preferences(app: App, actor: Caller, format_: Format = FileFormat.JSON) -> Any:
    """Return the preferences of all users as a file that can be imported."""
    return as_file(await app.preferences.export_all(actor), format_)


@policy.post("/preferences/import", openapi_extra=FILE_BODY)
@takes_batch
async def import_all_preferences(
    app: App, actor: Caller, request: Request
) -> schemas.PreferencesResult:
    """Set the preferences in a file, all or none. Other preferences stay. For admins."""
    return await app.preferences.import_all(actor, await file_of_body(request))


@guides.get(GUIDE)
async def guide() -> PlainTextResponse:
    """Return the migration guide linked in headers of deprecated endpoints."""
    installed = files("remembrancer.api") / "migrating-preferences.md"
    checked_out = Path(__file__).parents[3] / "docs" / "migrating-preferences.md"
    for page in (installed, checked_out):
        if page.is_file():
            return PlainTextResponse(page.read_text(encoding="utf-8"), media_type="text/markdown")
    raise NotFound("the guide is not part of this installation")
