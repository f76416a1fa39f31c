"""The admin's policy, statistics and preferences of all users: /api/memory."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.responses import PlainTextResponse

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.api.preferences import (
    CSV_OR_JSON,
    FILE_BODY,
    GUIDE,
    Format,
    as_file,
    file_of_body,
)
from remembrancer.errors import NotFound
from remembrancer.preferences.files import FileFormat
from remembrancer.preferences.schemas import (
    Policy,
    PolicyUpdate,
    PreferenceFile,
    PreferencesResult,
    ScopeStatistics,
)

router = Router(prefix="/api/memory", tags=["policy"])
guides = Router(include_in_schema=False)


@router.get("/policy")
async def get_policy(app: App, actor: Caller) -> Policy:
    """Return the policy, which overrides all preferences."""
    return await app.policies.get(actor)


@router.put("/policy")
async def set_policy(app: App, actor: Caller, policy: PolicyUpdate) -> Policy:
    """Set the policy. Stored memories keep their scope."""
    return await app.policies.set(actor, policy)


@router.get("/statistics")
async def statistics(app: App, actor: Caller) -> ScopeStatistics:
    """Count agents, users, pairs and memories by scope."""
    return await app.policies.statistics(actor)


@router.get("/preferences/export", response_model=PreferenceFile, responses=CSV_OR_JSON)
async def export_all_preferences(app: App, actor: Caller, format_: Format = FileFormat.JSON) -> Any:
    """Return the preferences of all users as a file that can be imported."""
    return as_file(await app.preferences.export_all(actor), format_)


@router.post("/preferences/import", openapi_extra=FILE_BODY)
async def import_all_preferences(app: App, actor: Caller, request: Request) -> PreferencesResult:
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
