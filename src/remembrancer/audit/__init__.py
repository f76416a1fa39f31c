"""The audit log: who read, changed or was refused what. Ids and outcomes, never content."""

from remembrancer.audit.notes import Outcome, note, note_each, note_look

__all__ = ["Outcome", "note", "note_each", "note_look"]
