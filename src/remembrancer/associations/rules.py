"""How a neighbourhood grows, step by step. Pure."""

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

Key = tuple[UUID, str]
"""A memory: its owner and its id, which is unique for that owner only."""
Step = tuple[Key, Key, float]
"""An association as walked: from a memory to another, with its weight."""


def spread(
    frontier: Mapping[Key, float], steps: Iterable[Step], known: Collection[Key]
) -> list[tuple[Key, float]]:
    """Return the memories that ``steps`` lead to from ``frontier`` and that are not ``known``.

    Each once, with the strength of the strongest path to it: the product of the weights. The
    strongest come first, ties go to the lower key.
    """
    reached: dict[Key, float] = {}
    for here, there, weight in steps:
        if there not in known:
            reached[there] = max(reached.get(there, 0.0), frontier[here] * weight)
    return sorted(reached.items(), key=lambda item: (-item[1], item[0]))
