"""Summaries, as a client gets them."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Visibility
from remembrancer.guard.schemas import GuardFinding


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


class GuardedFact(BaseModel):
    """A fact of a model's in which the guard found something; never its words."""

    message_id: UUID = Field(description="The message that it rests on.")
    refused: bool = Field(description="Whether it was not kept at all.")
    guard: list[GuardFinding]


class SummaryResult(BaseModel):
    """What was done, and how far a conversation is summarised now."""

    conversation_id: UUID
    messages: int = Field(description="Messages that were dealt with.")
    chunks: int = Field(description="Ranges of them that had something to keep.")
    facts: int = Field(description="Facts found in them.")
    summarised_to: int = Field(description="Position of the last message that is dealt with.")
    message_count: int
    guarded: list[GuardedFact] = Field(
        description="Facts that the guard refused or changed, in the order they were found."
    )


class Pending(BaseModel):
    """A conversation with messages that have left the window and have no summary."""

    conversation_id: UUID
    messages: int
