"""Rank candidates by a linear model over their signals. Pure: no I/O, no clock.

The coefficients are in ``ranker.toml``; ``benchmarks/ranker.py`` learns them and measures each
signal on conversations that were left out (``docs/decisions/0032-ranker.md``).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np

from remembrancer.embeddings.base import Baseline
from remembrancer.recall.candidates import MEMORY, MESSAGE, Candidates, Floats, Ints, Mask
from remembrancer.recall.relevance import relevance
from remembrancer.recall.signals import SIGNALS, Interpretation, Measures, measure
from remembrancer.search.traits import ACKNOWLEDGES

IMPORTANCE: Final = 0.1
"""Largest share of its score that importance adds to a memory."""
RECENCY: Final = 0.05
"""Largest share of its score that recency adds to a memory."""
RECENCY_DAYS: Final = 30.0
"""Age at which recency adds half as much."""
RANK_CONSTANT: Final = 10.0
"""A rank counts ``1 / (RANK_CONSTANT + rank)`` where ranks are compared: small values trust the
top more."""
ADDS: Final = 30.0
"""How many times better than its message a memory must score to add to it (decision 38)."""
SAME: Final = 150.0
"""How many times less a memory scores that says what its message says."""
COEFFICIENTS: Final = tomllib.loads(
    (files("remembrancer.recall") / "ranker.toml").read_text("utf-8")
)["coefficients"]
WEIGHTS: Final[Floats] = np.array([COEFFICIENTS[name] for name in SIGNALS])
NO_QUESTION: Final = Interpretation()
COSINES: Final = Baseline(0.0, 1.0)


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
    """One arm of the search: arrays of shape (n,), in the order of the candidates."""

    name: str
    raw: Floats
    """Cosine similarity, BM25 score or the strength of a path; higher is better."""
    score: Floats
    """The score to rank by: ``raw`` with the shares of neighbours."""
    present: Mask
    """Whether the arm ranks a candidate."""
    lifted_by: Ints
    """Offset of the neighbour with the largest share, 0 for none."""
    attraction: Attraction | None = None
    """Its effect on the scores."""
    vote: float = 0.0
    """Its weight beside the ranking by signals, which has 1, if they are fused by their ranks."""


class ArmRank(NamedTuple):
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
    """0 to 1, more by importance and recency; comparable within one ranking only."""
    relevance: float
    """0 to 1, comparable between questions (recall/relevance.py)."""
    exact: bool
    arms: dict[str, ArmRank]
    """By the names of the arms that rank the item."""
    added: Sequence[float]
    """What each signal added: its value times its coefficient."""
    words: list[int]
    """The question's words in it, by number."""
    row: int = field(compare=False)
    """Its row among the candidates."""

    @property
    def signals(self) -> dict[str, float]:
        """The signals that added something, by name."""
        return {name: value for name, value in zip(SIGNALS, self.added, strict=True) if value}


def rank(
    candidates: Candidates,
    k: int,
    question: Interpretation = NO_QUESTION,
    *,
    now: datetime | None = None,
    arms: Sequence[Arm] = (),
    weights: Floats = WEIGHTS,
    baseline: Baseline = COSINES,
) -> list[RankedItem]:
    """Return the best ``k`` candidates, best first; all of them if there are fewer.

    Without ``now``, recency adds nothing. ``arms`` are further arms, besides the dense and the
    keyword arm; ``weights`` are other coefficients, in the order of ``SIGNALS``; ``baseline`` is
    that of the model of the vectors. An item whose text equals the question comes first. Messages
    that only acknowledge, or that repeat a better one of the same sender, come last. At the same
    score, memories come first, then chunks, then messages, then the lower id: the order of the
    candidates does not matter.

    A memory that is from a message among the candidates yields to it, and a chunk to the best one
    that it covers: it scores less if that message is a hit, or scores nearly as well. A pinned
    memory never does, nor one with later versions or revisions: it says more than its message.
    """
    if not len(candidates.ids):
        return []
    measures = measure(candidates, question)
    arms = [*_arms(measures), *arms]
    added = measures.matrix * weights
    # Not a product of matrices: that gives a row another last digit at another place.
    total = _scores(added.sum(axis=1)) * _lift(candidates, now)
    for item, message in measures.twins:
        total[item] = max(total[item], total[message])
    for arm in arms:
        total = _vote(total, arm) if arm.vote else total
        total = arm.attraction.apply(total) if arm.attraction else total
    total = _yielding(candidates, total, k)
    order = _order(candidates, total, k)
    reasons = [_reasons(arm, order) for arm in arms]
    relevances = relevance(candidates, measures, question, baseline, order=order)
    return [
        RankedItem(
            id=item,
            score=score,
            relevance=round(sure, 4),
            exact=exact,
            arms={arm.name: of[row] for arm, of in zip(arms, reasons, strict=True) if row in of},
            added=signals,
            words=[word for word, found in enumerate(words) if found],
            row=row,
        )
        for row, item, score, sure, exact, signals, words in zip(
            order,
            candidates.ids[order].tolist(),
            total[order].tolist(),
            relevances.tolist(),
            candidates.exact[order].tolist(),
            added[order].tolist(),
            candidates.words[order].tolist(),
            strict=True,
        )
    ]


