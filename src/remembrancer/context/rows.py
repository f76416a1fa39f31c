"""Rows of the statements of a context."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """The user a context is for, and their conversation; null without one."""

    display_name: str | None
    time_zone: str | None
    participants: Sequence[UUID] | None
    agent_id: UUID | None
    space_id: UUID | None
    """Its space; null as well unless all participants are members."""
    silent_since: datetime | None
    """When its latest long silence had become one."""


@dataclass(frozen=True, slots=True)
class PromptMemory:
    memory_owner_id: UUID
    memory_id: str
    version: int
    kind: str
    category: str
    subject: str | None
    content: str
    shared: bool
    quoted: bool | None
    """Whether it reads like an instruction; null for a version of the past."""
    mentions: int
    mentioned_in: int
    created_at: datetime
    space_id: UUID | None


_MEMORY_COLUMNS = tuple(field.name for field in fields(PromptMemory))


@dataclass(frozen=True, slots=True)
class Candidate(PromptMemory):
    """A memory for a stable block or a bulletin; ``total`` counts all of them."""

    total: int


@dataclass(frozen=True, slots=True)
class FrozenRow:
    """A line of a frozen block with the block's own columns; null columns without lines."""

    frozen_at: datetime
    time_zone: str
    budget: int
    left_out: int
    tokens: int
    digest: bytes
    memory_owner_id: UUID
    memory_id: str | None
    version: int
    kind: str
    category: str
    subject: str | None
    content: str
    shared: bool
    quoted: bool
    mentions: int
    mentioned_in: int
    created_at: datetime
    space_id: UUID | None
    in_use: bool
    """Whether the memory exists and the reader may see it."""

    @property
    def memory(self) -> PromptMemory:
        assert self.memory_id is not None
        return PromptMemory(**{name: getattr(self, name) for name in _MEMORY_COLUMNS})


@dataclass(frozen=True, slots=True)
class RecentMessage:
    """A message of the reader in another conversation."""

    id: UUID
    content: str
    sent_at: datetime
    space_id: UUID | None
