"""Rows of conversations and messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ConversationRow:
    id: UUID
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    title: str
    platform: str | None
    platform_conversation_id: str | None
    opened_by: UUID
    message_count: int
    summarised_to: int
    is_behind: bool
    paused_at: datetime | None
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MessageRow:
    owner_id: UUID
    id: UUID
    conversation_id: UUID
    position: int
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    role: str
    sender_name: str
    content: str
    platform: str | None
    platform_message_id: str | None
    off_record: bool
    metadata: dict[str, Any]
    sent_at: datetime
    created_at: datetime
    edited_at: datetime | None
    withheld: bool
    """Whether it left recall and prompts with a forgotten memory."""


@dataclass(frozen=True, slots=True)
class AppendTarget:
    """The conversation that messages are appended to, and the users they may belong to."""

    id: UUID
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    platform: str | None
    takes_part: bool
    """Whether the actor's user is a participant."""
    last_sender: UUID | None
    names: Mapping[str, str]
    """Display names by user id."""
    linked: Mapping[str, str]
    """User ids by id on the conversation's platform."""
    has_repeated: bool
    """Whether it has a message with one of the platform's ids."""
    has_merged: bool
    """Whether a message names its user by an id from before a merge."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    platform_message_id: str
    is_same: bool
    """Whether it has the same words."""
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class AppendedRow:
    id: UUID
    position: int
    off_record: bool
