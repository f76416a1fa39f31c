"""API models of workspaces."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, field_validator

from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.paging import Items
from remembrancer.settings import MAIN, ServerName, check_small_name
from remembrancer.validation import Input

WorkspaceName = Annotated[
    str,
    BeforeValidator(check_small_name),
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


class MoveState(StrEnum):
    """How far a workspace is on its way to another server."""

    COPYING = "copying"
    SWITCHING = "switching"
    MOVED = "moved"
    RETURNING = "returning"
    ENDING = "ending"


class WorkspaceMove(BaseModel):
    """A move of a workspace to another server that is neither confirmed nor undone."""

    from_server: str
    from_database: str
    to_server: str
    to_database: str
    state: MoveState = Field(
        MoveState.COPYING,
        description="`copying`: the old server is used. `moved`: the new one is used, and the old"
        " one follows it. The others last for seconds.",
    )
    done_bytes: int = Field(0, description="Bytes that are copied, with indexes.")
    total_bytes: int = Field(0, description="Bytes to copy, about.")
    rows: int | None = Field(None, description="Rows that were compared and found the same.")
    pause_ms: int | None = Field(None, description="Milliseconds that writes waited.")
    started_at: datetime

    @property
    def waits(self) -> bool:
        """Whether it is amid no step that ends within seconds."""
        return self.state in {MoveState.COPYING, MoveState.MOVED}


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


class MoveCreate(Input):
    """Where a workspace moves."""

    server: ServerName = Field(description="A server of the setting `workspaces.servers`.")
    wait_seconds: float = Field(
        20, ge=0, le=20, description="Seconds until the answer, if it is not moved before."
    )


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
    move: WorkspaceMove | None = Field(None, description="Null: it is not on its way.")


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
    users: int | None = Field(None, description="Null, like the others: they cannot be counted.")
    agents: int | None = None
    memories: int | None = None
    messages: int | None = None
    bytes: int = Field(description="Size of its database.")


class MigrationResult(BaseModel):
    """How the migration of one workspace ended."""

    name: str
    reason: str | None = Field(description="Why it failed; null if it did not.")


class MigrationReport(Items[MigrationResult]):
    """The workspaces that had an older schema."""

    revision: str = Field(description="The current schema.")
    is_complete: bool = Field(description="False: some failed, or were left after the first did.")
