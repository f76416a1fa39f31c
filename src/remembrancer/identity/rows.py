"""Rows of a merge."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """The columns by which two memories are compared."""

    id: str
    content: str
    content_hash: bytes
    kind: str
    agent_id: UUID | None
    space_id: UUID | None
    place_id: str | None
    address: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    status: str
