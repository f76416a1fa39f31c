"""API models of the audit log."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Role
from remembrancer.text import Instant, Key
from remembrancer.user_names import UserRef
from remembrancer.validation import Input


class AuditLine(BaseModel):
    """An action of an actor on ids of a user. Never content."""

    id: UUID
    at: datetime
    user_id: UUID | None = Field(description="Owner of the ids; null for shared knowledge.")
    actor_role: Role
    actor_user_id: UUID | None = Field(description="The user that the actor acted for.")
    actor_agent_id: UUID | None
    actor_key_id: UUID | None
    entry_point: str = Field(examples=["rest"])
    action: str = Field(examples=["memory.update"])
    target_ids: list[str]
    outcome: Literal["done", "refused"]


class AuditFilter(Input):
    """Filters for lines of the audit log."""

    user_id: UserRef | None = Field(default=None, description="Owner of the data.")
    actor_user_id: UserRef | None = None
    action: Key | None = Field(default=None, description="An action or its first part: `memory`.")
    target_id: Key | None = Field(default=None, description="Lines that name this id.")
    outcome: Literal["done", "refused"] | None = None
    entry_point: Key | None = None
    since: Instant | None = None
    until: Instant | None = None
