"""Candidates chosen among the items in memory, and what a round trip needs to know of them."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from remembrancer.db.arrays import array as sent
from remembrancer.memories.decay import LONGEST_DAYS
from remembrancer.recall.candidates import MESSAGE, Candidates, Ints, Mask, places
from remembrancer.recall.owner_items import (
    COLUMNS,
    Column,
    OwnerItems,
    Seats,
    distinct,
    index,
    unit,
)
from remembrancer.recall.rows import CandidateRow
from remembrancer.recall.signals import REACH
from remembrancer.telemetry.spans import span

K = TypeVar("K")
Filters = Mapping[str, Any]

BM25_K1: Final = 0.9
BM25_B: Final = 0.4
_SAID: Final = ("talk", "position")
_CITED: Final = ("cited_talk", "cited_position")
_STEPS: Final = np.arange(-REACH, REACH + 1)
_SAME_WEIGHT: Final = 1e-3
"""Difference of a decayed importance that hardly counts: a ten-thousandth of a score."""
_WORDS: Final = CandidateRow._fields.index("words")


@dataclass(frozen=True, slots=True)
class Wish:
    """What candidates are chosen for."""

    vector: NDArray[np.float32]
    terms: Mapping[str, int]
    content_hash: bytes
    per_arm: int
    filters: Filters
    names: Mapping[str, NDArray[np.float32]]
    """Vectors of the names in the question."""

    @property
    def name_texts(self) -> list[str]:
        """The vectors of the names, as the database reads them."""
        return [str(vector.tolist()) for vector in self.names.values()]


class Choice:
    """The items to start from, and the words of all items."""

    def __init__(self, owners: Sequence[tuple[int, OwnerItems, Mask]], wish: Wish) -> None:
        """Choose among the items that are seen; owners come with their place, from 1."""
        self._wish = wish
        self._places = np.array([place for place, _, _ in owners])
        self._owners = [owner for _, owner, _ in owners]
        # As of now: while the database answers, other recalls note what changes.
        self._rows = [(owner.rows, owner.count) for owner in self._owners]
        self._seen = np.concatenate([seen for _, _, seen in owners])
        counts = accumulate((owner.count for owner in self._owners[:-1]), initial=0)
        self._starts = np.fromiter(counts, np.int64, len(self._owners))
        self._ids = self._column("id")
        self._ranks: dict[int, int] = {}
        with span("recall.keyword"):
            self._score_words(wish.terms)
        with span("recall.dense"):
            self._choose(wish)
        self._start = np.fromiter(self._ranks, np.int64, len(self._ranks))
        self._talk_codes, self._talk_ids = _joined([owner.talks for owner in self._owners])

    def _column(self, name: str) -> Column:
        """Return a column of all owners."""
        columns = [owner.columns[name][: owner.count] for owner in self._owners]
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def _of(self, name: str, rows: Ints, codes: Sequence[Ints] = ()) -> Column:
        """Return the values of rows; ``codes`` are those for all owners by those of each."""
        if len(self._owners) == 1:
            return self._owners[0].columns[name][rows]
        values, owners = np.zeros(len(rows), COLUMNS[name]), self._owners_of(rows)
        for number, owner in enumerate(self._owners):
            own = owners == number
            of_owner = owner.columns[name][rows[own] - self._starts[number]]
            values[own] = codes[number][of_owner] if codes else of_owner
        return values

    def _places_of(self, rows: Ints, talk: str, position: str) -> Ints:
        """Return the places of messages, or of those that memories are from."""
        talks = self._of(talk, rows, self._talk_codes).astype(np.int64)
        return places(talks, self._of(position, rows))

    def _seats(self) -> Seats:
        if len(self._owners[0].talks) == len(self._talk_ids):
            return self._owners[0].seats
        talks = self._of("talk", np.arange(len(self._ids)), self._talk_codes)
        return Seats(talks, self._column("position"), self._column("current"))

    def _score_words(self, terms: Mapping[str, int]) -> None:
        """Score each word in each item by BM25, as ``sql/candidates.sql`` does."""
        length = self._column("length")
        self.items = float(np.count_nonzero(self._seen))
        mean = max(float(length[self._seen].sum()) / max(self.items, 1.0), 1.0)
        self._total: Column = np.zeros(len(length))
        self._words = np.zeros((max(terms.values(), default=-1) + 1, len(length)))
        found = [
            (number, word, start, np.frombuffer(posting, np.int32))
            for number, (term, word) in enumerate(terms.items())
            for owner, start in zip(self._owners, self._starts.tolist(), strict=True)
            if (posting := owner.postings.get(term))
        ]
        if not found:
            return
        posted = np.concatenate([each[-1] for each in found]).reshape(-1, 2)
        keys = np.array([each[:-1] for each in found])
        keys = np.repeat(keys, [len(each[-1]) // 2 for each in found], axis=0)
        rows = posted[:, 0] + keys[:, 2]
        seen = self._seen[rows]
        rows, counts, numbers, words = rows[seen], posted[seen, 1], keys[seen, 0], keys[seen, 1]
        frequent = np.bincount(numbers, minlength=len(terms))
        idf = np.log(1 + (self.items - frequent + 0.5) / (frequent + 0.5))
        norm = BM25_K1 * (1 - BM25_B + BM25_B * length[rows] / mean)
        scores = idf[numbers] * counts * (BM25_K1 + 1) / (counts + norm)
        self._total = np.bincount(rows, scores, minlength=len(length))
        np.maximum.at(self._words, (words, rows), scores)

    def _choose(self, wish: Wish) -> None:
        question = _as_stored(wish.vector)
        # Row by row: a product of matrices gives equal vectors another last digit at another
        # place, and its threads cost more than they save.
        similarity = np.concatenate(
            [np.vecdot(o.vectors[: o.count], question) for o in self._owners]
        )
        self._similarity = similarity
        self._exact = self._column("hash") == np.void(wish.content_hash)
        # An item with the text of the question comes first.
        similarity = np.where(self._exact, np.float32(2.0), similarity)
        is_message = self._column("source") == MESSAGE
        pools = [np.flatnonzero(self._seen & kind) for kind in (is_message, ~is_message)]
        self._rank(similarity, pools, wish.per_arm)
        self._rank(self._total, [rows[self._total[rows] > 0] for rows in pools], wish.per_arm)
        if told := wish.filters.get("told_from"):
            at, before = self._column("at"), wish.filters["told_before"]
            is_told = self._seen & (at >= told.timestamp()) & (at < before.timestamp())
            self._rank(similarity, [np.flatnonzero(is_told)], wish.filters["per_days"])

    def _rank(self, values: Column, pools: Sequence[Ints], count: int) -> None:
        """Rank the best of each pool; the lower id comes first of two that are equal."""
        rows = np.concatenate([self._best(values, pool, count) for pool in pools])
        order = np.lexsort((self._ids[rows], -values[rows]))
        for rank, row in enumerate(rows[order].tolist(), 1):
            self._ranks[row] = min(rank, self._ranks.get(row, rank))

    def _best(self, values: Column, pool: Ints, count: int) -> Ints:
        if len(pool) <= count:
            return pool
        of_pool = values[pool]
        pool = pool[of_pool >= np.partition(of_pool, -count)[-count]]
        return pool[np.lexsort((self._ids[pool], -values[pool]))[:count]]

    @property
    def binds(self) -> dict[str, object]:
        """Return the values of the part `given` of ``sql/candidates.sql``."""
        rows, owners = self._start, self._owners_of(self._start)
        used, talks = np.unique(self._of("talk", rows, self._talk_codes), return_inverse=True)
        return {
            "items": self.items,
            **self._keys(rows),
            "ranks": sent(np.array(list(self._ranks.values())), ">i4"),
            "talk_ids": [self._talk_ids[talk] for talk in used],
            "talks": sent(talks + 1, ">i4"),
            "positions": sent(self._of("position", rows), ">i4"),
            "memory_ids": " ".join(
                self._owners[owner].memory_ids[row - self._starts[owner]]
                for row, owner in zip(rows.tolist(), owners.tolist(), strict=True)
            ),
        }

    def _owners_of(self, rows: Ints) -> Ints:
        return np.searchsorted(self._starts, rows, side="right") - 1

    def _keys(self, rows: Ints) -> dict[str, object]:
        owners = self._places[self._owners_of(rows)]
        return {"places": sent(owners, ">i4"), "ids": sent(self._ids[rows], ">i8")}

    def hits(self, hits: Sequence[int]) -> dict[str, object]:
        """Return the values of ``sql/fetch.sql`` for some of the candidates, by their rows."""
        rows, weights = self._chosen[hits], self._weights[hits]
        self._hits = dict(zip(self._ids[rows].tolist(), weights.tolist(), strict=True))
        return self._keys(rows)

    def candidates(self, now: datetime) -> Candidates:
        """Return the candidates: the items to start from, and their neighbours."""
        seats, start = self._seats(), self._start
        said = [self._places_of(start, *names) for names in (_SAID, _CITED)]
        keys = np.concatenate(said)
        around = seats.rows(distinct((keys[keys >= 0][:, None] + _STEPS).ravel()))
        around = around[around >= 0]
        # A message is its own neighbour.
        rows = distinct(np.concatenate([start[said[0] < 0], around[self._seen[around]]]))
        self._chosen = rows
        speaker_codes, speakers = _joined([owner.speakers for owner in self._owners])
        days = (now.timestamp() - self._of("used", rows)) / 86_400
        days = days.clip(0, LONGEST_DAYS) / self._of("half_life", rows)
        self._weights = self._of("importance", rows) * 0.5**days
        parts = [self._part(rows, owner) for owner in range(len(self._owners))]
        return Candidates(
            items=self.items,
            ids=self._ids[rows],
            sources=self._of("source", rows).astype(np.int64),
            talks=self._of("talk", rows, self._talk_codes).astype(np.int64),
            positions=self._of("position", rows).astype(np.int64),
            at=self._of("at", rows),
            traits=self._of("traits", rows).astype(np.int64),
            distance=1.0 - self._similarity[rows].astype(np.float64),
            name_distances=np.concatenate([self._name_distances(*part) for part in parts]),
            exact=self._exact[rows],
            hashes=self._of("hash", rows).tolist(),
            # As the database sends them.
            words=self._words[:, rows].T.astype(np.float32).astype(np.float64),
            speakers=self._of("speaker", rows, speaker_codes).astype(np.int64),
            speaker_names=speakers,
            callers={
                name: np.flatnonzero(index(self._callers(name), rows) >= 0)
                for name in self._wish.names
            },
            weight=self._weights,
            says_more=self._of("says_more", rows),
            cited=index(rows, seats.rows(self._places_of(rows, *_CITED))),
            ranges={
                int(np.searchsorted(rows, row + start)): owner.ranges[row]
                for (owner, own), start in zip(parts, self._starts.tolist(), strict=True)
                if owner.ranges
                for row in own.tolist()
                if row in owner.ranges
            },
            paths={},
        )

    def _part(self, rows: Ints, number: int) -> tuple[OwnerItems, Ints]:
        owner, start = self._owners[number], self._starts[number]
        return owner, rows[(rows >= start) & (rows < start + owner.count)] - start

    def _name_distances(self, owner: OwnerItems, rows: Ints) -> Column:
        names = self._wish.names.values()
        columns = [1.0 - np.vecdot(owner.vectors[rows], _as_stored(name)) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))

    def _callers(self, name: str) -> Ints:
        owners = zip(self._owners, self._starts.tolist(), strict=True)
        called = [(owner.callers.get(name, array("i")), start) for owner, start in owners]
        return np.concatenate([np.frombuffer(rows, np.int32) + start for rows, start in called])

    def has(self, hits: Sequence[CandidateRow], now: datetime) -> bool:
        """Return whether all hits are there, and were last recalled when this process thinks.

        If not, it knows the time from now on. A recall is no change of an item.
        """
        stale = [hit for hit in hits if abs((hit.weight or 0) - self._hits[hit.id]) > _SAME_WEIGHT]
        for hit in stale:
            for owner in self._owners:
                row = owner.rows.get(hit.id)
                if row is not None and hit.weight:
                    # The time of the last use that leaves as much.
                    halves = math.log2(max(owner.columns["importance"][row] / hit.weight, 1.0))
                    half_life = min(float(owner.columns["half_life"][row]), LONGEST_DAYS)
                    seconds = 86_400 * half_life * halves
                    owner.columns["used"][row] = now.timestamp() - seconds
        return not stale and len(hits) == len(self._hits)

    def with_words(self, candidates: Sequence[CandidateRow]) -> list[CandidateRow]:
        """Return candidates with their words of the question."""
        ids = [candidate.id for candidate in candidates]
        found = np.full(len(ids), -1)
        for (rows, count), start in zip(self._rows, self._starts, strict=True):
            own = np.array([rows.get(item, -1) for item in ids], dtype=np.int64)
            found = np.where((own < 0) | (own >= count), found, own + start)
        scores = self._words[:, found].T.astype(np.float32) * (found >= 0)[:, None]
        words: list[tuple[list[int], list[float]]] = [([], []) for _ in candidates]
        number, word = np.nonzero(scores)
        values = scores[number, word]
        for n, w, value in zip(number.tolist(), word.tolist(), values.tolist(), strict=True):
            words[n][0].append(w)
            words[n][1].append(value)
        return [
            CandidateRow._make((*row[:_WORDS], *own, *row[_WORDS + 2 :])) if own[0] else row
            for row, own in zip(candidates, words, strict=True)
        ]


def _as_stored(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector of length 1, of numbers as precise as stored ones."""
    return unit(vector.astype(np.float16).astype(np.float32))


def _joined(values: Sequence[Mapping[K, int]]) -> tuple[list[Ints], list[K]]:
    """Return the codes for all owners by those of each, and the values; the first keep theirs."""
    joined = dict(values[0])
    if len(values) == 1:
        return [], list(joined)
    codes = [[joined.setdefault(value, len(joined)) for value in each] for each in values]
    return [np.array(each, np.int64) for each in codes], list(joined)
