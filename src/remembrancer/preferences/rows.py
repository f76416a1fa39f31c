"""Rows of preferences and of the policy."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remembrancer.access import ScopeFacts


@dataclass(frozen=True, slots=True)
class ScopeRow(ScopeFacts):
    user_id: UUID
    agent_id: UUID


@dataclass(frozen=True, slots=True)
class PreferenceKeyRow:
    user_id: UUID
    agent_id: UUID


@dataclass(frozen=True, slots=True)
class ChangeRow(PreferenceKeyRow):
    is_new: bool


@dataclass(frozen=True, slots=True)
class PolicyRow:
    singleton: bool
    allow_agent_specific_memory: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CellRow:
    """The number of users with one value of the toggle and these numbers of agents.

    ``off_global``: agents with a preference that is off, and a global default.
    """

    toggle: bool | None
    off_global: int
    off_agent: int
    on_global: int
    on_agent: int
    none_global: int
    none_agent: int
    users: int
