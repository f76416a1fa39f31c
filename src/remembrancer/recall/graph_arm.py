"""The graph arm: memories associated with the best ones of the other arms. Pure.

The database walks from the best memories, at most two steps (``sql/graph.sql``). This module
makes an arm of the paths. ``docs/decisions/0009-graph.md`` says why the arm attracts.
"""

from typing import Final

import numpy as np

from remembrancer.recall.candidates import Candidates
from remembrancer.recall.ranker import Arm, Attraction

WALK: Final = {"seeds": 8, "frontier": 16, "fanout": 8, "scanned": 32, "decay": 0.7}
"""Limits of the walk: memories at its start, memories after the first step, for each memory and
direction the visible associations that it follows and the associations that it reads, and the
share of a path's strength that remains after each step."""


def graph_arm(candidates: Candidates) -> Arm | None:
    """Return the arm of the candidates on the walk; None if the walk reached none.

    A seed always ranks above the candidates that it leads to.
    """
    if not candidates.paths:
        return None
    ids: list[int] = candidates.ids.tolist()
    toward = np.arange(len(ids))
    share, raw, score = np.zeros((3, len(ids)))
    for path in candidates.paths.values():
        seed = ids.index(path["seed"])
        raw[seed], score[seed] = 1.0, path["standing"]
    for row, path in candidates.paths.items():
        toward[row], share[row] = ids.index(path["seed"]), path["strength"]
        raw[row], score[row] = path["strength"], path["strength"] * path["standing"]
    return Arm(
        "graph",
        raw=raw,
        score=score,
        present=score > 0,
        lifted_by=np.zeros(len(ids), dtype=np.int64),
        attraction=Attraction(toward, share),
    )
