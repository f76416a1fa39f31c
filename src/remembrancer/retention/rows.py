"""Keys of old rows."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class OldMessage:
    conversation_id: UUID
    id: UUID


@dataclass(frozen=True, slots=True)
class OldMemory:
    owner_id: UUID
    id: str
