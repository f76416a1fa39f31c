"""The graph arm: what is associated with the best of the other arms. Pure.

The database walks (``sql/links.sql``), from the best memories and no further than two steps; this
makes of it what fusion needs. Why it pulls instead of voting: ``docs/decisions/0009-graph.md``.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypedDict

import numpy as np

from remembrancer.recall.fusion import Arm, Pull

WALK: Final = {"seeds": 8, "frontier": 16, "fanout": 8, "scanned": 32, "decay": 0.7}
"""How the walk is bounded: how many memories it starts from and goes on from after one step, how
many visible and how many other associations it looks at from each in each direction, and what
is left of a path's strength after each step."""


class Way(TypedDict):
    """The strongest path by which the walk came to a candidate."""

    seed: int
    """The candidate it began at."""
    standing: float
    """Of the seed in the arm that has it highest, 0-1."""
    strength: float
    """Product of the path's weights and decays, 0-1."""


class Walked(Protocol):
    """A candidate, and how the walk came to it."""

    @property
    def id(self) -> int:
        """Unique among the candidates."""

    @property
    def walked(self) -> Way | None:
        """None for what was not reached, or stands higher as it is."""


def graph_arm(candidates: Sequence[Walked]) -> Arm | None:
    """Return the arm of what was reached, and of the seeds it was reached from.

    The seeds stay in the list, always before what they lead to. None where nothing was
    reached.
    """
    ways = [(row, item.walked) for row, item in enumerate(candidates) if item.walked]
    if not ways:
        return None
    row_of = {item.id: row for row, item in enumerate(candidates)}
    toward = np.arange(len(candidates))
    share, raw, score = np.zeros((3, len(candidates)))
    for _, way in ways:
        seed = row_of[way["seed"]]
        raw[seed], score[seed] = 1.0, way["standing"]
    for row, way in ways:
        toward[row], share[row] = row_of[way["seed"]], way["strength"]
        raw[row], score[row] = way["strength"], way["strength"] * way["standing"]
    return Arm(
        "graph",
        weight=0.0,
        raw=raw,
        score=score,
        present=score > 0,
        lifted_by=np.zeros(len(candidates), dtype=np.int64),
        pull=Pull(toward, share),
    )
