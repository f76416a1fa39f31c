"""Rows of a merge."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """The columns by which two memories are compared."""

    id: str
    content_hash: bytes
    agent_id: UUID | None
    space_id: UUID | None
    place_id: str | None
    address: str | None
    status: str
