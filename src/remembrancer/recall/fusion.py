"""Fuse the results of the search arms into one ranked list. Pure: no I/O, no clock.

Each arm scores every candidate. A message then gets a share of the scores of its neighbours in the
conversation, because the answer to a question often has none of its words. Arms are fused by rank
(reciprocal rank fusion, Cormack, Clarke and Büttcher 2009): their scores have different scales.
``docs/decisions/`` has the measurements behind the defaults.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remembrancer.analysis import is_acknowledgement
from remembrancer.recall.rows import CandidateRow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SOURCE_TYPES = {"memory": 0, "chunk": 1, "message": 2}


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights of the arms, and shares of neighbouring messages."""

    rank_constant: float = 10.0
    """The k of reciprocal rank fusion; small values trust the top of each arm more."""
    dense_weight: float = 0.7
    keyword_weight: float = 1.0
    reach: int = 2
    """Neighbours on each side. The candidate query must return as many."""
    dense_decay: float = 0.3
    """Share of a neighbour's similarity that a message gets, per step of distance."""
    keyword_decay: float = 0.7
    """Share of the score of a neighbour's words that a message gets, per step of distance."""
    other_sender: float = 0.7
    """Factor for messages of other senders when the question names a sender."""
    importance_lift: float = 0.1
    """Largest share of its score that importance adds to a memory."""
    recency_lift: float = 0.05
    """Largest share of its score that recency adds to a memory."""
    recency_days: float = 30.0
    """Age at which recency adds half as much."""


@dataclass(frozen=True, slots=True)
class Attraction:
    """Raises scores towards those of other candidates. Arrays of shape (n,)."""

    toward: Ints
    """Row of the candidate that attracts each candidate."""
    share: Floats
    """Part of the distance, 0 (none) to 1 (all)."""

    def apply(self, total: Floats) -> Floats:
        """Return the scores. They only rise, and never above the candidate that attracts them."""
        return total + self.share * np.maximum(total[self.toward] - total, 0.0)


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm's scores: arrays of shape (n,), in the order of the candidates."""

    name: str
    weight: float
    raw: Floats
    """Cosine similarity, BM25 score or the strength of a path; higher is better."""
    score: Floats
    """The score to rank by: ``raw`` with the shares of neighbours."""
    present: Mask
    """Whether the arm ranks a candidate."""
    lifted_by: Ints
    """Offset of the neighbour with the largest share, 0 for none."""
    attraction: Attraction | None = None
    """Its effect on the fused scores, for an arm without a weight."""


