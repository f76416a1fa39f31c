"""API models of the audit log."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Role
from remembrancer.text import Instant, Key
from remembrancer.validation import Input


class AuditLine(BaseModel):
    """Who did what to which ids of whom, in which role and from where. Never content."""

    id: UUID
    at: datetime
    user_id: UUID | None = Field(description="Whose ids they are; null for shared knowledge.")
    actor_role: Role
    actor_user_id: UUID | None = Field(description="For whom the actor acted.")
    actor_agent_id: UUID | None
    actor_key_id: UUID | None
    entry_point: str = Field(examples=["rest"])
    action: str = Field(examples=["memory.update"])
    target_ids: list[str]
    outcome: Literal["done", "refused"]


class AuditFilter(Input):
    """Filters for lines of the audit log."""

    user_id: UUID | None = Field(None, description="Whose data.")
    actor_user_id: UUID | None = None
    action: Key | None = Field(None, description="An action or its first part: `memory`.")
    target_id: Key | None = Field(None, description="Lines that name this id.")
    outcome: Literal["done", "refused"] | None = None
    entry_point: Key | None = None
    since: Instant | None = None
    until: Instant | None = None
