"""Rows of spaces."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A space."""

    id: UUID
    name: str
    description: str
    created_by: UUID
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class UserSpaceRow(SpaceRow):
    """A space with the role of one of its members."""

    role: str
    member_count: int


@dataclass(frozen=True, slots=True)
class MembershipRow:
    """A membership."""

    user_id: UUID
    space_id: UUID
    role: str
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class MemberRow(MembershipRow):
    """A membership with the user's name."""

    display_name: str
