"""Workspaces of this host, below /api/workspaces. For admin keys of the default workspace."""

from typing import Annotated

from fastapi import Path

from remembrancer.api.dependencies import App, Caller, Paging
from remembrancer.api.endpoints import Router
from remembrancer.api.erasure import DryRun
from remembrancer.paging import Page
from remembrancer.workspaces.schemas import (
    DropReceipt,
    MoveCreate,
    NewWorkspace,
    Workspace,
    WorkspaceCreate,
    WorkspaceLimits,
)

router = Router(prefix="/api/workspaces", tags=["workspaces"])

Name = Annotated[str, Path(description="Its name.", max_length=100)]


@router.post("", status_code=201)
async def create_workspace(app: App, actor: Caller, workspace: WorkspaceCreate) -> NewWorkspace:
    """Create a workspace and its first admin key. Only this response has its secret."""
    return await app.workspaces.create(
        actor, workspace.name, server=workspace.server, limits=workspace.limits
    )


@router.get("")
async def list_workspaces(app: App, actor: Caller, page: Paging) -> Page[Workspace]:
    """List workspaces by name, all but the default one."""
    return await app.workspaces.list(actor, **page)


@router.get("/{workspace}")
async def get_workspace(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Return a workspace."""
    return await app.workspaces.get(actor, workspace)


@router.put("/{workspace}/limits")
async def set_workspace_limits(
    app: App, actor: Caller, workspace: Name, limits: WorkspaceLimits
) -> Workspace:
    """Set the limits of a workspace. All servers know them within a second."""
    return await app.workspaces.limit(actor, workspace, limits)


@router.post("/{workspace}/suspend")
async def suspend_workspace(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Refuse all requests to a workspace, within a second everywhere, until it is resumed."""
    return await app.workspaces.suspend(actor, workspace)


@router.post("/{workspace}/resume")
async def resume_workspace(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Let a suspended workspace be used again."""
    return await app.workspaces.resume(actor, workspace)


@router.post("/{workspace}/move")
async def move_workspace(app: App, actor: Caller, workspace: Name, move: MoveCreate) -> Workspace:
    """Move a workspace to another server while it is used, or go on with that.

    Repeat it until `move.state` is `moved`. Then confirm the move, or undo it.
    """
    return await app.workspaces.move(actor, workspace, move.server, wait_seconds=move.wait_seconds)


@router.post("/{workspace}/move/confirm")
async def confirm_workspace_move(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Drop what a workspace left on its old server: its move cannot be undone any more."""
    return await app.workspaces.confirm_move(actor, workspace)


@router.post("/{workspace}/move/undo")
async def undo_workspace_move(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Bring a workspace back with all that was written since, or stop its copy."""
    return await app.workspaces.undo_move(actor, workspace)


@router.delete("/{workspace}")
async def drop_workspace(
    app: App, actor: Caller, workspace: Name, dry_run: DryRun = True
) -> DropReceipt:
    """Drop a workspace with all that is in it, or say what that is.

    It must be suspended, unless its creation did not end.
    """
    return await app.workspaces.drop(actor, workspace, dry_run=dry_run)
