"""Rows of associations, and of memories around others."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remembrancer.ids import MemoryKey


@dataclass(frozen=True, slots=True)
class AssociationRow:
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
    """The columns of a node."""

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
        return self.owner_id, self.id

    @property
    def source(self) -> MemoryKey:
        return self.from_owner_id, self.from_id


@dataclass(frozen=True, slots=True)
class SimilarRow:
    """A memory, and a similar one of the same owner or one on the same subject."""

    memory_id: str
    content: str
    target_id: str
    target_content: str
    similarity: float
    same_subject: bool | None
    later: bool
