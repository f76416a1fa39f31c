"""Summaries, as a client gets them."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Visibility


class Chunk(BaseModel):
    """The summary of some messages in a row."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    conversation_id: UUID
    range_start: int = Field(description="Position of the first message it is about.")
    range_end: int = Field(description="Position of the last.")
    content: str
    visibility: Visibility
    created_at: datetime


class Summarised(BaseModel):
    """What was done, and how far a conversation is summarised now."""

    conversation_id: UUID
    messages: int = Field(description="Messages that were dealt with.")
    chunks: int = Field(description="Ranges of them that had something to keep.")
    facts: int = Field(description="Facts found in them.")
    summarised_to: int = Field(description="Position of the last message that is dealt with.")
    message_count: int


class Pending(BaseModel):
    """A conversation with messages that have left the window and have no summary."""

    conversation_id: UUID
    messages: int
