"""Rows of the digest, origins, the graph, the timeline, what agents read, and names."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from remembrancer.access import ScopeFacts
from remembrancer.associations.rows import AssociationRow


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
    message_removed: bool


@dataclass(frozen=True, slots=True)
class TalkRow:
    id: UUID
    title: str
    platform: str | None


@dataclass(frozen=True, slots=True)
class AgentRow(ScopeFacts):
    """An agent, with what decides the scope of the user with it."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class AccessRow:
    agent: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """How many memories lie in one placement; ``joined``: its space is one of the user's."""

    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    joined: bool
    count: int


@dataclass(frozen=True, slots=True)
class UseRow:
    agent_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class PartRow:
    """A memory of the part ``left``, ``right`` or ``both``; ``count`` is of the whole part."""

    part: str
    id: str
    count: int


@dataclass(frozen=True, slots=True)
class NameRow:
    id: UUID
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class PersonRow:
    id: UUID
    display_name: str
    links: list[str]
    """Each as ``platform:id``; empty for those who may not see them."""


@dataclass(frozen=True, slots=True)
class EdgeRow(AssociationRow):
    """An association with what a picture shows of its ends."""

    category: str
    content: str
    importance: float
    target_category: str
    target_content: str
    target_importance: float
    total: int


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A memory of the part ``known``, ``learnt``, ``changed`` or ``forgotten``."""

    part: str
    id: str
    content: str
    content_then: str | None
    known_now: bool
    at: datetime
    total: int


@dataclass(frozen=True, slots=True)
class DayRow:
    day: date
    learnt: int
    changed: int
    forgotten: int


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
