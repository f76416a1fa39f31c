"""The audit log: reads, changes and refusals, with ids and outcomes, never content."""

from remembrancer.audit.notes import Outcome, note, note_each, note_look

__all__ = ["Outcome", "note", "note_each", "note_look"]
