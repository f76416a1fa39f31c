"""API models of conversations and messages."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from remembrancer.access import Visibility
from remembrancer.guard.schemas import GuardFinding
from remembrancer.text import Instant, Key, Label, Metadata, OptionalLabel, Text
from remembrancer.user_names import UserRef
from remembrancer.validation import Input


class MessageRole(StrEnum):
    """The role of a message's sender, as chat models have it."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ConversationCreate(Input):
    """A new conversation.

    With ``platform_conversation_id`` the call is repeatable: the conversation that has
    this platform id and agent is returned if it exists. With ``shared`` visibility, the
    members of its space recall the messages; otherwise each sender recalls their own.
    """

    agent_id: UUID | None = None
    title: OptionalLabel = ""
    platform: Key | None = Field(None, examples=["discord"])
    platform_conversation_id: Key | None = Field(None, examples=["1098"])
    space_id: UUID | None = None
    visibility: Visibility = Visibility.PRIVATE
    metadata: Metadata = {}

    @model_validator(mode="after")
    def _fits_together(self) -> "ConversationCreate":
        if self.visibility is Visibility.SHARED and self.space_id is None:
            raise ValueError("visibility: must be private without a space_id")
        if self.platform_conversation_id is not None and self.platform is None:
            raise ValueError("platform: must be set with platform_conversation_id")
        return self


class Conversation(BaseModel):
    """A conversation as stored."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    agent_id: UUID | None
    title: str
    platform: str | None
    platform_conversation_id: str | None
    space_id: UUID | None
    visibility: Visibility
    message_count: int
    paused_at: datetime | None = Field(
        None, description="Start of the pause of remembering; null without a pause."
    )
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class MessageCreate(Input):
    """A message to append.

    The sender of a ``user`` message is ``user_id``, or the user with ``platform_user_id`` on the
    conversation's platform (a new user with ``sender_name`` if unknown), or the user of the
    request. Any other message belongs to the user it answers: ``user_id``, else the sender
    before it in the request, else the user of the request, else the last sender.
    """

    role: MessageRole = MessageRole.USER
    content: Text = Field(examples=["I moved to Lisbon last week."])
    user_id: UserRef | None = None
    platform_user_id: Key | None = None
    sender_name: Label | None = Field(None, examples=["Ada"])
    sent_at: Instant | None = Field(None, description="Time of the message; now unless given.")
    platform_message_id: Key | None = None
    metadata: Metadata = {}


class Message(BaseModel):
    """A message as stored. ``position`` counts from 1 without gaps."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    conversation_id: UUID
    position: int
    user_id: UUID | None
    role: MessageRole
    sender_name: str
    content: str
    sent_at: datetime
    off_record: bool = Field(
        False, description="Sent while remembering was paused: never recalled or summarised."
    )
    withheld: bool = Field(
        False, description="A forgotten memory rests on it: not recalled, leave it out of prompts."
    )
    platform_message_id: str | None
    metadata: dict[str, Any]


class AppendedMessage(BaseModel):
    """The id and the position of an appended message."""

    id: UUID
    position: int


class AppendResult(BaseModel):
    """The result of an append; a repeated request gets the same one."""

    conversation_id: UUID
    messages: list[AppendedMessage]
    message_count: int
    off_record: bool = Field(
        False,
        description="Remembering is paused here: the messages are never recalled or summarised.",
    )
    guard: list[GuardFinding] = Field(
        [], description="Findings of the guard; blocked content is redacted."
    )
