"""What can be said of a memory that waits, and what becomes of it."""

from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories.schemas import Category, Kind, MemoryId
from remembrancer.text import Statement

MOST_DECISIONS: Final = 200
"""Decisions in one request."""


class Decision(StrEnum):
    """What is to become of a memory that waits."""

    CONFIRM = "confirm"
    """It is right: recall it."""
    REJECT = "reject"
    """It is not: forget it, and do not find it in the same messages again."""
    SHARE = "share"
    """It is right, and the members of its space may see it."""
    REOPEN = "reopen"
    """It was rejected by mistake: it waits again."""


class ReviewDecision(BaseModel):
    """A decision about one memory."""

    model_config = ConfigDict(extra="forbid")

    memory_id: MemoryId
    decision: Decision
    content: Statement | None = Field(
        None, description="With `confirm` or `share`: in these words instead."
    )
    kind: Kind | None = Field(None, description="With `confirm` or `share`: of this kind.")
    category: Category | None = Field(
        None, description="With `confirm` or `share`: of this category."
    )

    @model_validator(mode="after")
    def _edits_what_it_keeps(self) -> "ReviewDecision":
        if self.edits and self.decision not in {Decision.CONFIRM, Decision.SHARE}:
            raise ValueError("decision: only what is confirmed or shared can be edited")
        return self

    @property
    def edits(self) -> dict[str, Any]:
        """What it is to say instead, by field."""
        given = self.model_dump(include={"content", "kind", "category"}, mode="json")
        return {name: value for name, value in given.items() if value is not None}


class ReviewOutcome(StrEnum):
    """What has become of a memory in a review."""

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    SHARED = "shared"
    UPDATED = "updated"
    """It was a change of another memory, which now says so in a new version."""
    MENTIONED = "mentioned"
    """Another memory says the same, and has been mentioned once more."""
    REOPENED = "reopened"
    """It waits again."""
    REFUSED = "refused"
    """It stays as it was; the reason says why."""
    NOT_FOUND = "not_found"


class ReviewResult(BaseModel):
    """What became of one memory, and which memory now says it."""

    memory_id: str
    outcome: ReviewOutcome
    now: str | None = Field(None, description="Id of the memory that says it now, if one does.")
    reason: str | None = None
    guard: list[GuardFinding] = Field([], description="What was redacted in the new words.")
