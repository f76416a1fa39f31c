"""Request and response models of review."""

from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, Field, model_validator

from remembrancer.guard.schemas import GuardFinding
from remembrancer.memories.schemas import Category, Kind, MemoryId
from remembrancer.text import Statement
from remembrancer.validation import Input

MOST_DECISIONS: Final = 200
"""The most decisions of one request."""


class Decision(StrEnum):
    """A decision about a pending memory.

    `confirm`: it is right; recall it. `reject`: it is wrong; forget it, and do not extract it from
    the same messages again. `share`: it is right, and the members of its space may see it.
    `reopen`: it was rejected by mistake; make it pending again.
    """

    CONFIRM = "confirm"
    REJECT = "reject"
    SHARE = "share"
    REOPEN = "reopen"


class ReviewDecision(Input):
    """A decision about one memory."""

    memory_id: MemoryId
    decision: Decision
    content: Statement | None = Field(
        default=None, description="New content, with `confirm` or `share`."
    )
    kind: Kind | None = Field(default=None, description="New kind, with `confirm` or `share`.")
    category: Category | None = Field(
        default=None, description="New category, with `confirm` or `share`."
    )

    @model_validator(mode="after")
    def _check_edits(self) -> "ReviewDecision":
        if self.edits and self.decision not in {Decision.CONFIRM, Decision.SHARE}:
            raise ValueError("decision: must be confirm or share to change the memory")
        return self

    @property
    def edits(self) -> dict[str, Any]:
        """New values, by field."""
        given = self.model_dump(include={"content", "kind", "category"}, mode="json")
        return {name: value for name, value in given.items() if value is not None}


class ReviewOutcome(StrEnum):
    """The outcome of a decision.

    `updated`: the memory was a change of another one, which has a new version now. `mentioned`:
    another memory has the same statement, and got a mention. `reopened`: the memory is pending
    again. `refused`: it did not change; see the reason.
    """

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    SHARED = "shared"
    UPDATED = "updated"
    MENTIONED = "mentioned"
    REOPENED = "reopened"
    REFUSED = "refused"
    NOT_FOUND = "not_found"


class ReviewResult(BaseModel):
    """The outcome for one memory, and the memory that has its statement now."""

    memory_id: str
    outcome: ReviewOutcome
    now: str | None = Field(
        None, description="Id of the memory that has the statement now, if any."
    )
    reason: str | None = None
    guard: list[GuardFinding] = Field([], description="Redactions in the new content.")
