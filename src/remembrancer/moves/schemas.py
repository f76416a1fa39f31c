"""Request and response models of moves between scopes."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Scope


class MoveRequest(BaseModel):
    """Where an agent's memories of a user shall lie."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)

    to: Scope = Field(
        description="`global`: what lies in the agent's own scope. `agent`: what is global and "
        "was first told to this agent."
    )
    copy_them: bool = Field(
        False, alias="copy", description="Leave the memories where they are, and copy them."
    )
    dry_run: bool = Field(True, description="Only count what would be done.")


class MoveResult(BaseModel):
    """How many memories a move takes, or would take if it is a dry run."""

    to: Scope
    copied: bool = Field(description="The memories stay, and copies of them lie there as well.")
    dry_run: bool
    moved: int = Field(description="Memories that move, or are copied.")
    merged: int = Field(
        description="Memories that are known there already, and become mentions of those."
    )
    undo_id: UUID | None = Field(description="What takes it back; null if nothing was done.")
    effective_scope: Scope | None = Field(
        description="Which scope the agent reads now; null for one that is retired."
    )


class MoveUndoResult(BaseModel):
    """What became of a move that was taken back."""

    returned: int = Field(description="Memories that lie where they did; copies that are gone.")
    stayed: int = Field(
        description="Memories that stay: copies that changed since, and those whose statement "
        "has been remembered anew where they came from."
    )
