"""Rows of a memory document."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NumbersRow:
    """Numbers of the whole document. Facts are its memories except places."""

    facts: int
    active_facts: int
    tokens: int
    updated_at: datetime | None
