"""Places as a client sends and gets them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field

from remembrancer.access import Scope, ScopeSource
from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories.schemas import Outcome, Status
from remembrancer.text import Key, Label, Prose, not_blank
from remembrancer.validation import Input

SpotMention = tuple[str, datetime]
"""The message that a place came up in, empty if it is not known, and when."""
Mentions = dict[str, list[SpotMention]]
"""Mentions by conversation id; those outside of any under the empty string."""

Notes = Annotated[Prose, AfterValidator(not_blank)]


class PlaceMention(Input):
    """Where a place came up."""

    platform: Key | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None


class PlaceCreate(PlaceMention):
    """A place to remember, and where it came up."""

    place_id: Key = Field(
        description="What tells it from every other place of this user; any id will do.",
        examples=["home"],
    )
    place_name: Label = Field(examples=["Home"])
    notes: Notes | None = Field(None, examples=["123 Main St, Seattle"])


class PlaceUpdate(Input):
    """What a place is called, and what is to be known of it, from now on."""

    place_name: Label
    notes: Notes | None = None
    expected_version: int | None = Field(None, ge=1, le=2_000_000_000)


class Place(BaseModel):
    """A place with its latest mentions."""

    place_id: str
    place_name: str
    notes: str | None
    mentioned_in: Mentions = Field(
        description="The latest 100 mentions, by conversation: message and time, oldest first."
    )
    mention_count: int
    added_at: datetime
    memory_id: str = Field(description="Of the memory that the place is.")
    user_id: UUID | None = Field(description="Whose it is; null for shared knowledge.")
    agent_id: UUID | None
    status: Status
    quoted: bool = Field(description="It reads like an instruction: no more than what was said.")


class PlaceResult(BaseModel):
    """What became of a place that was sent, and where it was kept."""

    outcome: Outcome
    place: Place
    scope: Scope
    scope_source: ScopeSource | None
    guard: list[GuardFinding] = []
