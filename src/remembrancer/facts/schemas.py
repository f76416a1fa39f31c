"""Request and response models of facts in a space."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Scope, Visibility
from remembrancer.memories.schemas import AssociationCreate, Category, Importance, Kind, Metadata
from remembrancer.text import Instant, Key, Label, Statement


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
