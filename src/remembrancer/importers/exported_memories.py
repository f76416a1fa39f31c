"""What an export of memories is read into. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remembrancer.importers.exported_conversations import digest
from remembrancer.memories.schemas import Category, Kind, Relation

LONGEST_ID = 32


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as it is elsewhere.

    ``key`` is made of its id there, and becomes its id here. ``about`` is whose it is, as the
    platform names them; null for whom the import is for. ``links`` lead to statements that
    come before it.
    """

    key: str
    content: str
    platform: str
    about: str | None = None
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: str | None = None
    at: datetime | None = None
    links: Sequence[tuple[str, Relation]] = ()
    metadata: dict[str, Any] | None = None


def key_of(*parts: str) -> str:
    """Return an id that the same parts always have."""
    return digest(parts)[:LONGEST_ID]
