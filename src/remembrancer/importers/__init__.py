"""Import exports of other systems: check every file first, then store; safe to repeat."""

from remembrancer.importers.counts import ImportResult
from remembrancer.importers.detect import Format
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.importer import Importer
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import Notes
from remembrancer.importers.read import Export, open_export, read

__all__ = [
    "DateOrder",
    "Export",
    "Format",
    "ImportResult",
    "Importer",
    "Notes",
    "Options",
    "Transcript",
    "Turn",
    "open_export",
    "read",
]