@dataclass(frozen=True, slots=True)
class ArmRank:
    """Rank and scores of an item in one arm; see :class:`Arm`."""

    rank: int
    """1 is best; equal scores share a rank."""
    raw: float
    score: float
    lifted_by: int


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An item of the ranking, with the reasons for its rank."""

    id: int
    score: float
    """Fused score; comparable within one ranking only."""
    exact: bool
    arms: dict[str, ArmRank]
    """By the names of the arms that rank the item."""


def fuse(
    candidates: Sequence[CandidateRow],
    k: int,
    *,
    named: Collection[str] = (),
    now: datetime | None = None,
    weights: Fusion = Fusion(),
    arms: Sequence[Arm] = (),
) -> list[RankedItem]:
    """Return the best ``k`` candidates, best first; all of them if there are fewer.

    ``named`` are the senders that the question names, spelled as ``sender_name``. Without ``now``,
    recency adds nothing. ``arms`` are further arms, besides the dense and the keyword arm. An item
    whose text equals the question comes first. Messages that only acknowledge, or that repeat a
    better one of the same sender, come last. At the same score, memories come first, then chunks,
    then messages, then the lower id: the order of the candidates does not matter.
    """
    if not candidates:
        return []
    field = _Field(candidates, named, weights)
    arms = [_dense(field, weights), _keyword(candidates, field, weights), *arms]
    ranks = [_ranks(arm) for arm in arms]
    shares = [
        np.where(arm.present, arm.weight / (weights.rank_constant + rank), 0.0)
        for arm, rank in zip(arms, ranks, strict=True)
    ]
    total = np.sum(shares, axis=0) * _lift(candidates, now, weights)
    for arm in arms:
        total = arm.attraction.apply(total) if arm.attraction else total
    return [
        RankedItem(
            candidates[row].id,
            float(total[row]),
            candidates[row].exact,
            {
                arm.name: _explain(arm, rank, row)
                for arm, rank in zip(arms, ranks, strict=True)
                if arm.present[row]
            },
        )
        for row in _order(candidates, total, k)
    ]


class _Field:
    def __init__(
        self, candidates: Sequence[CandidateRow], named: Collection[str], weights: Fusion
    ) -> None:
        self.offsets = np.array(
            [o for step in range(1, weights.reach + 1) for o in (-step, step)], dtype=np.int64
        )
        self.neighbours = neighbour_rows(candidates, self.offsets)
        self.alone: Mask = np.all(self.neighbours < 0, axis=1)
        self.factor = _sender_factor(candidates, named, weights.other_sender)
        self.distance = np.array([c.distance for c in candidates], dtype=np.float64)
        messages = np.array([c.source_type == "message" for c in candidates])
        self.twins = _twins(self.distance, messages)

    def shares(self, raw: Floats, decay: float) -> Iterator[Floats]:
        """Yield the shares of the neighbours at each offset, arrays of ``raw``'s shape."""
        # One array of all offsets would not fit into the processor's cache.
        padded = np.concatenate([raw, np.zeros_like(raw[:1])])
        for offset, rows in zip(self.offsets, self.neighbours.T, strict=True):
            yield padded[rows] * decay ** abs(int(offset))

    def strongest(self, gains: Sequence[Floats]) -> Ints:
        """Return the offset of the neighbour with the greatest gain, 0 where there is no gain."""
        none = np.zeros(len(self.alone))
        offsets: Ints = np.append(0, self.offsets)[np.argmax([none, *gains], axis=0)]
        return offsets

    def level(self, raw: Floats, score: Floats) -> Floats:
        """Raise items without neighbours as much as messages of the same rank.

        The third best raw score becomes the third best score of the messages. Otherwise, every
        message beside a good one would rank above the memories that were extracted from it. An
        item never ranks below a message with the same text.
        """
        paired = ~self.alone
        if not self.alone.any() or not paired.any():
            return score
        matched = _match(raw, np.sort(raw[paired]), np.sort(score[paired])) * self.factor
        levelled = np.where(self.alone, matched, score)
        for item, message in self.twins:
            if raw[message] <= raw[item]:
                levelled[item] = max(levelled[item], levelled[message])
        return levelled


def _match(values: Floats, raw: Floats, score: Floats) -> Floats:
    """Map values from the distribution ``raw`` to ``score``, both ascending, in their order."""
    last = np.append(raw[1:] > raw[:-1], True)
    source, target = raw[last], score[last]
    inside = np.interp(values, np.append(0.0, source), np.append(0.0, target))
    above = target[-1] + np.maximum(values - source[-1], 0.0)
    return np.where(values > 0, np.where(values > source[-1], above, inside), 0.0)


def neighbour_rows(candidates: Sequence[CandidateRow], offsets: Ints) -> Ints:
    """Return the rows of each candidate's neighbours, shape (n, offsets), -1 for none."""
    codes: dict[int, int] = {}
    keys = np.full(len(candidates), -1, dtype=np.int64)
    for row, item in enumerate(candidates):
        if item.source_type == "message" and item.conversation_id and item.position is not None:
            # Numbers hash faster than UUIDs. With 2^40 positions for each conversation, no offset
            # reaches the next one.
            code = codes.setdefault(item.conversation_id.int, len(codes) + 1)
            keys[row] = (code << 40) + item.position
    order = np.argsort(keys, kind="stable")
    targets = np.where(keys[:, None] < 0, -2, keys[:, None] + offsets)
    rows = order[np.minimum(np.searchsorted(keys[order], targets), len(keys) - 1)]
    return np.where(keys[rows] == targets, rows, -1)


def _twins(distance: Floats, messages: Mask) -> list[tuple[int, int]]:
    """Pair memories and chunks with the messages of the same text."""
    # The same text has the same vector, and so the same distance. NaN equals nothing.
    repeated = np.isin(distance, distance[~messages]) & messages
    by_distance: dict[float, list[int]] = {}
    for message in np.flatnonzero(repeated).tolist():
        by_distance.setdefault(float(distance[message]), []).append(message)
    if not by_distance:
        return []
    items = np.flatnonzero(~messages & np.isin(distance, list(by_distance))).tolist()
    return [(item, message) for item in items for message in by_distance[float(distance[item])]]


