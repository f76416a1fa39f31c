"""What people said elsewhere: exports are checked whole first, then stored, repeatably."""

from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.importer import Importer
from remembrancer.importers.parse import DateOrder, Notes, Options
from remembrancer.importers.read import Format, Reading, open_export, read

__all__ = [
    "DateOrder",
    "Format",
    "ImportResult",
    "Importer",
    "Notes",
    "Options",
    "Reading",
    "Transcript",
    "Turn",
    "open_export",
    "read",
]
