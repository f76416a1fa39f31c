"""Questions to memory, and answers that explain themselves."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from remembrancer.access import Scope, ScopeSource, Visibility
from remembrancer.associations.schemas import Direction
from remembrancer.memories.schemas import Category, Kind, Relation
from remembrancer.text import Instant, Statement

SourceType = Literal["memory", "message", "chunk"]


class Mode(StrEnum):
    """How recall chooses."""

    HYBRID = "hybrid"
    """What helps with the query: meaning and words together."""
    RECENT = "recent"
    """The latest memories."""
    IMPORTANT = "important"
    """The weightiest memories."""
    TYPED = "typed"
    """Memories of the given kinds, the weightiest first."""


class Sort(StrEnum):
    """Order of the results that were chosen."""

    RELEVANCE = "relevance"
    RECENT = "recent"
    IMPORTANCE = "importance"
    MOST_ACCESSED = "most_accessed"


class RecallQuery(BaseModel):
    """What to recall. Filters apply before anything is ranked."""

    model_config = ConfigDict(extra="forbid")

    query: Statement | None = Field(None, examples=["What does Ada like to drink?"])
    mode: Mode = Mode.HYBRID
    sort: Sort | None = Field(None, description="By relevance, or as the mode implies.")
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    sources: list[SourceType] = Field(
        ["memory", "message"],
        min_length=1,
        description="Summaries (`chunk`) only when asked for: their messages are here as well.",
    )
    kinds: list[Kind] = Field([], description="Memories of these kinds only.")
    categories: list[Category] = Field([], description="Memories of these categories only.")
    conversation_id: UUID | None = None
    space_id: UUID | None = None
    since: Instant | None = Field(None, description="Said or recorded then or later.")
    until: Instant | None = Field(None, description="Said or recorded before then.")
    as_of: Instant | None = Field(
        None, description="Answer with what was known, and held, at that time."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "RecallQuery":
        if self.mode is Mode.HYBRID and self.query is None:
            raise ValueError("query: is needed in hybrid mode")
        if self.mode is Mode.TYPED and not self.kinds:
            raise ValueError("kinds: at least one is needed in typed mode")
        if self.mode is not Mode.HYBRID and self.sort is Sort.RELEVANCE:
            raise ValueError("sort: relevance needs hybrid mode")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("until: must be later than since")
        return self


class ArmReason(BaseModel):
    """What one arm of the search found in a hit."""

    rank: int = Field(description="1 is best.")
    raw: float = Field(
        description="Cosine similarity of the dense arm, BM25 of the keyword arm, strength of the "
        "graph arm's path."
    )
    score: float = Field(
        description="What was ranked: the raw score with what neighbours in the talk lent it; in "
        "the graph arm, with the standing of the memory the path began at."
    )
    lifted_by: int = Field(description="Offset of the neighbour that helped most, 0 for none.")


class Tie(BaseModel):
    """One association, named from its other end."""

    memory_id: str
    relation: Relation
    direction: Direction


class Reasons(BaseModel):
    """Why a hit is where it is."""

    exact: bool = Field(False, description="Its text is the query.")
    arms: dict[str, ArmReason] = {}
    words: list[str] = Field([], description="Terms of the query found in it.")
    path: list[Tie] = Field(
        [],
        description="How the graph arm came to it: each memory on the way, from one that another "
        "arm found, and the association that led on, in the direction seen from there.",
    )


class Hit(BaseModel):
    """Something recalled, with where it comes from."""

    type: SourceType
    id: str = Field(description="Of the memory, message or chunk.")
    content: str
    quoted: bool = Field(
        False,
        description="A memory that reads like an instruction: no more than what somebody said.",
    )
    score: float
    at: datetime = Field(description="When it was said or recorded.")
    user_id: UUID | None = Field(description="Whose it is; null for shared knowledge.")
    agent_id: UUID | None
    space_id: UUID | None
    visibility: Visibility
    conversation_id: UUID | None
    position: int | None = None
    role: str | None = None
    sender_name: str | None = None
    kind: Kind | None = None
    category: Category | None = None
    subject: str | None = None
    importance: float | None = None
    pinned: bool | None = None
    version: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    access_count: int | None = None
    relations: list[Tie] = Field(
        [],
        description="In hybrid mode: which memories it `updates` or `contradicts` (outgoing), or "
        "which do so to it (incoming).",
    )
    reasons: Reasons = Reasons()


class RecallAnswer(BaseModel):
    """The hits, best first, and the scope they were looked for in."""

    hits: list[Hit]
    scope: Scope | None = Field(description="In effect for user and agent; null without an agent.")
    scope_source: ScopeSource | None
