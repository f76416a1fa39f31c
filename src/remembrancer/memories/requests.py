"""What is asked of memories beside the memories themselves, and what is answered.

Moves between scopes, facts in spaces, and the budget. No I/O, so that clients can use
them without a database.
"""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Scope, Visibility
from remembrancer.memories.schemas import (
    AssociationCreate,
    Category,
    Importance,
    Kind,
    Metadata,
    Status,
)
from remembrancer.text import Instant, Key, Label, Statement


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


class Moved(BaseModel):
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


class MoveUndone(BaseModel):
    """What became of a move that was taken back."""

    returned: int = Field(description="Memories that lie where they did; copies that are gone.")
    stayed: int = Field(
        description="Memories that stay: copies that changed since, and those whose statement "
        "has been remembered anew where they came from."
    )


class Evictable(BaseModel):
    """A memory that would go."""

    id: str
    kind: Kind
    status: Status
    content: str
    tokens: int
    importance: float = Field(description="What is left of it now, from 0 to 1.")
    created_at: datetime


class BudgetPreview(BaseModel):
    """How much of a user's budget is used, and what would go for more."""

    budget: int = Field(description="Tokens that a user's memories may have; 0 is no limit.")
    used: int = Field(description="Tokens of what is active or inactive, spaces left out.")
    pinned: int = Field(description="Of these, pinned: they never go.")
    adding: int = Field(description="The further tokens that were asked about.")
    would_go: list[Evictable] = Field(description="What would be evicted for them, in order.")


class FactCreate(BaseModel):
    """A statement to remember in a space."""

    model_config = ConfigDict(extra="forbid")

    content: Statement = Field(examples=["Gran was born in 1931."])
    visibility: Visibility = Visibility.PRIVATE
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: Label | None = None
    importance: Importance | None = Field(None, description="By kind, unless given.")
    scope: Scope | None = Field(
        None, description="`agent`: usable by this agent alone; every agent unless given."
    )
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    pinned: bool = False
    metadata: Metadata = {}
    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    allow_similar: bool = False
    associations: list[AssociationCreate] = Field([], max_length=50)


class VisibilityUpdate(BaseModel):
    """Who shall see a fact: its author, or the members of its space."""

    model_config = ConfigDict(extra="forbid")

    visibility: Visibility


class Fact(BaseModel):
    """What somebody keeps in a space, as one of its members sees it."""

    id: str
    space_id: UUID | None
    user_id: UUID | None = Field(description="Its author.")
    mine: bool = Field(description="Whether the reader is its author.")
    category: Category
    content: str
    visibility: Visibility
    source_conversation_id: UUID | None
    extracted_at: datetime
    updated_at: datetime
