"""Rows of associations, and of memories around others."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remembrancer.ids import MemoryKey


@dataclass(frozen=True, slots=True)
class AssociationRow:
    """A row of ``associations``."""

    owner_id: UUID
    memory_id: str
    target_owner_id: UUID
    target_id: str
    relation: str
    weight: float
    shared_space_id: UUID | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A memory as a node shows it."""

    owner_id: UUID
    id: str
    kind: str
    category: str
    subject: str | None
    content: str
    importance: float


@dataclass(frozen=True, slots=True)
class NeighbourRow(NodeRow):
    """A memory one step away from another, by an association."""

    from_owner_id: UUID
    from_id: str
    weight: float
    outgoing: bool

    @property
    def key(self) -> MemoryKey:
        """The memory."""
        return self.owner_id, self.id

    @property
    def source(self) -> MemoryKey:
        """The memory that the step starts from."""
        return self.from_owner_id, self.from_id


@dataclass(frozen=True, slots=True)
class SimilarRow:
    """A memory, and another of the same owner that is like it or on the same subject."""

    memory_id: str
    content: str
    target_id: str
    target_content: str
    similarity: float
    same_subject: bool | None
    later: bool
