"""Fuse what the search arms found into one ranked list. Pure: no text, no I/O, no clock.

Each arm scores every candidate; a message then borrows from its neighbours in the conversation,
because an answer often stands beside the words of the question. Arms are fused on ranks
(reciprocal rank fusion, Cormack, Clarke and Büttcher 2009), so that their scales never meet.
Measurements behind the defaults: ``docs/decisions/``.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SOURCE_TYPES = {"memory": 0, "chunk": 1, "message": 2}


class Candidate(Protocol):
    """One row of the candidate query: an item that an arm found, or a neighbour of one."""

    @property
    def id(self) -> int:
        """Unique among the candidates; the last word in ties."""

    @property
    def source_type(self) -> Literal["message", "memory", "chunk"]:
        """What the item is."""

    @property
    def distance(self) -> float | None:
        """Cosine distance to the question, 0-2; None where the item has no vector."""

    @property
    def words(self) -> Sequence[int] | None:
        """Numbers, from 0, of the words of the question that the item has; None for none.

        A word may stand here several times, once for each of its terms: the best counts.
        """

    @property
    def scores(self) -> Sequence[float] | None:
        """BM25 share of each of ``words``."""

    @property
    def conversation_id(self) -> UUID | None:
        """The conversation of a message."""

    @property
    def position(self) -> int | None:
        """Place of a message in its conversation; neighbours differ by one."""

    @property
    def sender_name(self) -> str | None:
        """Who said a message; compared with the names given to ``fuse``."""

    @property
    def weight(self) -> float | None:
        """0-1, what is left of a memory's importance; lifts it a little."""

    @property
    def at(self) -> datetime | None:
        """When it was said or recorded; recent memories are lifted a little."""

    @property
    def exact(self) -> bool:
        """Whether the item's text is the question itself."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How arms are smoothed, weighed and fused."""

    rank_constant: float = 10.0
    """The k of reciprocal rank fusion; small values trust the top of each arm more."""
    dense_weight: float = 0.7
    keyword_weight: float = 1.0
    reach: int = 2
    """Neighbours looked at on each side; the candidate query must deliver as many."""
    dense_decay: float = 0.3
    """Share of a neighbour's similarity that is added, per step of distance."""
    keyword_decay: float = 0.7
    """What a word of the question found in a neighbour is worth, per step of distance."""
    other_sender: float = 0.7
    """Factor for messages of somebody else when the question names a sender."""
    importance_lift: float = 0.1
    """Most that importance adds to a memory's score, as a share of it."""
    recency_lift: float = 0.05
    """Most that recency adds to a memory's score, as a share of it."""
    recency_days: float = 30.0
    """Age at which the recency lift has halved."""


@dataclass(frozen=True, slots=True)
class Attraction:
    """Raises the scores of candidates towards those of others: arrays of shape (n,)."""

    toward: Ints
    """Row of the candidate that attracts each one."""
    share: Floats
    """Part of the distance, 0 (none) to 1 (all)."""

    def apply(self, total: Floats) -> Floats:
        """Return the raised scores: none falls, and none passes the one that attracts it."""
        return total + self.share * np.maximum(total[self.toward] - total, 0.0)


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm's view of all candidates: arrays of shape (n,), in the order of the candidates."""

    name: str
    weight: float
    raw: Floats
    """The arm's own score, higher is better."""
    score: Floats
    """What is ranked: ``raw`` after neighbours and other adjustments."""
    present: Mask
    """False where the arm has nothing to say about a candidate."""
    lifted_by: Ints
    """Offset of the neighbour that helped most, 0 for none."""
    attraction: Attraction | None = None
    """Its effect on the fused scores, for an arm that does not vote."""


@dataclass(frozen=True, slots=True)
class ArmRank:
    """Why an arm put an item where it did."""

    rank: int
    """1 is best; equal scores share a rank."""
    raw: float
    """Cosine similarity, BM25 score or whatever the arm measures."""
    score: float
    """The score that was ranked."""
    lifted_by: int
    """Offset in the conversation of the neighbour that helped most; 0 for none."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One result and its explanation."""

    id: int
    score: float
    """Fused score; comparable within one result list only."""
    exact: bool
    arms: dict[str, ArmRank]
    """Arms that know the item, by name."""


