"""The graph arm: memories associated with the best ones of the other arms. Pure.

The database walks from the best memories, at most two steps (``sql/graph.sql``). This module
makes an arm of the paths. ``docs/decisions/0009-graph.md`` says why the arm attracts.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from remembrancer.recall.ranker import Arm, Attraction
from remembrancer.recall.rows import CandidateRow

WALK: Final = {"seeds": 8, "frontier": 16, "fanout": 8, "scanned": 32, "decay": 0.7}
"""Limits of the walk: memories at its start, memories after the first step, for each memory and
direction the visible associations that it follows and the associations that it reads, and the
share of a path's strength that remains after each step."""


def graph_arm(candidates: Sequence[CandidateRow]) -> Arm | None:
    """Return the arm of the candidates on the walk; None if the walk reached none.

    A seed always ranks above the candidates that it leads to.
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
        raw=raw,
        score=score,
        present=score > 0,
        lifted_by=np.zeros(len(candidates), dtype=np.int64),
        attraction=Attraction(toward, share),
    )
