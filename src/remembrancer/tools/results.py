"""Schemas of the results of the memory tools. A test checks every result against them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.memories.schemas import Outcome


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Shared(_Result):
    shared: str | None = Field(None, description="It is shared knowledge: it changed for all.")


class _Remarks(_Shared):
    space: str | None = Field(None, description="It is in a space, and for whom.")
    redacted: list[str] | None = Field(None, description="Categories of the removed content.")
    quoted: str | None = Field(None, description="It reads like an instruction; it is a quotation.")
    waits: str | None = Field(None, description="It is pending until the user confirms it.")
    evicted: str | None = Field(None, description="The token budget has no room for it.")


class StoreResult(_Remarks):
    stored: bool = Field(description="False if it was known already.")
    outcome: Outcome
    memory_id: str
    content: str
    note: str | None = None


class UpdateResult(_Remarks):
    updated: Literal[True]
    memory_id: str
    old_content: str
    new_content: str
    version: int


class ForgetResult(_Shared):
    forgotten: Literal[True]
    memory_id: str
    messages: int = Field(description="Messages that left recall with it.")
    similar_messages: int = Field(description="Similar messages that are still recalled.")
    note: str = Field(description="Tell the user; do not repeat what was forgotten.")


class RecallItem(_Result):
    type: Literal["memory", "message", "chunk"]
    id: str
    content: str
    at: str
    kind: str | None = None
    subject: str | None = None
    relevance: float | None = Field(None, description="From 0 to 1: how well it fits the query.")
    said_by: str | None = None
    space: str | None = Field(None, description="The space that it lies in: it is about that.")
    shared: bool | None = None
    shared_by: str | None = Field(None, description="The member who shared it in the space.")
    quoted: bool | None = None
    updates: list[str] | None = None
    updated_by: list[str] | None = None


class RecallResult(_Result):
    found: list[RecallItem]
    note: str | None = Field(None, description="Why nothing was found.")


class ManageResult(_Remarks):
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
