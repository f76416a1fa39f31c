"""Transcripts from files: read and checked whole first, then stored, repeatably."""

from remembrancer.importing.importer import Imported, Importer
from remembrancer.importing.reading import Format, read
from remembrancer.importing.transcript import Transcript, Turn

__all__ = ["Format", "Imported", "Importer", "Transcript", "Turn", "read"]
