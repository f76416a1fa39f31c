"""Workspaces of the host: a list, and what an admin of the host does with each."""

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.validation import validate
from remembrancer.web.dependencies import (
    FORM_CHECK,
    AdminRequest,
    CheckedForm,
    Form,
    PageRequest,
    shows_errors,
)
from remembrancer.web.languages import gettext
from remembrancer.workspaces.schemas import DropReceipt, NewWorkspace, WorkspaceLimits

router = APIRouter(prefix="/admin/workspaces")


@router.get("")
async def list_workspaces(request: AdminRequest) -> Response:
    return await _render(request)


async def _render(
    request: PageRequest,
    *,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    workspace: str | None = None,
    created: NewWorkspace | None = None,
    counted: DropReceipt | None = None,
) -> Response:
    page = await request.app.workspaces.list(
        request.actor, cursor=request.query.get("cursor") or None
    )
    return request.render(
        "admin/workspaces.html",
        error=error,
        workspaces=page.items,
        next_page=request.next_page(page.next_cursor),
        servers=request.app.host.servers.names,
        form=form or Form(),
        created=created,
        counted=counted,
        about=workspace,
    )


@router.post("")
@shows_errors(_render)
async def create(form: CheckedForm, request: AdminRequest) -> Response:
    created = await request.app.workspaces.create(
        request.actor,
        form.get("name") or "",
        server=form.get("server") or request.app.host.servers.names[0],
        limits=validate(WorkspaceLimits, **form.values("requests_per_minute")),
    )
    return await _render(request, created=created)


@router.post("/{workspace}/suspend", dependencies=[FORM_CHECK])
@shows_errors(_render)
async def suspend(request: AdminRequest, workspace: str) -> Response:
    await request.app.workspaces.suspend(request.actor, workspace)
    text = gettext("%(name)s is suspended: its keys are refused.", name=workspace)
    return request.to("workspaces", text, f"workspaces/{workspace}/resume")


@router.post("/{workspace}/resume", dependencies=[FORM_CHECK])
@shows_errors(_render)
async def resume(request: AdminRequest, workspace: str) -> Response:
    await request.app.workspaces.resume(request.actor, workspace)
    return request.to("workspaces", gettext("%(name)s can be used again.", name=workspace))


@router.post("/{workspace}/drop")
@shows_errors(_render)
async def drop(form: CheckedForm, request: AdminRequest, workspace: str) -> Response:
    """Say what is in a workspace; drop it once its name is typed."""
    typed = form.get("typed")
    if typed is None:
        counted = await request.app.workspaces.drop(request.actor, workspace)
        return await _render(request, counted=counted, workspace=workspace)
    if typed != workspace:
        raise InvalidInput(gettext("is not the name of the workspace"), field="typed")
    await request.app.workspaces.drop(request.actor, workspace, dry_run=False)
    return request.to("workspaces", gettext("%(name)s is dropped for good.", name=workspace))
