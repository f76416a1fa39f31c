"""API models of conversations and messages."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from remembrancer.access import Visibility
from remembrancer.guard.schemas import GuardFinding
from remembrancer.text import Instant, Key, Label, OptionalLabel, Text, storable_json
from remembrancer.validation import Input

Metadata = Annotated[dict[str, Any], AfterValidator(storable_json)]


class MessageRole(StrEnum):
    """Who said it, in the terms of chat models."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ConversationCreate(Input):
    """A new conversation.

    With ``platform_conversation_id`` the call is repeatable: the conversation that has
    this platform id and agent is returned if it exists. In a space, with ``shared``
    visibility, members of the space recall what is said; otherwise each message can be
    recalled by its sender alone.
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
        None, description="Since when nothing that is said here is remembered; null while it is."
    )
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class MessageCreate(Input):
    """Something said.

    The sender of a ``user`` message is ``user_id``, or the person behind
    ``platform_user_id`` on the conversation's platform (made known by
    ``sender_name`` at first sight), or the user the request is for. Any other message
    belongs to the user it answers: ``user_id``, else the last sender before it.
    """

    role: MessageRole = MessageRole.USER
    content: Text = Field(examples=["I moved to Lisbon last week."])
    user_id: UUID | None = None
    platform_user_id: Key | None = None
    sender_name: Label | None = Field(None, examples=["Ada"])
    sent_at: Instant | None = Field(None, description="When it was said; now unless given.")
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
        False, description="Said while remembering was paused: never recalled or summarised."
    )
    platform_message_id: str | None
    metadata: dict[str, Any]


class AppendedMessage(BaseModel):
    """Where a message landed."""

    id: UUID
    position: int


class AppendResult(BaseModel):
    """The answer to an append; the same again when the request is repeated."""

    conversation_id: UUID
    messages: list[AppendedMessage]
    message_count: int
    off_record: bool = Field(
        False, description="Remembering is paused here: read, but never recalled or summarised."
    )
    guard: list[GuardFinding] = Field(
        [], description="What was found in the messages; what policy blocks is redacted."
    )
