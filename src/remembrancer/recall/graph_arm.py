"""The graph arm: memories associated with the best ones of the other arms. Pure.

The database walks from the best memories, two steps at most (``sql/graph.sql``); this turns the
paths into an arm. Why the arm pulls instead of voting: ``docs/decisions/0009-graph.md``.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from remembrancer.recall.fusion import Arm, Attraction
from remembrancer.recall.rows import GraphPath

WALK: Final = {"seeds": 8, "frontier": 16, "fanout": 8, "scanned": 32, "decay": 0.7}
"""Bounds of the walk: memories it starts from, memories it goes on from after one step, visible
associations it follows and associations it reads at each memory in each direction, and the share
of a path's strength that is left after each step."""


class GraphCandidate(Protocol):
    """A candidate, and the path by which the walk came to it."""

    @property
    def id(self) -> int:
        """Unique among the candidates."""

    @property
    def path(self) -> GraphPath | None:
        """None where the walk did not come, or the candidate stands higher by itself."""


def graph_arm(candidates: Sequence[GraphCandidate]) -> Arm | None:
    """Return the arm of the candidates that the walk reached and of the seeds it started from.

    A seed always stays before the candidates it leads to. None where nothing was reached.
    """
    paths = [(row, item.path) for row, item in enumerate(candidates) if item.path]
    if not paths:
        return None
    row_of = {item.id: row for row, item in enumerate(candidates)}
    toward = np.arange(len(candidates))
    share, raw, score = np.zeros((3, len(candidates)))
    for _, path in paths:
        seed = row_of[path["seed"]]
        raw[seed], score[seed] = 1.0, path["standing"]
    for row, path in paths:
        toward[row], share[row] = row_of[path["seed"]], path["strength"]
        raw[row], score[row] = path["strength"], path["strength"] * path["standing"]
    return Arm(
        "graph",
        weight=0.0,
        raw=raw,
        score=score,
        present=score > 0,
        lifted_by=np.zeros(len(candidates), dtype=np.int64),
        attraction=Attraction(toward, share),
    )
