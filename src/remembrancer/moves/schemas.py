"""Request and response models of moves between scopes."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Scope


class MoveRequest(BaseModel):
    """Request to move or copy an agent's memories of a user to the other scope."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)

    to: Scope = Field(
        description="`global` takes the memories of the agent's own scope. `agent` takes the "
        "global memories that were first told to this agent."
    )
    copy_them: bool = Field(
        default=False, alias="copy", description="Copy the memories instead of moving them."
    )
    dry_run: bool = Field(default=True, description="Count only; change nothing.")


class MoveResult(BaseModel):
    """Number of memories that moved, or that would move in a dry run."""

    to: Scope
    copied: bool = Field(description="Whether the memories were copied.")
    dry_run: bool
    moved: int = Field(description="Memories that moved or were copied.")
    merged: int = Field(
        description="Memories whose statement was in the target scope already: mentions of it now."
    )
    undo_id: UUID | None = Field(description="Id to undo it with; null if nothing changed.")
    effective_scope: Scope | None = Field(
        description="Scope that the agent reads now; null for a deleted agent."
    )


class MoveUndoResult(BaseModel):
    """Result of undoing a move."""

    returned: int = Field(description="Memories that moved back, or copies that were deleted.")
    stayed: int = Field(
        description="Memories that stayed: copies that changed since, and memories whose statement "
        "was remembered again in the scope they came from."
    )