def fuse(
    candidates: Sequence[Candidate],
    k: int,
    *,
    named: Collection[str] = (),
    now: datetime | None = None,
    weights: Fusion = Fusion(),
    arms: Sequence[Arm] = (),
) -> list[Ranked]:
    """Return the best ``k`` candidates, best first; all of them if there are fewer.

    ``named`` holds the senders that the question names, spelled as in ``Candidate.sender_name``.
    ``now`` switches the recency lift on. ``arms`` adds further arms to the dense and keyword ones.
    An item whose text is the question comes first. Ties go to memories, then chunks, then
    messages, then to the lower id, so the order of the candidates never matters.
    """
    if not candidates:
        return []
    field = _Field(candidates, named, weights)
    every = [_dense(field, weights), _keyword(candidates, field, weights), *arms]
    ranks = [_ranks(arm) for arm in every]
    shares = [
        np.where(arm.present, arm.weight / (weights.rank_constant + rank), 0.0)
        for arm, rank in zip(every, ranks, strict=True)
    ]
    total = np.sum(shares, axis=0) * _lift(candidates, now, weights)
    for arm in every:
        total = arm.attraction.apply(total) if arm.attraction else total
    return [
        Ranked(
            candidates[row].id,
            float(total[row]),
            candidates[row].exact,
            {
                arm.name: _explain(arm, rank, row)
                for arm, rank in zip(every, ranks, strict=True)
                if arm.present[row]
            },
        )
        for row in _order(candidates, total)[:k]
    ]


class _Field:
    """Where candidates stand to each other: neighbours, twins, and whose words they are."""

    def __init__(
        self, candidates: Sequence[Candidate], named: Collection[str], weights: Fusion
    ) -> None:
        self.offsets = np.array(
            [o for step in range(1, weights.reach + 1) for o in (-step, step)], dtype=np.int64
        )
        self.neighbours = _neighbours(candidates, self.offsets)
        self.alone: Mask = np.all(self.neighbours < 0, axis=1)
        self.factor = _sender_factor(candidates, named, weights.other_sender)
        self.distance = np.array([c.distance for c in candidates], dtype=np.float64)
        made = np.array([c.source_type != "message" for c in candidates])
        self.twins = _twins(self.distance, made)

    def lent(self, raw: Floats, decay: float) -> Iterator[Floats]:
        """Yield what the neighbours at each offset lend, arrays of ``raw``'s shape."""
        # Offset by offset, for one array of them all would not stay in the processor's cache.
        padded = np.concatenate([raw, np.zeros_like(raw[:1])])
        for offset, rows in zip(self.offsets, self.neighbours.T, strict=True):
            yield padded[rows] * decay ** abs(int(offset))

    def strongest(self, gains: Sequence[Floats]) -> Ints:
        """Return the offset of the neighbour with the greatest gain, 0 where nobody gave any."""
        nobody = np.zeros(len(self.alone))
        offsets: Ints = np.append(0, self.offsets)[np.argmax([nobody, *gains], axis=0)]
        return offsets

    def level(self, raw: Floats, score: Floats) -> Floats:
        """Lift items without neighbours as much as messages of the same standing were lifted.

        Standing is the place by raw score: the third best raw score becomes what the third
        best score of messages is. Otherwise every message beside a good one would overtake
        the memories distilled from it. A message's double never falls behind it.
        """
        talk = ~self.alone
        if not self.alone.any() or not talk.any():
            return score
        matched = _match(raw, np.sort(raw[talk]), np.sort(score[talk])) * self.factor
        levelled = np.where(self.alone, matched, score)
        for item, message in self.twins:
            if raw[message] <= raw[item]:
                levelled[item] = max(levelled[item], levelled[message])
        return levelled


def _match(values: Floats, raw: Floats, score: Floats) -> Floats:
    """Map values from the distribution ``raw`` to ``score``, both ascending; keeps their order."""
    last = np.append(raw[1:] > raw[:-1], True)
    known, target = raw[last], score[last]
    inside = np.interp(values, np.append(0.0, known), np.append(0.0, target))
    above = target[-1] + np.maximum(values - known[-1], 0.0)
    return np.where(values > 0, np.where(values > known[-1], above, inside), 0.0)


