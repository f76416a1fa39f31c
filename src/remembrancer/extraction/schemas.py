"""API models of summaries and extracted facts."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.access import Visibility
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories.schemas import MemoryCreate


class Chunk(BaseModel):
    """The summary of consecutive messages."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    conversation_id: UUID
    range_start: int = Field(description="Position of the first summarised message.")
    range_end: int = Field(description="Position of the last.")
    content: str
    visibility: Visibility
    created_at: datetime


class GuardedFact(BaseModel):
    """An extracted fact in which the guard found something; never its words."""

    message_id: UUID = Field(description="The message it was extracted from.")
    refused: bool = Field(description="Whether it was refused, not only redacted.")
    guard: list[GuardFinding]


class SummaryResult(BaseModel):
    """The result of summarising a conversation."""

    conversation_id: UUID
    messages: int = Field(description="Messages summarised, or passed over as unreadable.")
    chunks: int = Field(description="New summaries.")
    facts: int = Field(description="New and changed memories.")
    summarised_to: int = Field(description="Position up to which all messages are summarised.")
    message_count: int
    guarded: list[GuardedFact] = Field(
        description="Facts that the guard refused or changed, in the order of extraction."
    )


class UnsummarisedConversation(BaseModel):
    """A conversation with unsummarised messages outside of the window."""

    model_config = ConfigDict(from_attributes=True)

    conversation_id: UUID
    messages: int = Field(description="Number of those messages.")


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact from a conversation, as a memory of one owner."""

    owner_id: UUID
    memory: MemoryCreate
    updates: str | None = None
    """Id of the owner's memory that it changes."""
    pending: bool = False
    """It waits for its owner: only somebody else said it, or they may have forgotten it."""


@dataclass(frozen=True, slots=True)
class GivenVersion:
    """A version of a memory that the messages of a fact gave before."""

    number: int
    """Index of the fact."""
    content: str
    valid_from: datetime | None
    forgotten: bool
    """The owner has forgotten the memory, and the fact is similar to it."""
