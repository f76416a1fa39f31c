"""API models of conversations and messages."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypedDict
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from remembrancer.access import Visibility
from remembrancer.guard.schemas import GuardFinding
from remembrancer.text import Instant, Key, Label, Metadata, OptionalLabel, Platform, Text
from remembrancer.user_names import UserRef
from remembrancer.validation import Input

_PREFIX: Final = "platform:"
_NOT_A_MESSAGE: Final = "must be the id of a message, or platform:id with the id of the platform"
_key: Final = TypeAdapter(Key)


class PlatformMessageId(str):
    """The id that a platform gave to a message; unique in its conversation."""

    __slots__ = ()


def parse_message(value: object) -> UUID | PlatformMessageId:
    """Return the id in ``value``; raise ``ValueError`` if there is none."""
    if isinstance(value, UUID | PlatformMessageId):
        return value
    text = value if isinstance(value, str) else ""
    try:
        if text.startswith(_PREFIX):
            return PlatformMessageId(_key.validate_python(text.removeprefix(_PREFIX)))
        return UUID(text)
    except (ValueError, ValidationError):
        raise ValueError(_NOT_A_MESSAGE) from None


MessageRef = Annotated[
    UUID | PlatformMessageId,
    PlainValidator(parse_message),
    WithJsonSchema(
        {
            "type": "string",
            "description": "A message: its id, or `platform:` and the platform's id.",
            "examples": ["platform:1310571"],
        }
    ),
]
"""A message in a request."""

AnyMessage = UUID | str
"""A message as an argument of a method: its id, or ``platform:`` and the platform's id."""


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
    platform: Platform | None = Field(default=None, examples=["discord"])
    platform_conversation_id: Key | None = Field(default=None, examples=["1098"])
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


class ConversationDetails(TypedDict, total=False):
    """The fields of :class:`ConversationCreate`, as keywords. Text does for an enumeration."""

    agent_id: UUID | None
    title: str
    platform: str | None
    platform_conversation_id: str | None
    space_id: UUID | None
    visibility: str
    metadata: Metadata


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
    sender_name: Label | None = Field(default=None, examples=["Ada"])
    sent_at: Instant | None = Field(
        default=None, description="Time of the message; now unless given."
    )
    platform_message_id: Key | None = Field(
        default=None,
        description="The platform's id, unique in the conversation. Sent again, it is the same "
        "message: nothing is appended, and other content edits it.",
    )
    metadata: Metadata = {}


class MessageEdit(Input):
    """The new content of a message."""

    content: Text


class ChatCommand(Input):
    """A message to a bot on a chat platform, which may be a command such as ``/memory list``."""

    platform: Platform = Field(examples=["matrix"])
    platform_user_id: Key = Field(description="Who wrote it; a new user if unknown.")
    display_name: Label = Field(examples=["Ada"])
    chat_id: Key = Field(description="The platform's id of the channel or chat.")
    text: Text = Field(examples=["/memory search tea"])
    private: bool = Field(False, description="Only this user and the bot can read the chat.")
    agent_id: UUID | None = Field(None, description="The agent that the bot is.")
    longest: int = Field(
        2000, ge=100, le=100_000, description="Characters of the longest message of the platform."
    )


class ChatReply(BaseModel):
    """What to send for a command. A message that is no command is for the agent: send nothing."""

    is_command: bool
    private: list[str] = Field([], description="Messages for the user alone: never send to others.")
    file_name: str | None = Field(None, description="Name of a file for the user alone.")
    file: str | None = Field(None, description="Its text.")
    chat: str | None = Field(None, description="What to send to a chat that others read too.")


class Message(BaseModel):
    """A message as stored. ``position`` counts from 1; only deleted messages leave gaps."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    conversation_id: UUID
    position: int
    user_id: UUID | None
    role: MessageRole
    sender_name: str
    content: str
    sent_at: datetime
    edited_at: datetime | None = Field(None, description="Time of the last edit.")
    off_record: bool = Field(
        False, description="Sent while remembering was paused: never recalled or summarised."
    )
    withheld: bool = Field(
        False, description="A forgotten memory rests on it: not recalled, leave it out of prompts."
    )
    platform_message_id: str | None
    metadata: dict[str, Any]


class AppendedMessage(BaseModel):
    """The id and the position of a message, and what the append did."""

    id: UUID
    position: int
    outcome: Literal["appended", "repeated", "edited"] = Field(
        "appended",
        description="`repeated` and `edited`: its platform_message_id was there already, with the "
        "same content or with another.",
    )


class AppendResult(BaseModel):
    """The result of an append; a repeated request gets the same one."""

    conversation_id: UUID
    messages: list[AppendedMessage]
    message_count: int
    off_record: bool = Field(
        False,
        description="Remembering is paused, here or for their owners: the messages are never "
        "recalled or summarised.",
    )
    guard: list[GuardFinding] = Field(
        [], description="Findings of the guard; blocked content is redacted."
    )


class EditResult(BaseModel):
    """An edited message."""

    message: Message
    guard: list[GuardFinding] = Field(
        [], description="Findings of the guard; blocked content is redacted."
    )
