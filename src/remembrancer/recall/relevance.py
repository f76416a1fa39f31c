"""How much a candidate has to do with the question, on a scale that holds for any store. Pure.

A rank says which candidate is best. It does not say that the best one is any good.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from remembrancer.embeddings.base import Baseline
from remembrancer.recall.rows import CandidateRow
from remembrancer.recall.signals import Floats, neighbour_rows

REACH: Final = 2
"""Neighbours of a message on each side that lend it their relevance."""
SHARE: Final = 0.8
"""Part of its relevance that a neighbour lends, per step of distance."""


def relevance(candidates: Sequence[CandidateRow], words: int, baseline: Baseline) -> Floats:
    """Return the relevance of each candidate, 0 to 1: an array of shape (n,).

    ``words`` is the number of the question's words. Nearness of meaning counts from the
    ``baseline`` of unrelated texts on; a word of the question counts by its rarity among the
    asker's items, and one that no item has counts as the rarest. The two are joined as independent
    evidence. A message is also as relevant as its neighbours nearly are, a memory as the one that
    led to it.
    """
    own = 1 - (1 - _nearness(candidates, baseline)) * (1 - _coverage(candidates, words))
    own[[row for row, item in enumerate(candidates) if item.exact]] = 1.0
    best = own
    steps = np.array([o for step in range(1, REACH + 1) for o in (-step, step)], dtype=np.int64)
    if candidates:
        rows = neighbour_rows(candidates, steps)
        lent = np.where(rows < 0, 0.0, own[rows]) * SHARE ** np.abs(steps)
        best = np.maximum(best, lent.max(axis=1))
    row_of = {item.id: row for row, item in enumerate(candidates)}
    for row, item in enumerate(candidates):
        if item.path is not None and item.path["seed"] in row_of:
            led = item.path["strength"] * own[row_of[item.path["seed"]]]
            best[row] = max(best[row], led)
    return best


def _nearness(candidates: Sequence[CandidateRow], baseline: Baseline) -> Floats:
    similarity = np.array([1 - (2.0 if c.distance is None else c.distance) for c in candidates])
    return np.clip((similarity - baseline.unrelated) / (baseline.alike - baseline.unrelated), 0, 1)


def _coverage(candidates: Sequence[CandidateRow], words: int) -> Floats:
    if not words or not candidates:
        return np.zeros(len(candidates))
    # The score of an unseen word in an item of average length: its rarity (candidates.sql).
    rarest = math.log(2 * candidates[0].items + 2)
    best: list[dict[int, float]] = [{} for _ in candidates]
    for scores, item in zip(best, candidates, strict=True):
        for word, score in zip(item.words or (), item.scores or (), strict=True):
            scores[word] = max(scores.get(word, 0.0), min(score, rarest))
    return np.array([sum(scores.values()) for scores in best]) / (words * rarest)
