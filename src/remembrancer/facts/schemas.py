"""Request and response models of facts in a space."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Scope, Visibility
from remembrancer.memories.schemas import (
    AssociationCreate,
    Category,
    Expiry,
    ExternalId,
    Importance,
    Kind,
    Memory,
)
from remembrancer.text import Instant, Key, Label, Metadata, Statement
from remembrancer.validation import Input


class FactCreate(Input):
    """A statement to remember in a space."""

    content: Statement = Field(examples=["Gran was born in 1931."])
    visibility: Visibility = Visibility.PRIVATE
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: Label | None = None
    importance: Importance | None = Field(
        default=None, description="By default the importance of its kind."
    )
    scope: Scope | None = Field(
        default=None,
        description="`agent`: only this agent may use it. By default every agent may use a shared "
        "fact, and a private one follows the scope in effect for the agent.",
    )
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Expiry | None = None
    pinned: bool = False
    external_id: ExternalId | None = None
    metadata: Metadata = {}
    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    allow_similar: bool = False
    associations: list[AssociationCreate] = Field(default=[], max_length=50)


class VisibilityUpdate(Input):
    """Request to share a fact with the members of its space, or to make it private."""

    visibility: Visibility


class Fact(BaseModel):
    """A fact in a space, as one of its members sees it."""

    id: str
    space_id: UUID | None
    user_id: UUID | None = Field(description="Its author.")
    author: str | None = Field(None, description="In a list: the name of who shares it.")
    mine: bool = Field(description="Whether the reader is its author.")
    category: Category
    content: str
    visibility: Visibility
    source_conversation_id: UUID | None
    extracted_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, memory: Memory, reader: UUID | None, author: str | None = None) -> "Fact":
        """Return a memory as a fact that ``reader`` reads."""
        return cls(
            id=memory.id,
            space_id=memory.space_id,
            user_id=memory.user_id,
            author=author if memory.visibility is Visibility.SHARED else None,
            mine=memory.user_id == reader,
            category=memory.category,
            content=memory.content,
            visibility=memory.visibility,
            source_conversation_id=memory.conversation_id,
            extracted_at=memory.created_at,
            updated_at=memory.updated_at,
        )
