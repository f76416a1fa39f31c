"""API models of usage."""

from datetime import date
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field


class UsageKind(StrEnum):
    """What is counted."""

    RECALL = "recall"
    """Recalls and contexts."""
    WRITE = "write"
    """Requests that store, change or forget memories or messages."""
    REFUSAL = "refusal"
    """Recalls and writes that were refused."""
    EVICTION = "eviction"
    """Memories that were evicted."""
    TOKENS = "tokens"
    """Tokens of the contexts that prompts were given."""
    DISK = "disk"
    """Bytes of the database, at its first use of the day."""


class DailyUsage(BaseModel):
    """One kind of usage by one agent on one day."""

    day: date = Field(description="A day in UTC.")
    agent_id: UUID | None = Field(description="Null for requests without an agent, and for disk.")
    agent: str | None = Field(description="The agent's name.")
    kind: UsageKind
    amount: int = Field(description="Requests, memories, tokens or bytes.")
    durations: list[int] = Field(
        description="Of recalls and writes: how many took up to 5, 10, 20, 50, 100, 200, 500, "
        "1,000, 2,000, 5,000 and 10,000 milliseconds, and how many longer."
    )
