"""Rows of the digest and of origins."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class OriginRow:
    owner_id: UUID
    memory_id: str
    at: datetime
    source: str
    agent: str | None
    conversation_id: UUID | None
    title: str | None
    platform: str | None
    message_id: UUID | None
    words: str | None
    sender: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class TalkRow:
    id: UUID
    title: str
    platform: str | None


@dataclass(frozen=True, slots=True)
class AccessRow:
    agent: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class HubRow:
    id: str
    count: int


@dataclass(frozen=True, slots=True)
class DigestRow:
    """A memory of the part ``new``, ``expiring`` or ``forgotten``."""

    part: str
    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AgentCountRow:
    agent: str | None
    today: int
    week: int
