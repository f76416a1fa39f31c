"""Which memories of two people who turn out to be one are the same memory. Pure."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from remembrancer.memories.dedup import repeats

Ground = tuple[UUID | None, UUID | None]


def duplicates(moving: Sequence[Any], staying: Sequence[Any]) -> dict[str, str]:
    """Return which moving memory says what which staying one says, by id.

    Both are rows of ``memories``. Only memories of the same agent and space can be one.
    """
    there = _by_ground(staying)
    found: dict[str, str] = {}
    for ground, rows in _by_ground(moving).items():
        found |= repeats(rows, there.get(ground, ()))
    return found


def _by_ground(rows: Sequence[Any]) -> dict[Ground, list[Any]]:
    grounds: dict[Ground, list[Any]] = {}
    for row in rows:
        grounds.setdefault((row.agent_id, row.space_id), []).append(row)
    return grounds
