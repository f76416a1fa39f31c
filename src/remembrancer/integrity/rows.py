"""Rows of the checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class FoundRow:
    count: int
    id: str


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A memory with what is computed of its content."""

    owner_id: UUID
    id: str
    content: str
    content_hash: bytes
    tokens: int
    subject: str | None
    subject_key: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    place_id: str | None
    address: Sequence[str] | None
    external_id: str | None


@dataclass(frozen=True, slots=True)
class ItemText:
    """A search entry with its text."""

    owner_id: UUID
    id: int
    content_hash: bytes
    traits: int
    terms: str
    length: int
    speaker: str
    content: str | None
