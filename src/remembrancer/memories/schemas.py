"""Memories as a client sends and gets them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from remembrancer.access import Scope, ScopeSource, Visibility
from remembrancer.guard.schemas import GuardFinding
from remembrancer.paging import CountedPage
from remembrancer.text import Instant, Key, Label, Statement, storable_json
from remembrancer.validation import Input, Update

Metadata = Annotated[dict[str, Any], AfterValidator(storable_json)]
Importance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MemoryId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64, pattern="^[0-9A-Za-z]+$"),
    Field(examples=["a1B2c3D4"]),
]


class Kind(StrEnum):
    """How a memory behaves."""

    IDENTITY = "identity"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    GOAL = "goal"
    TODO = "todo"
    EVENT = "event"
    OBSERVATION = "observation"
    PLACE = "place"


class Category(StrEnum):
    """What a memory is about; groups the prompt."""

    PERSON = "person"
    PREFERENCE = "preference"
    CONTEXT = "context"
    PROJECT = "project"
    PERSONALITY = "personality"
    HOBBY = "hobby"
    RELATIONSHIP = "relationship"
    MILESTONE = "milestone"
    OCCUPATION = "occupation"
    HABIT = "habit"
    OTHER = "other"


class Status(StrEnum):
    """Where a memory is in its life."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    EVICTED = "evicted"
    FORGOTTEN = "forgotten"
    PENDING = "pending"
    """Waits for its owner: neither recalled nor in any list that does not ask for it."""


class Review(StrEnum):
    """What its owner has said of a memory that somebody or something else wrote."""

    NONE = "none"
    """Nobody was asked."""
    PENDING = "pending"
    """They are to look at it. An instruction is in use meanwhile, for them alone."""
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    """It is forgotten, and does not come back from the same messages."""


class Outcome(StrEnum):
    """What became of a statement that was sent to be remembered."""

    CREATED = "created"
    MENTIONED = "mentioned"
    """It was known already: the memory gained a mention."""
    SIMILAR = "similar"
    """A memory on its subject exists and should perhaps be updated; nothing was stored."""
    REFUSED = "refused"
    """It holds what may not be stored or shared; nothing was stored."""


class Relation(StrEnum):
    """How one memory stands to another."""

    RELATED_TO = "related_to"
    UPDATES = "updates"
    CONTRADICTS = "contradicts"
    CAUSED_BY = "caused_by"
    RESULT_OF = "result_of"
    PART_OF = "part_of"


class AssociationCreate(Input):
    """An association from a memory to another; made again, it gets the new weight."""

    target_id: MemoryId
    relation: Relation = Relation.RELATED_TO
    weight: Importance = Field(0.5, description="How strong it is, from 0 to 1.")


class Suggestion(BaseModel):
    """An association that could be made to a memory like this one, and why."""

    target_id: str
    relation: Relation
    similarity: float = Field(description="Cosine similarity of the two, up to 1.")
    content: str = Field(description="What the other memory says.")


class SortBy(StrEnum):
    """Order of a list of memories."""

    RECENT = "recent"
    IMPORTANCE = "importance"
    MOST_ACCESSED = "most_accessed"


def _check_interval(valid_from: datetime | None, valid_to: datetime | None) -> None:
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise ValueError("valid_to: must be later than valid_from")


