"""Rows of the audit log."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class NameRow:
    """The name of a ``user``, ``agent`` or ``key``."""

    id: UUID
    name: str
    kind: str