def _sender_factor(
    candidates: Sequence[CandidateRow], named: Collection[str], other: float
) -> Floats:
    if not any(item.sender_name in named for item in candidates):
        return np.ones(len(candidates))
    return np.array(
        [
            1.0 if item.sender_name is None or item.sender_name in named else other
            for item in candidates
        ]
    )


def _dense(field: _Field, weights: Fusion) -> Arm:
    present = ~np.isnan(field.distance)
    raw = np.where(present, 1.0 - field.distance, 0.0)
    # Zero is the least similar candidate: with some models, no similarity is below 0.7.
    similarity = np.where(present, raw - np.min(raw, where=present, initial=1.0), 0.0)
    shares = list(field.shares(similarity, weights.dense_decay))
    score = np.sum([similarity, *shares], axis=0) * field.factor
    level = field.level(similarity, score)
    return Arm("dense", weights.dense_weight, raw, level, present, field.strongest(shares))


def _keyword(candidates: Sequence[CandidateRow], field: _Field, weights: Fusion) -> Arm:
    own = _word_scores(candidates)
    # Each word of the question counts once, with its best score among a message and its
    # neighbours: a sum would reward repetition.
    best, gains = own, []
    for share in field.shares(own, weights.keyword_decay):
        best = np.maximum(best, share)
        gains.append(np.maximum(share - own, 0.0).sum(axis=1))
    raw, score = own.sum(axis=1), best.sum(axis=1) * field.factor
    level = field.level(raw, score)
    return Arm("keyword", weights.keyword_weight, raw, level, level > 0, field.strongest(gains))


def _word_scores(candidates: Sequence[CandidateRow]) -> Floats:
    """Return each candidate's score for each word of the question, shape (n, words)."""
    rows = [row for row, item in enumerate(candidates) for _ in item.words or ()]
    words = [word for item in candidates for word in item.words or ()]
    scores = [score for item in candidates for score in item.scores or ()]
    result = np.zeros((len(candidates), max(words, default=-1) + 1))
    np.maximum.at(result, (rows, words), scores)
    return result


def _ranks(arm: Arm) -> Ints:
    """Return 1 + the number of present candidates with a higher score."""
    ascending = np.sort(arm.score[arm.present])
    return len(ascending) - np.searchsorted(ascending, arm.score, side="right") + 1


def _lift(candidates: Sequence[CandidateRow], now: datetime | None, weights: Fusion) -> Floats:
    lift = np.ones(len(candidates))
    for row, item in enumerate(candidates):
        if item.source_type == "memory":
            # Never below 1: a memory must not rank below the message it was extracted from.
            lift[row] += weights.importance_lift * (item.weight or 0.0)
            lift[row] += weights.recency_lift * _recency(item.at, now, weights.recency_days)
    return lift


def _recency(at: datetime | None, now: datetime | None, half_life: float) -> float:
    if at is None or now is None:
        return 0.0
    days = max((now - at).total_seconds(), 0.0) / 86_400
    return math.exp2(-days / half_life)


def _order(candidates: Sequence[CandidateRow], total: Floats, k: int) -> list[int]:
    ids = np.array([c.id for c in candidates])
    kinds = np.array([_SOURCE_TYPES[c.source_type] for c in candidates])
    plain = np.array([not c.exact for c in candidates])
    rows: list[int] = np.lexsort((ids, kinds, -total, plain)).tolist()
    said: set[tuple[str | None, str]] = set()
    first: list[int] = []
    last: list[int] = []
    for row in rows:
        if len(first) == k:
            break
        item = candidates[row]
        if item.source_type == "message" and not item.exact:
            words = (item.sender_name, item.content)
            if words in said or is_acknowledgement(item.content):
                last.append(row)
                continue
            said.add(words)
        first.append(row)
    return [*first, *last][:k]


def _explain(arm: Arm, rank: Ints, row: int) -> ArmRank:
    return ArmRank(
        rank=int(rank[row]),
        raw=float(arm.raw[row]),
        score=float(arm.score[row]),
        lifted_by=int(arm.lifted_by[row]),
    )