class MemoryCreate(Input):
    """A statement to remember."""

    content: Statement = Field(examples=["Ada prefers tea over coffee."])
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: Label | None = Field(None, examples=["Ada"])
    importance: Importance | None = Field(None, description="By kind, unless given.")
    scope: Scope | None = Field(
        None, description="Where to keep it; the scope in effect for the agent unless given."
    )
    shared: bool = Field(False, description="Keep it as shared knowledge, nobody's in particular.")
    space_id: UUID | None = None
    visibility: Visibility = Visibility.PRIVATE
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    pinned: bool = False
    place_id: Key | None = Field(
        None, description="Of a place: what tells it from every other place of this user."
    )
    metadata: Metadata = {}
    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    allow_similar: bool = Field(
        False, description="Store it even if a memory on the same subject exists."
    )
    pending: bool = Field(
        False, description="Keep it out of recall and lists until its user confirms it."
    )
    revises: MemoryId | None = Field(
        None,
        description="With `pending`: the memory it becomes a new version of once confirmed.",
    )
    associations: list[AssociationCreate] = Field(
        [], max_length=50, description="Memories to associate it with."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "MemoryCreate":
        _check_interval(self.valid_from, self.valid_to)
        if self.shared and self.space_id is not None:
            raise ValueError("shared: shared knowledge lies in no space")
        if self.visibility is Visibility.SHARED and self.space_id is None:
            raise ValueError("visibility: only a memory in a space can be shared")
        if self.place_id is not None and (self.kind is not Kind.PLACE or self.subject is None):
            raise ValueError("place_id: needs kind place, and the name of the place as subject")
        if self.pending and self.shared:
            raise ValueError("pending: shared knowledge has nobody to confirm it")
        if self.revises is not None and not self.pending:
            raise ValueError("revises: is for what waits; update the memory instead")
        return self


class MemoryUpdate(Update):
    """A new version of a memory. Fields that are left out stay as they are.

    New content starts with no interval and no source, unless they are given too.
    """

    nullable = frozenset(
        {"subject", "valid_from", "valid_to", "conversation_id", "message_id", "expected_version"}
    )

    content: Statement | None = Field(None, examples=["Ada prefers coffee now."])
    kind: Kind | None = None
    category: Category | None = None
    subject: Label | None = None
    importance: Importance | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    metadata: Metadata | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    expected_version: int | None = Field(None, ge=1, le=2_000_000_000)

    @model_validator(mode="after")
    def _changes_something(self) -> "MemoryUpdate":
        _check_interval(self.valid_from, self.valid_to)
        if not self.model_fields_set - {"expected_version"}:
            raise ValueError("content: nothing to change was given")
        return self


class Memory(BaseModel):
    """A memory with its current version."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(examples=["a1B2c3D4"])
    user_id: UUID | None = Field(description="Whose it is; null for shared knowledge.")
    agent_id: UUID | None = Field(description="The one agent that uses it; null for every agent.")
    space_id: UUID | None
    visibility: Visibility
    kind: Kind
    category: Category
    subject: str | None
    content: str
    quoted: bool = Field(
        False,
        description="It reads like an instruction: no more than what somebody said.",
    )
    version: int
    importance: float
    status: Status
    review: Review
    revises: str | None = Field(
        None, description="What it is to be a new version of, where it waits to be confirmed."
    )
    pinned: bool
    tokens: int = Field(description="Of the content, as a budget counts them (cl100k_base).")
    place_id: str | None = Field(description="Of a place: what tells it from every other.")
    notes: str | None = Field(description="Of a place: what is said beside its name.")
    address: list[str] | None = Field(
        None, description="Of a record: what the program that keeps it knows it by."
    )
    metadata: dict[str, Any]
    valid_from: datetime | None
    valid_to: datetime | None
    source: str
    platform: str | None
    conversation_id: UUID | None
    message_id: UUID | None
    mention_count: int
    access_count: int
    last_accessed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class MemoryUpdateResult(Memory):
    """A memory after an update, and what the guard found in the new words."""

    guard: list[GuardFinding] = []


class MemoryVersion(BaseModel):
    """The content of a memory at one time, and when it was known and held."""

    model_config = ConfigDict(from_attributes=True)

    version: int
    content: str
    recorded_at: datetime
    superseded_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    source: str
    conversation_id: UUID | None
    message_id: UUID | None


class Mention(BaseModel):
    """One time a memory came up. ``wording`` is set where it was said differently."""

    model_config = ConfigDict(from_attributes=True)

    mentioned_at: datetime
    wording: str | None
    source: str
    platform: str | None
    agent_id: UUID | None
    conversation_id: UUID | None
    message_id: UUID | None


class MemoryHistory(Memory):
    """A memory with every version, oldest first, and its latest 100 mentions."""

    versions: list[MemoryVersion]
    mentions: list[Mention]


class RememberResult(BaseModel):
    """What became of a statement, and where it was kept."""

    outcome: Outcome
    memory: Memory
    scope: Scope
    scope_source: ScopeSource | None = Field(
        description="What decided the scope; null where no agent was named."
    )
    scope_changed: bool = Field(
        False, description="Agent scope was asked for, but global scope is in effect."
    )
    suggestions: list[Suggestion] = Field(
        [], description="Associations that could be made from a new memory; none was."
    )
    guard: list[GuardFinding] = Field(
        [], description="What was found in it and redacted; what is blocked is not stored."
    )


class RememberRefusal(BaseModel):
    """Why a statement was not stored; never its text."""

    outcome: Literal[Outcome.REFUSED] = Outcome.REFUSED
    memory: None = None
    field: str = Field(examples=["content"])
    reason: str = Field(examples=["seems to hold a card number; remove it"])
    guard: list[GuardFinding]


class SourcedMemory(BaseModel):
    """A memory that came up in a conversation, and the message it came up in, if known."""

    memory: Memory
    message_id: UUID | None


class MemoryFilter(Input):
    """Which memories to list."""

    kinds: list[Kind] = []
    categories: list[Category] = []
    subject: Label | None = None
    space_id: UUID | None = None
    statuses: list[Status] = [Status.ACTIVE]
    reviews: list[Review] = Field([], description="What was said of it in a review.")
    source: Key | None = Field(None, description="How it came in, such as `extraction`.")
    pinned: bool | None = None
    scope: Scope | None = Field(
        None, description="`agent`: specific to one agent; `global`: usable by every agent."
    )
    kept_for: UUID | None = Field(None, description="Specific to this agent.")
    text: Label | None = Field(None, description="A part of the content, in any case.")
    sort: SortBy = SortBy.RECENT


class MemoryPage(CountedPage[Memory]):
    """One page of memories; ``total`` counts all that match. In JSON its items are ``memories``."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    items: list[Memory] = Field(alias="memories")


class EvictionCandidate(BaseModel):
    """A memory that would go."""

    id: str
    kind: Kind
    status: Status
    content: str
    tokens: int
    importance: float = Field(description="What is left of it now, from 0 to 1.")
    created_at: datetime


class BudgetPreview(BaseModel):
    """How much of a user's budget is used, and what would go for more."""

    budget: int = Field(description="Tokens that a user's memories may have; 0 is no limit.")
    used: int = Field(description="Tokens of what is active or inactive, spaces left out.")
    pinned: int = Field(description="Of these, pinned: they never go.")
    adding: int = Field(description="The further tokens that were asked about.")
    would_go: list[EvictionCandidate] = Field(
        description="What would be evicted for them, in order."
    )
