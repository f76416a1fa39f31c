"""Rows of users."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class UserRow:
    id: UUID
    display_name: str
    time_zone: str
    allow_agent_specific_memory: bool | None
    toggle_migrated_at: datetime | None
    paused_at: datetime | None
    merged_into: UUID | None
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LinkRow:
    platform: str
    platform_user_id: str
    user_id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PlatformUserRow:
    platform_user_id: str
    id: UUID
    display_name: str


@dataclass(frozen=True, slots=True)
class HeldUser:
    id: UUID
    current_id: UUID
    """The survivor's after a merge."""
    is_paused: bool
    """Nothing is remembered of them."""
