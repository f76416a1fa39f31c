"""Rows of memories, their versions and their mentions.

``status``, ``review``, ``visibility``, ``kind`` and ``category`` hold values of the enums of the
same name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Columns of the origin of a statement."""

    source: str
    platform: str | None
    conversation_id: UUID | None
    message_id: UUID | None


@dataclass(frozen=True, slots=True)
class MemoryRow(SourceRow):
    owner_id: UUID
    id: str
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    kind: str
    category: str
    subject: str | None
    subject_key: str | None
    content: str
    content_hash: bytes
    tokens: int
    version: int
    importance: float
    status: str
    recalled: bool
    in_use: bool
    review: str
    revises: str | None
    pinned: bool
    place_id: str | None
    address: Sequence[str] | None
    metadata: dict[str, Any]
    valid_from: datetime | None
    valid_to: datetime | None
    mention_count: int
    access_count: int
    last_accessed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    forgotten_at: datetime | None
    expires_at: datetime | None
    external_id: str | None
    quoted: bool
    """Whether it reads like an instruction."""


@dataclass(frozen=True, slots=True)
class VersionRow(SourceRow):
    owner_id: UUID
    memory_id: str
    version: int
    content: str
    recorded_at: datetime
    superseded_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class MentionRow(SourceRow):
    owner_id: UUID
    memory_id: str
    id: UUID
    wording: str | None
    agent_id: UUID | None
    mentioned_at: datetime


@dataclass(frozen=True, slots=True)
class CitationRow:
    """A conversation and a message that a memory cites, and whether the actor has them."""

    conversation_id: UUID | None
    message_id: UUID | None
    has_conversation: bool
    has_message: bool
