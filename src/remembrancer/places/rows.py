"""Rows of places."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PlaceMentionRow:
    owner_id: UUID
    memory_id: str
    conversation_id: UUID | None
    message_id: UUID | None
    mentioned_at: datetime