def _scores(logits: Floats) -> Floats:
    scores: Floats = np.exp(logits - logits.max())
    return scores


def _vote(total: Floats, arm: Arm) -> Floats:
    """Fuse scores with an arm by rank (reciprocal rank fusion, Cormack, Clarke, Büttcher 2009)."""
    ascending = np.sort(total)
    ranks = len(total) - np.searchsorted(ascending, total, side="right") + 1
    votes = np.where(arm.present, arm.vote / (RANK_CONSTANT + _ranks(arm, arm.score)), 0.0)
    return (RANK_CONSTANT + 1) / (1 + arm.vote) * (1 / (RANK_CONSTANT + ranks) + votes)


def _arms(measures: Measures) -> list[Arm]:
    nothing = np.zeros(len(measures.words), dtype=np.int64)
    return [
        Arm("dense", measures.similarity, measures.similarity, measures.embedded, nothing),
        Arm("keyword", measures.bm25, measures.words, measures.words > 0, measures.words_from),
    ]


def _ranks(arm: Arm, scores: Floats) -> Ints:
    """Return for each score 1 + the number of present candidates with a higher one."""
    ascending = np.sort(arm.score[arm.present])
    return len(ascending) - np.searchsorted(ascending, scores, side="right") + 1


def _lift(candidates: Candidates, now: datetime | None) -> Floats:
    recency = 0.0 if now is None else _recency(now.timestamp() - candidates.at)
    # Never below 1: a memory must not rank below the message it was extracted from.
    lift = 1.0 + IMPORTANCE * candidates.weight + RECENCY * recency
    return np.where(candidates.sources == MEMORY, lift, 1.0)


def _recency(seconds: Floats) -> Floats:
    recency: Floats = np.exp2(-np.maximum(seconds, 0.0) / (86_400 * RECENCY_DAYS))
    return recency


def _yielding(candidates: Candidates, total: Floats, k: int) -> Floats:
    """Return the scores, lower for memories and chunks whose messages say the same."""
    cited, plain = candidates.cited, ~candidates.exact
    agrees = (candidates.traits[cited] & ACKNOWLEDGES) > 0
    tells = (cited >= 0) & plain & ~candidates.says_more & ~agrees
    covered = {row: said for row in candidates.ranges if len(said := _covered(candidates, row))}
    tells[list(covered)] = plain[list(covered)]
    if not tells.any():
        return total
    rows = np.lexsort((candidates.ids, -total))
    hits = np.zeros(len(rows), dtype=bool)
    hits[rows[~tells[rows]][:k]] = True
    is_hit, best = hits[cited], total[cited]
    for row, messages in covered.items():
        is_hit[row], best[row] = hits[messages].any(), total[messages].max()
    return np.where(tells & (is_hit | (total <= ADDS * best)), total / SAME, total)


def _covered(candidates: Candidates, chunk: int) -> Ints:
    """Return the rows of the messages that a chunk covers."""
    first, last = candidates.ranges[chunk]
    return np.flatnonzero(
        (candidates.sources == MESSAGE)
        & (candidates.talks == candidates.talks[chunk])
        & (candidates.positions >= first)
        & (candidates.positions <= last)
    )


def _order(candidates: Candidates, total: Floats, k: int) -> list[int]:
    plain, sources = ~candidates.exact, candidates.sources
    repeats = (sources == MESSAGE) & plain
    said: set[tuple[str | None, bytes]] = set()
    first: list[int] = []
    last: list[int] = []
    for row in np.lexsort((candidates.ids, sources, -total, plain)).tolist():
        if len(first) == k:
            break
        if repeats[row]:
            sender = candidates.speaker_names[candidates.speakers[row]][1]
            words = (sender, candidates.hashes[row])
            if words in said or candidates.traits[row] & ACKNOWLEDGES:
                last.append(row)
                continue
            said.add(words)
        first.append(row)
    return [*first, *last][:k]


def _reasons(arm: Arm, rows: Sequence[int]) -> dict[int, ArmRank]:
    """Return what the arm says of rows, by row; nothing of those that it does not rank."""
    scores = arm.score[rows]
    columns = (_ranks(arm, scores), arm.raw[rows], scores, arm.lifted_by[rows])
    values = zip(*(column.tolist() for column in columns), strict=True)
    present = arm.present[rows].tolist()
    return {
        row: ArmRank(*value)
        for row, value, is_present in zip(rows, values, present, strict=True)
        if is_present
    }
