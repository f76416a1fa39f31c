"""A memory as read from an export. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remembrancer.importers.exported_conversations import digest
from remembrancer.memories.schemas import Category, Kind, Relation

LONGEST_ID = 32


@dataclass(frozen=True, slots=True)
class ExportedMemory:
    """A memory of another system.

    ``key`` is made from the id there and becomes the id here. ``about`` is the platform user id
    of its user; null means the user of the import. ``associations`` lead to memories that come
    before it.
    """

    key: str
    content: str
    platform: str
    about: str | None = None
    kind: Kind = Kind.FACT
    category: Category = Category.OTHER
    subject: str | None = None
    at: datetime | None = None
    associations: Sequence[tuple[str, Relation]] = ()
    metadata: dict[str, Any] | None = None


def key_of(*parts: str) -> str:
    return digest(parts)[:LONGEST_ID]
