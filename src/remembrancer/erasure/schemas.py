"""Answers of the API on erasures."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Role

What = Literal["user", "memories", "memory", "message", "messages", "conversation"]


class Receipt(BaseModel):
    """The rows that were deleted for good, or would be."""

    what: What
    user_id: UUID | None = Field(description="The owner; null for shared knowledge.")
    target_id: str = Field(
        description="The id of the erased user, memory, message or conversation."
    )
    dry_run: bool = Field(description="True: nothing was deleted; these rows would be.")
    rows: dict[str, int] = Field(
        description="Deleted rows by table; tables without deleted rows are left out.",
        examples=[{"memories": 12, "memory_versions": 15}],
    )
    total: int
    at: datetime
    actor_role: Role = Field(description="The role of the actor.")
    actor_user_id: UUID | None = Field(description="The user that the actor acted for.")
    actor_key_id: UUID | None = Field(description="The API key; null without one.")
