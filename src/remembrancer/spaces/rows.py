"""Rows of spaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SpaceRow:
    id: UUID
    name: str
    description: str
    created_by: UUID
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MembershipRow:
    user_id: UUID
    space_id: UUID
    role: str
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceNames:
    """Names of a user's spaces, and of the authors of what is shared there, by id."""

    spaces: Mapping[str, str] | None = None
    authors: Mapping[str, str] | None = None

    def space(self, space_id: UUID | None) -> str | None:
        """Return the name of a space; null for a space that the user has left."""
        return (self.spaces or {}).get(str(space_id))

    def author(self, owner_id: UUID, *, shared: bool, reader: UUID | None) -> str | None:
        """Return the name of the author of a shared item, unless it is the reader."""
        if not shared or owner_id == reader:
            return None
        return (self.authors or {}).get(str(owner_id))
