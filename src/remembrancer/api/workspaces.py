"""Workspaces of this host, below /api/workspaces. For admin keys of the default workspace."""

from typing import Annotated

from fastapi import Path

from remembrancer.api.dependencies import App, Caller, Paging
from remembrancer.api.endpoints import Router
from remembrancer.api.erasure import DryRun
from remembrancer.paging import Page
from remembrancer.workspaces.schemas import (
    DropReceipt,
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
    return await app.workspaces.update(actor, workspace, limits)


@router.post("/{workspace}/suspend")
async def suspend_workspace(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Refuse all requests to a workspace, within a second everywhere, until it is resumed."""
    return await app.workspaces.suspend(actor, workspace)


@router.post("/{workspace}/resume")
async def resume_workspace(app: App, actor: Caller, workspace: Name) -> Workspace:
    """Let a suspended workspace be used again."""
    return await app.workspaces.resume(actor, workspace)


@router.delete("/{workspace}")
async def drop_workspace(
    app: App, actor: Caller, workspace: Name, dry_run: DryRun = True
) -> DropReceipt:
    """Drop a suspended workspace with all that is in it, or say what that is."""
    return await app.workspaces.drop(actor, workspace, dry_run=dry_run)
