"""What people said elsewhere: exports are checked whole first, then stored, repeatably."""

from remembrancer.importing.importer import Importer
from remembrancer.importing.reading import Format, Reading, open_export, read
from remembrancer.importing.records import DateOrder, Notes, Options
from remembrancer.importing.tally import Imported
from remembrancer.importing.transcript import Transcript, Turn

__all__ = [
    "DateOrder",
    "Format",
    "Imported",
    "Importer",
    "Notes",
    "Options",
    "Reading",
    "Transcript",
    "Turn",
    "open_export",
    "read",
]
