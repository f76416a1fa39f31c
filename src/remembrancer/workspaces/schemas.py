"""API models of workspaces."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, field_validator

from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.paging import Items
from remembrancer.settings import MAIN, ServerName
from remembrancer.validation import Input

WorkspaceName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}$",
        examples=["acme"],
        description="Small letters, digits and hyphens, at most 40. It never changes.",
    ),
]


class WorkspaceState(StrEnum):
    """What may be done with a workspace."""

    CREATING = "creating"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    DROPPING = "dropping"


class WorkspaceLimits(Input):
    """Limits of one workspace; null means none beside those of the server."""

    requests_per_minute: int | None = Field(None, ge=1, le=10_000_000)


class WorkspaceCreate(Input):
    """A new workspace."""

    name: WorkspaceName
    server: ServerName = Field(MAIN, description="A server of the setting `workspaces.servers`.")
    limits: WorkspaceLimits = WorkspaceLimits()

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name == DEFAULT_WORKSPACE:
            raise ValueError("always exists; choose another name")
        return name


class Workspace(BaseModel):
    """A tenant of this host: its own users, agents, spaces, keys and policy."""

    id: UUID
    name: WorkspaceName
    server: str = Field(examples=[MAIN])
    database: str = Field(description="Name of its database there.")
    state: WorkspaceState
    revision: str = Field(description="Revision of its schema.", examples=["0029"])
    limits: WorkspaceLimits
    created_at: datetime
    used_at: datetime | None = Field(description="To about a second.")


class NewWorkspace(Workspace):
    """A new workspace with its first key, of an admin. The secret is shown only here."""

    secret: str


class DropReceipt(BaseModel):
    """What a workspace had when it was dropped, or has now."""

    id: UUID
    name: str
    server: str
    dry_run: bool = Field(description="True: nothing was dropped.")
    at: datetime
    users: int
    agents: int
    memories: int
    messages: int
    bytes: int = Field(description="Size of its database.")


class MigrationResult(BaseModel):
    """How the migration of one workspace ended."""

    name: str
    reason: str | None = Field(description="Why it failed; null if it did not.")


class MigrationReport(Items[MigrationResult]):
    """The workspaces that had an older schema."""

    revision: str = Field(description="The current schema.")
    is_complete: bool = Field(description="False: some failed, or were left after the first did.")
