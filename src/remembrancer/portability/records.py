"""Records of an export, checked: what an import takes. Pure."""

from functools import partial
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, model_validator

from remembrancer.access import Visibility
from remembrancer.conversations.rules import WINDOW
from remembrancer.conversations.schemas import MessageRole
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import (
    Category,
    Importance,
    Kind,
    MemoryFilter,
    MemoryId,
    Relation,
    Review,
)
from remembrancer.records.rules import check_address
from remembrancer.text import (
    Instant,
    Key,
    Label,
    OptionalLabel,
    Prose,
    Statement,
    Text,
    storable_json,
)
from remembrancer.users.schemas import TimeZone

Number = Annotated[int, Field(ge=0, le=2_000_000_000)]
Json = Annotated[dict[str, Any], AfterValidator(partial(storable_json, most=1 << 20))]
"""Values of programs may be larger than what people write beside a memory."""


class Link(BaseModel):
    """A platform link."""

    platform: Key
    platform_user_id: Key


class Preference(BaseModel):
    """What the user chose for an agent."""

    agent_id: UUID
    allow_agent_specific_memory: bool


class Filter(BaseModel):
    """A saved filter."""

    name: Label
    filters: MemoryFilter


class Space(BaseModel):
    """A space that the user is a member of."""

    id: UUID
    name: Label
    description: Prose = ""
    created_at: Instant
    updated_at: Instant
    joined_at: Instant


class Refusal(BaseModel):
    """A space that the user left, or declined to join."""

    space_id: UUID
    declined: bool


class Agent(BaseModel):
    """An agent that other records name."""

    id: UUID
    name: Label


class UserRecord(BaseModel):
    """The user, with what is theirs beside conversations and memories."""

    remembrancer: Literal[1]
    id: UUID
    display_name: Label
    time_zone: TimeZone
    paused_at: Instant | None = None
    platform_links: list[Link] = []
    preferences: list[Preference] = []
    saved_filters: list[Filter] = []
    spaces: list[Space] = []
    space_refusals: list[Refusal] = []
    agents: list[Agent] = []


class PlacementFields(BaseModel):
    """Where a record is."""

    agent_id: UUID | None = None
    space_id: UUID | None = None
    visibility: Visibility = Visibility.PRIVATE


class SummaryRecord(PlacementFields):
    """A summary of some messages; ``stale`` while it is made anew."""

    id: UUID
    range_start: Number
    range_end: Number
    content: Text
    stale: bool = False
    created_at: Instant


class ConversationRecord(PlacementFields):
    """A conversation, with its summaries and without its messages."""

    id: UUID
    title: OptionalLabel = ""
    platform: Key | None = None
    platform_conversation_id: Key | None = None
    message_count: Number = 0
    summarised_to: Number = 0
    paused_at: Instant | None = None
    metadata: Json = {}
    created_at: Instant
    updated_at: Instant
    summaries: list[SummaryRecord] = []

    @model_validator(mode="after")
    def _fits_together(self) -> "ConversationRecord":
        if self.summarised_to > max(self.message_count - WINDOW, 0):
            raise ValueError("summarised_to: is after the messages that may be summarised")
        if len({summary.id for summary in self.summaries}) < len(self.summaries):
            raise ValueError("summaries: must have different ids")
        end = 0
        for summary in self.summaries:
            if not end < summary.range_start <= summary.range_end <= self.summarised_to:
                raise ValueError("summaries: must be in order, apart, and of summarised messages")
            if summary.stale and summary.content:
                raise ValueError("summaries: must have no content while one is stale")
            end = summary.range_end
        return self


class MessageRecord(PlacementFields):
    """A message; ``withheld_by`` are the forgotten memories that rest on it."""

    id: UUID
    conversation_id: UUID
    position: Annotated[Number, Field(ge=1)]
    role: MessageRole
    sender_name: OptionalLabel = ""
    content: Text
    platform: Key | None = None
    platform_message_id: Key | None = None
    off_record: bool = False
    metadata: Json = {}
    sent_at: Instant
    created_at: Instant
    edited_at: Instant | None = None
    withheld_by: list[MemoryId] = []


class SourceFields(BaseModel):
    """Where a statement comes from."""

    source: OptionalLabel = "import"
    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None


class VersionRecord(SourceFields):
    """The content of a memory at one time."""

    version: Number
    content: Text
    recorded_at: Instant
    superseded_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None


class MentionRecord(SourceFields):
    """An occasion on which a memory came up."""

    id: UUID
    wording: Text | None = None
    agent_id: UUID | None = None
    mentioned_at: Instant


class AssociationRecord(BaseModel):
    """An association; without an owner, its target is a memory of the user."""

    target_id: MemoryId
    target_owner_id: UUID | None = None
    relation: Relation
    weight: Importance
    created_at: Instant
    updated_at: Instant


class MemoryRecord(PlacementFields, SourceFields):
    """A memory with its versions, mentions and associations."""

    id: MemoryId
    kind: Kind
    category: Category
    subject: Label | None = None
    content: Statement
    version: Annotated[Number, Field(ge=1)] = 1
    importance: Importance
    status: Literal["active", "inactive", "evicted", "pending"] = "active"
    recalled: bool = True
    review: Review = Review.NONE
    revises: MemoryId | None = None
    pinned: bool = False
    place_id: Key | None = None
    address: list[Text] | None = None
    metadata: Json = {}
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    access_count: Number = 0
    last_accessed_at: Instant | None = None
    created_at: Instant
    updated_at: Instant
    expires_at: Instant | None = None
    external_id: Key | None = None
    versions: list[VersionRecord] = []
    mentions: list[MentionRecord] = []
    associations: list[AssociationRecord] = []

    @model_validator(mode="after")
    def _fits_together(self) -> "MemoryRecord":
        if len({mention.id for mention in self.mentions}) < len(self.mentions):
            raise ValueError("mentions: must have different ids")
        if self.address is not None:
            try:
                check_address(tuple(self.address))
            except InvalidInput as error:
                raise ValueError(f"address: {error.reason}") from None
        if not self.versions:
            return self
        *earlier, last = self.versions
        numbers = [version.version for version in self.versions]
        if numbers != sorted(set(numbers)) or min(numbers) < 1:
            raise ValueError("versions: must be in order, each once")
        current = last.version == self.version and last.content == self.content
        if not current or last.superseded_at is not None:
            raise ValueError("versions: must end with the version and content of the memory")
        if any(version.superseded_at is None for version in earlier):
            raise ValueError("versions: must have superseded_at, but for the last one")
        return self


AnyRecord = UserRecord | ConversationRecord | MessageRecord | MemoryRecord
MODELS: Final[dict[str, type[AnyRecord]]] = {
    "user": UserRecord,
    "conversation": ConversationRecord,
    "message": MessageRecord,
    "memory": MemoryRecord,
}
