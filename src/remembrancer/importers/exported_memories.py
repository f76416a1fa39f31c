"""A memory as read from an export. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remembrancer.importers.exported_conversations import digest
from remembrancer.importers.parse import Notes
from remembrancer.memories.schemas import Category, Kind, Relation
from remembrancer.text import storable_json

LONGEST_ID = 32


@dataclass(frozen=True, slots=True)
class ExportedMemory:
    """A memory of another system.

    ``key`` is made from the id there and becomes the id here. ``about`` is the platform user id
    of its user; null means the user of the import. ``associations`` lead to memories that come
    before it. ``valid_from`` and ``valid_to`` say when the statement was true.
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
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def __post_init__(self) -> None:
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            object.__setattr__(self, "valid_from", None)


def storable_metadata(
    platform: str, values: Mapping[str, object], notes: Notes
) -> dict[str, object] | None:
    """Return what another system knows of a memory, under names that begin with the system's."""
    known = {f"{platform}_{name}": value for name, value in values.items() if value}
    try:
        return storable_json(known) or None
    except ValueError:
        notes.skip("metadata that cannot be stored")
        return None


def key_of(*parts: str) -> str:
    return digest(parts)[:LONGEST_ID]
