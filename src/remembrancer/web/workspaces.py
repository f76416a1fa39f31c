"""Workspaces of the host: a list, and what an admin of the host does with each."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.errors import InvalidInput, NotFound, RemembrancerError
from remembrancer.validation import validate
from remembrancer.web import labels
from remembrancer.web.dependencies import (
    FORM_CHECK,
    AdminRequest,
    CheckedForm,
    Form,
    PageRequest,
    shows_errors,
)
from remembrancer.web.languages import counted, gettext
from remembrancer.workspaces.schemas import (
    DropReceipt,
    MoveState,
    NewWorkspace,
    Workspace,
    WorkspaceLimits,
)

router = APIRouter(prefix="/admin/workspaces")

_MOVE_SECONDS: Final = 5.0
"""Seconds until the answer to a browser, if a workspace is not moved before."""


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
    dropping: DropReceipt | None = None,
    moving: Workspace | None = None,
    confirming: Workspace | None = None,
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
        form=form if form and workspace is None else Form(),
        created=created,
        dropping=dropping,
        moving=moving,
        limits=form if form and form.get("set") and not isinstance(error, NotFound) else None,
        confirming=confirming,
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


@router.post("/{workspace}/limits")
@shows_errors(_render)
async def limit(form: CheckedForm, request: AdminRequest, workspace: str) -> Response:
    """Ask for the limits of a workspace; set them when they are sent."""
    if form.get("set") is None:
        found = await request.app.workspaces.get(request.actor, workspace)
        most = found.limits.requests_per_minute
        pairs = [("set", "yes"), ("requests_per_minute", str(most or ""))]
        return await _render(request, form=Form(pairs), workspace=workspace)
    limits = validate(WorkspaceLimits, **form.values("requests_per_minute"))
    await request.app.workspaces.limit(request.actor, workspace, limits)
    return request.to("workspaces", gettext("The limits of %(name)s are set.", name=workspace))


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
        dropping = await request.app.workspaces.drop(request.actor, workspace)
        return await _render(request, dropping=dropping, workspace=workspace)
    if typed != workspace:
        raise InvalidInput(gettext("is not the name of the workspace"), field="typed")
    await request.app.workspaces.drop(request.actor, workspace, dry_run=False)
    return request.to("workspaces", gettext("%(name)s is dropped for good.", name=workspace))


@router.post("/{workspace}/move")
@shows_errors(_render)
async def move(form: CheckedForm, request: AdminRequest, workspace: str) -> Response:
    """Ask for a server; move a workspace there once it is chosen, or go on with that."""
    server = form.get("server")
    if server is None:
        moving = await request.app.workspaces.get(request.actor, workspace)
        return await _render(request, moving=moving, workspace=workspace)
    moved = await request.app.workspaces.move(
        request.actor, workspace, server, wait_seconds=_MOVE_SECONDS
    )
    is_moved = moved.move is not None and moved.move.state == MoveState.MOVED
    undo = f"workspaces/{workspace}/undo-move" if is_moved else None
    return request.to("workspaces", _progress(moved), undo)


def _progress(workspace: Workspace) -> str:
    """Say how far a workspace is that was told to move."""
    way = workspace.move
    if way is None:
        return _place(workspace)
    if way.state != MoveState.MOVED:
        return gettext(
            "%(name)s is being copied to %(server)s and stays in use; look again in a while.",
            name=workspace.name,
            server=way.to_server,
        )
    text = _place(workspace)
    text += " " + counted(
        "%(count)s row was compared.", "%(count)s rows were compared.", way.rows or 0
    )
    if way.pause_ms is not None:
        text += " " + gettext("Writes waited %(pause)s.", pause=labels.milliseconds(way.pause_ms))
    return text


def _place(workspace: Workspace) -> str:
    return gettext("%(name)s is on %(server)s.", name=workspace.name, server=workspace.server)


@router.post("/{workspace}/confirm-move")
@shows_errors(_render)
async def confirm_move(form: CheckedForm, request: AdminRequest, workspace: str) -> Response:
    """Say what goes with a confirmed move; confirm it when that is sent."""
    if form.get("sure") is None:
        found = await request.app.workspaces.get(request.actor, workspace)
        if found.move is not None:
            return await _render(request, confirming=found, workspace=workspace)
    confirmed = await request.app.workspaces.confirm_move(request.actor, workspace)
    return request.to("workspaces", _place(confirmed))


@router.post("/{workspace}/undo-move", dependencies=[FORM_CHECK])
@shows_errors(_render)
async def undo_move(request: AdminRequest, workspace: str) -> Response:
    undone = await request.app.workspaces.undo_move(request.actor, workspace)
    return request.to("workspaces", _place(undone))
