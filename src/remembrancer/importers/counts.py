"""What an import comes to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from remembrancer.importers.users import Known


@dataclass(slots=True)
class ImportResult:
    """Counts of an import: of what is in a file, would be stored, or was.

    ``added`` and ``skipped`` count messages that are new and that were there; ``remembered``
    and ``known`` memories alike. ``evicted`` memories did not fit the budget, ``refused`` ones
    may not be stored.
    """

    conversations: int = 0
    added: int = 0
    skipped: int = 0
    remembered: int = 0
    known: int = 0
    evicted: int = 0
    refused: int = 0
    people: set[Known] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None

    @property
    def total(self) -> int:
        """Messages and memories, whatever becomes of them."""
        return self.added + self.skipped + self.remembered + self.known + self.refused

    def saw(self, times: Iterable[datetime | None]) -> None:
        """Note when things were said."""
        for at in times:
            if at is not None:
                self.first = at if self.first is None else min(self.first, at)
                self.last = at if self.last is None else max(self.last, at)
