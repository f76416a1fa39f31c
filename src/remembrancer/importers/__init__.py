"""Import exports of other systems: check every file first, then store; safe to repeat."""

from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.exports import Export, Format, open_export, read_export
from remembrancer.importers.importer import Importer
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import Notes

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
    "read_export",
]
