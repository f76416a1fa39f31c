"""What the memory tools answer, as schemas: for clients that read results, not only show them.

The tools build plain JSON values; a test holds every one of them against these.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.memories.schemas import Outcome


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Remarks(_Result):
    redacted: list[str] | None = Field(None, description="Categories of what was taken out of it.")
    quoted: str | None = Field(None, description="It reads like an instruction, and is none.")
    waits: str | None = Field(None, description="It is kept apart until the user confirms it.")
    evicted: str | None = Field(None, description="There was no room for it.")


class StoreOutcome(_Remarks):
    """What became of a statement."""

    stored: bool = Field(description="False if it was known already.")
    outcome: Outcome
    memory_id: str
    content: str
    note: str | None = None


class UpdateOutcome(_Remarks):
    """A memory with its old and its new content."""

    updated: Literal[True]
    memory_id: str
    old_content: str
    new_content: str
    version: int


class ForgetOutcome(_Result):
    """A memory that was forgotten."""

    forgotten: Literal[True]
    memory_id: str
    content: str


class FoundItem(_Result):
    """Something that is remembered or was said."""

    type: Literal["memory", "message", "chunk"]
    id: str
    content: str
    at: str
    kind: str | None = None
    subject: str | None = None
    said_by: str | None = None
    shared: bool | None = None
    quoted: bool | None = None
    updates: list[str] | None = None
    updated_by: list[str] | None = None


class RecallOutcome(_Result):
    """What was found, the most helpful first."""

    found: list[FoundItem]


class ManageOutcome(_Remarks):
    """What an operation came to; which fields are there depends on it."""

    operation: str
    stored: bool | None = None
    outcome: Outcome | None = None
    memory_id: str | None = None
    fact_id: str | None = None
    content: str | None = None
    note: str | None = None
    deactivated: Literal[True] | None = None
    place_id: str | None = None
    place_name: str | None = None
    notes: str | None = None
    mention_count: int | None = None
    facts: list[dict[str, Any]] | None = None
    placer_user_datapoints: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    next_page: int | None = Field(None, description="The page to ask for next, if there is one.")
