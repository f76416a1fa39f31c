"""Counts of an import."""

from dataclasses import dataclass, field
from datetime import datetime

from remembrancer.importers.users import PlatformId


@dataclass(slots=True)
class ImportResult:
    """Counts of an import: skipped items exist already; a limit or the guard refuses others."""

    conversations: int = 0
    messages_added: int = 0
    messages_edited: int = 0
    messages_skipped: int = 0
    memories_added: int = 0
    memories_skipped: int = 0
    memories_evicted: int = 0
    memories_refused: int = 0
    people: set[PlatformId] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None

    @property
    def memories(self) -> int:
        return self.memories_added + self.memories_skipped + self.memories_refused

    @property
    def total(self) -> int:
        return self.messages_added + self.messages_edited + self.messages_skipped + self.memories

    def add_time(self, at: datetime | None) -> None:
        if at is not None:
            self.first = min(at, self.first or at)
            self.last = max(at, self.last or at)
