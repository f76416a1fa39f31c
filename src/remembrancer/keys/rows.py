"""Typed rows of keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TokenUserRow:
    """The user of a token, with their former ids."""

    user_id: UUID
    merged_ids: Sequence[UUID]
