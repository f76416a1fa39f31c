"""Records, as programs write and read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from remembrancer.memories.schemas import Category, Kind

Address = tuple[str, ...]
"""The address of a record: the name of the program, then names from the widest on."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record."""

    address: Address
    memory_id: str
    user_id: UUID
    content: str
    """The text for recall and context."""
    metadata: Mapping[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    """Score for the query of a search; null if it was not ranked."""


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """A write to a record, whether or not it exists."""

    address: Address
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    ttl: float | None = None
    """Time to live in minutes, from the last write or refreshing read."""
    recalled: bool = True
    """Whether recall and prompts have it."""
    expected_version: int | None = None
    """The version that it must have, 0 for a new record; null for any."""
    alone: bool = False
    """Whether no other record may be above or below it, like a file among directories."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Writes and removals, all or none."""

    writes: Sequence[RecordWrite] = ()
    removals: Sequence[Address] = ()
