"""Records as the program that keeps them gives and gets them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from remembrancer.memories.schemas import Category, Kind

Address = tuple[str, ...]
"""What a record is known by: the program that keeps it, then names, from the widest on."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as stored."""

    address: Address
    memory_id: str
    user_id: UUID
    content: str
    """What recall and context have of it."""
    metadata: Mapping[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    """How well it answers the question it was searched by; null for one that was not ranked."""


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """What a record shall be from now on."""

    address: Address
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    ttl: float | None = None
    """Minutes after which it is forgotten, counted from the last write or refreshing read."""
    recalled: bool = True
    """Whether recall may find it; it is read by its address in any case."""
    expected_version: int | None = None
    """The version it must be at, 0 if it must not be there yet; null for whichever."""
    alone: bool = False
    """Whether no other record may lie above or below it, as with files and directories."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is done at once, or not at all."""

    writes: Sequence[RecordWrite] = ()
    removals: Sequence[Address] = ()