def _neighbours(candidates: Sequence[Candidate], offsets: Ints) -> Ints:
    """Return the rows of each candidate's neighbours, shape (n, offsets), -1 for none."""
    codes: dict[int, int] = {}
    keys = np.full(len(candidates), -1, dtype=np.int64)
    for row, item in enumerate(candidates):
        if item.source_type == "message" and item.conversation_id and item.position is not None:
            # A UUID hashes in Python code, its number does not. 2^40 positions a conversation
            # leave room, so that no offset reaches into the next one.
            code = codes.setdefault(item.conversation_id.int, len(codes) + 1)
            keys[row] = (code << 40) + item.position
    order = np.argsort(keys, kind="stable")
    wanted = np.where(keys[:, None] < 0, -2, keys[:, None] + offsets)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    found = order[place]
    return np.where(keys[found] == wanted, found, -1)


def _twins(distance: Floats, made: Mask) -> list[tuple[int, int]]:
    """Pair memories and chunks, which are ``made``, with the messages of the same text."""
    # Equal texts have equal vectors, and so equal distances; NaN equals nothing.
    shared = np.isin(distance, distance[made]) & ~made
    talk: dict[float, list[int]] = {}
    for message in np.flatnonzero(shared).tolist():
        talk.setdefault(float(distance[message]), []).append(message)
    if not talk:
        return []
    items = np.flatnonzero(made & np.isin(distance, list(talk))).tolist()
    return [(item, message) for item in items for message in talk[float(distance[item])]]


def _sender_factor(candidates: Sequence[Candidate], named: Collection[str], other: float) -> Floats:
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
    # Factors need a zero that means "as unlike as it gets here"; some models never go below 0.7.
    similarity = np.where(present, raw - np.min(raw, where=present, initial=1.0), 0.0)
    shares = list(field.lent(similarity, weights.dense_decay))
    score = np.sum([similarity, *shares], axis=0) * field.factor
    level = field.level(similarity, score)
    return Arm("dense", weights.dense_weight, raw, level, present, field.strongest(shares))


def _keyword(candidates: Sequence[Candidate], field: _Field, weights: Fusion) -> Arm:
    found = _found_words(candidates)
    # Each word of the question counts once, where the stretch of talk serves it best:
    # sums would reward saying one word again and again.
    best, gains = found, []
    for lent in field.lent(found, weights.keyword_decay):
        best = np.maximum(best, lent)
        gains.append(np.maximum(lent - found, 0.0).sum(axis=1))
    raw, score = found.sum(axis=1), best.sum(axis=1) * field.factor
    level = field.level(raw, score)
    return Arm("keyword", weights.keyword_weight, raw, level, level > 0, field.strongest(gains))


def _found_words(candidates: Sequence[Candidate]) -> Floats:
    """Return what each candidate has of each word of the question, shape (n, words)."""
    rows = [row for row, item in enumerate(candidates) for _ in item.words or ()]
    words = [word for item in candidates for word in item.words or ()]
    scores = [score for item in candidates for score in item.scores or ()]
    found = np.zeros((len(candidates), max(words, default=-1) + 1))
    np.maximum.at(found, (rows, words), scores)
    return found


def _ranks(arm: Arm) -> Ints:
    """Return 1 + how many present candidates score strictly higher."""
    ascending = np.sort(arm.score[arm.present])
    return len(ascending) - np.searchsorted(ascending, arm.score, side="right") + 1


def _lift(candidates: Sequence[Candidate], now: datetime | None, weights: Fusion) -> Floats:
    lift = np.ones(len(candidates))
    for row, item in enumerate(candidates):
        if item.source_type == "memory":
            # Never below 1, or a memory could fall behind the message it was made from.
            lift[row] += weights.importance_lift * (item.weight or 0.0)
            lift[row] += weights.recency_lift * _recency(item.at, now, weights.recency_days)
    return lift


def _recency(at: datetime | None, now: datetime | None, half_life: float) -> float:
    if at is None or now is None:
        return 0.0
    days = max((now - at).total_seconds(), 0.0) / 86_400
    return math.exp2(-days / half_life)


def _order(candidates: Sequence[Candidate], total: Floats) -> list[int]:
    ids = np.array([c.id for c in candidates])
    kinds = np.array([_SOURCE_TYPES[c.source_type] for c in candidates])
    plain = np.array([not c.exact for c in candidates])
    rows: list[int] = np.lexsort((ids, kinds, -total, plain)).tolist()
    return rows


def _explain(arm: Arm, rank: Ints, row: int) -> ArmRank:
    return ArmRank(
        rank=int(rank[row]),
        raw=float(arm.raw[row]),
        score=float(arm.score[row]),
        lifted_by=int(arm.lifted_by[row]),
    )
