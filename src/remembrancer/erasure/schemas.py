"""What is said of an erasure."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from remembrancer.access import Role

What = Literal["user", "memories", "memory", "message", "messages"]


class Receipt(BaseModel):
    """What was deleted for good, or would be."""

    what: What
    user_id: UUID | None = Field(description="Whose it was; null for shared knowledge.")
    target_id: str = Field(description="The id of what was erased.")
    dry_run: bool = Field(description="True: nothing was deleted, this is what would be.")
    rows: dict[str, int] = Field(
        description="Deleted rows by table; tables without any are left out.",
        examples=[{"memories": 12, "memory_versions": 15}],
    )
    total: int
    at: datetime
    actor_role: Role = Field(description="Who asked, in which role.")
    actor_user_id: UUID | None = Field(description="For whom the actor acted.")
    actor_key_id: UUID | None = Field(description="The API key; null where none is needed.")
