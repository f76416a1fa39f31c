"""Rows of spaces."""

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
