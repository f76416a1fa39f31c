"""Items of owners in memory: a recall chooses its candidates here, without a scan in Postgres.

What is here is a guess, and so is a ranking of it. The recall's round trip reads what was chosen,
or the hits, under the visibility rule and row-level security, and says afterwards what has changed
since (``sql/changes.sql``). If anything has, its rows are dropped and the recall starts again. So
nothing is stale, and nobody sees what the rule does not allow
(docs/decisions/0046-items-in-memory.md, 0053-rank-before-the-trip.md).
"""

import math
import time
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from remembrancer.access import Actor, Placement, Viewer, Visibility, can_see
from remembrancer.db.arrays import array as sent
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.decay import HALF_LIFE_DAYS, LONGEST_DAYS
from remembrancer.memories.schemas import Kind
from remembrancer.recall.candidates import (
    MESSAGE,
    SOURCES,
    Candidates,
    Ints,
    Mask,
    Speaker,
    calls,
    places,
)
from remembrancer.recall.rows import CandidateRow, HitRow
from remembrancer.recall.signals import REACH

K = TypeVar("K")
V = TypeVar("V")
Column = NDArray[Any]
Filters = Mapping[str, Any]

MOST_ITEMS: Final = 60_000
"""Items in memory, of all owners; with the bundled model, some 2 kB each."""
FEW = 300
"""Items up to which the database's search costs no more than this one."""
PAGE: Final = 2_000
"""Items that a recall reads for the next ones."""
UNUSED: Final = 600.0
"""Seconds after which the items of an owner are dropped who recalls nothing."""
MOST_GUESSES: Final = 10_000
SUPPORTED: Final = frozenset(
    {"source_types", "names", "told_in", "window", "told_from", "told_before", "per_days"}
)
"""Filters of a query whose candidates are chosen here."""
BM25_K1: Final = 0.9
BM25_B: Final = 0.4
_COMPLETE: Final = 2**63 - 1
_SAID: Final = ("talk", "position")
_CITED: Final = ("cited_talk", "cited_position")
_STEPS: Final = np.arange(-REACH, REACH + 1)
_SAME_WEIGHT: Final = 1e-3
"""Difference of a decayed importance that hardly counts: a ten-thousandth of a score."""
_WORDS: Final = CandidateRow._fields.index("words")
_COLUMNS: Final = {
    "id": "i8",
    "current": "?",
    "source": "i1",
    "length": "f8",
    "placement": "i4",
    "talk": "i4",
    "position": "i4",
    "at": "f8",
    "hash": "V16",
    "traits": "i2",
    "speaker": "i4",
    "importance": "f8",
    "half_life": "f4",
    "used": "f8",
    "says_more": "?",
    "cited_talk": "i4",
    "cited_position": "i4",
}


class ChangeRow(NamedTuple):
    """An item that changed, or the next one to read; null from `paged` on for neither."""

    place: int
    since: int | None
    after: int
    """What was known when the round trip began."""
    version: int | None
    reset: bool
    changes: list[int] | None
    expired: bool
    message_count: int | None
    paged: bool | None
    id: int | None
    current: bool
    source_type: str
    length: int
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    conversation_id: UUID | None
    position: int | None
    memory_id: str | None
    at: datetime
    content_hash: bytes
    embedding: bytes
    terms: str
    traits: int
    kind: str | None
    importance: float | None
    memory_version: int | None
    role: str | None
    sender_name: str | None
    content: str | None
    """Of a message."""
    pinned: bool | None
    last_accessed_at: datetime | None
    cited_conversation_id: UUID | None
    """Of the message that a memory is from, with its place there."""
    cited_position: int | None
    range_start: int | None
    range_end: int | None


class OwnerItems:
    """The items of one owner."""

    def __init__(self) -> None:
        self.used = 0.0
        self.is_too_large = False
        self.void()

    def void(self) -> None:
        """Drop all items."""
        self.version: int | None = -1
        self.after, self.count = -1, 0
        self.columns: dict[str, Column] = {
            name: np.zeros(0, dtype) for name, dtype in _COLUMNS.items()
        }
        self.vectors: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self.rows: dict[int, int] = {}
        """Row by id."""
        self.memory_ids: list[str] = []
        self.placements: dict[Placement, int] = {}
        self.talks: dict[UUID | None, int] = {None: 0}
        self.speakers: dict[Speaker, int] = {}
        self.ranges: dict[int, tuple[int, int]] = {}
        """Positions of the first and last message of a chunk, by row."""
        self.postings: dict[str, array[int]] = {}
        """Row and frequency, by term, one after the other."""
        self.callers: dict[str, array[int]] = {}
        """Rows of messages that call somebody, by the name."""
        self._seats: Seats | None = None

    @property
    def seats(self) -> "Seats":
        """Where the messages are."""
        if self._seats is None:
            names = ("talk", "position", "current")
            self._seats = Seats(*(self.columns[name][: self.count] for name in names))
        return self._seats

    def apply(self, owner_id: UUID, rows: Sequence[ChangeRow]) -> bool:
        """Note what changed; return whether that was nothing."""
        first = rows[0]
        items = [row for row in rows if row.id is not None]
        is_same = not (items or first.changes or first.reset)
        if (first.since, first.after) != (self.version, self.after):
            return is_same  # another recall has noted more meanwhile
        if first.reset:
            self.void()
        if not self.rows.keys().isdisjoint(
            set(first.changes or ()).difference(row.id for row in items)
        ):
            # Words of what is gone are not to stay.
            self.void()
            return False
        if self.after < _COMPLETE:
            page = [row.id or 0 for row in items if row.paged]
            self.after = max(page) if len(page) == PAGE else _COMPLETE
        if items:
            self._store(owner_id, list({row.id: row for row in items}.values()))
        self.version = first.version
        return is_same

    @property
    def is_complete(self) -> bool:
        """Whether every item is here."""
        return self.after == _COMPLETE and self.version is not None

    def _store(self, owner_id: UUID, items: Sequence[ChangeRow]) -> None:
        known = len(self.rows)
        at = np.array([self.rows.setdefault(row.id or 0, len(self.rows)) for row in items])
        self.count = len(self.rows)
        self._grow(len(items[0].embedding) // 2 - 2)
        for name, column in self._values(owner_id, items).items():
            self.columns[name][at] = np.array(column, _COLUMNS[name])
        halves = np.frombuffer(b"".join(row.embedding for row in items), ">f2")
        self.vectors[at] = _unit(halves.reshape(len(items), -1)[:, 2:].astype(np.float32))
        self._seats = None
        self.memory_ids += [""] * (self.count - known)
        for number, row in zip(at.tolist(), items, strict=True):
            self.memory_ids[number] = row.memory_id or ""
            if number >= known:
                self._add_text(number, row)

    def _add_text(self, number: int, row: ChangeRow) -> None:
        """Add what never changes: the words of an item, and where a chunk is."""
        if row.range_start is not None and row.range_end is not None:
            self.ranges[number] = row.range_start, row.range_end
        if row.content and row.sender_name:
            for name in calls(row.content):
                self.callers.setdefault(name, array("i")).append(number)
        for term in row.terms.split():
            posting = self.postings.get(term)
            if posting is None:
                self.postings[term] = array("i", (number, 1))
            elif posting[-2] == number:
                posting[-1] += 1
            else:
                posting.extend((number, 1))

    def _values(self, owner_id: UUID, items: Sequence[ChangeRow]) -> dict[str, Sequence[object]]:
        """Return the values of items by column."""
        placements = [
            Placement(owner_id, row.agent_id, row.space_id, Visibility(row.visibility))
            for row in items
        ]
        return {
            "id": [row.id for row in items],
            "current": [row.current for row in items],
            "source": [SOURCES.index(row.source_type) for row in items],
            "length": [row.length for row in items],
            "placement": [self.placements.setdefault(p, len(self.placements)) for p in placements],
            "talk": [self.talks.setdefault(row.conversation_id, len(self.talks)) for row in items],
            "position": [-1 if row.position is None else row.position for row in items],
            "at": [row.at.timestamp() for row in items],
            "hash": [np.void(row.content_hash[:16].ljust(16, b"\0")) for row in items],
            "traits": [row.traits for row in items],
            "speaker": [
                self.speakers.setdefault((row.role, row.sender_name), len(self.speakers))
                for row in items
            ],
            "importance": [row.importance or 0.0 for row in items],
            "half_life": [
                (row.kind and HALF_LIFE_DAYS[Kind(row.kind)]) or math.inf for row in items
            ],
            "used": [max(row.at, row.last_accessed_at or row.at).timestamp() for row in items],
            "says_more": [row.memory_version != 1 or bool(row.pinned) for row in items],
            "cited_talk": [
                self.talks.setdefault(row.cited_conversation_id, len(self.talks)) for row in items
            ],
            "cited_position": [
                -1 if row.cited_position is None else row.cited_position for row in items
            ],
        }

    def _grow(self, dimensions: int) -> None:
        have = len(self.vectors)
        if have >= self.count:
            return
        room = max(self.count, have + have // 2)
        for name, column in self.columns.items():
            self.columns[name] = np.concatenate([column, np.zeros(room - have, column.dtype)])
        vectors = np.zeros((room, dimensions), np.float32)
        if have:
            vectors[:have] = self.vectors
        self.vectors = vectors


class Seats:
    """The rows of messages by their places in conversations."""

    def __init__(self, talks: Column, positions: Column, current: Column) -> None:
        """Take columns of all items."""
        rows = np.flatnonzero(current & (positions >= 0) & (talks > 0))
        keys = places(talks[rows].astype(np.int64), positions[rows])
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows = keys[order], np.append(rows[order], -1)

    def rows(self, keys: Ints) -> Ints:
        """Return the row at each place, -1 for none."""
        return self._rows[_index(self._keys, keys)]


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
        self._starts = np.cumsum([0, *(owner.count for owner in self._owners[:-1])])
        self._ids = self._column("id")
        self._ranks: dict[int, int] = {}
        self._score_words(wish.terms)
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
        values, owners = np.zeros(len(rows), _COLUMNS[name]), self._owners_of(rows)
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
        self._total = np.zeros(len(length))
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
        unit = _as_stored(wish.vector)
        # Row by row: a product of matrices gives equal vectors another last digit at another
        # place, and its threads cost more than they save.
        similarity = np.concatenate([np.vecdot(o.vectors[: o.count], unit) for o in self._owners])
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
        around = seats.rows(np.unique(keys[keys >= 0][:, None] + _STEPS))
        around = around[around >= 0]
        # A message is its own neighbour.
        rows = np.unique(np.concatenate([start[said[0] < 0], around[self._seen[around]]]))
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
                name: np.flatnonzero(_index(self._callers(name), rows) >= 0)
                for name in self._wish.names
            },
            weight=self._weights,
            says_more=self._of("says_more", rows),
            cited=_index(rows, seats.rows(self._places_of(rows, *_CITED))),
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

    def has(self, hits: Sequence[HitRow], now: datetime) -> bool:
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


class ItemCache:
    """Items of those who recalled last, with what decides which of them an asker sees."""

    def __init__(self) -> None:
        self._owners: OrderedDict[UUID, OwnerItems] = OrderedDict()
        self._viewers: OrderedDict[tuple[UUID | None, UUID | None], Viewer] = OrderedDict()
        self._talks: OrderedDict[tuple[UUID | None, UUID], int | None] = OrderedDict()
        """The number of messages of a conversation; null for one that the asker does not see."""
        self._expired = False

    def choose(self, actor: Actor, wish: Wish) -> Choice | None:
        """Return the items to start from; none where memory does not have what it takes."""
        viewer = self._viewers.get((actor.user_id, actor.agent_id))
        owners = [self._owners.get(owner) for owner in _owners_of(actor)]
        filters = wish.filters
        if viewer is None or viewer.spaces or self._expired or not filters.keys() <= SUPPORTED:
            return None
        if "window" in filters and (actor.user_id, filters["told_in"]) not in self._talks:
            return None
        seen = []
        for place, owner in enumerate(owners, 1):
            if owner is None or not owner.is_complete:
                return None
            mask = self._seen(actor, owner, viewer, filters)
            if mask is None:
                return None
            if owner.count:
                seen.append((place, owner, mask))
        return Choice(seen, wish) if seen else None

    def _seen(
        self, actor: Actor, owner: OwnerItems, viewer: Viewer, filters: Filters
    ) -> Mask | None:
        columns = {name: column[: owner.count] for name, column in owner.columns.items()}
        visible = np.array([can_see(viewer, place) for place in owner.placements], dtype=bool)
        if "told_in" in filters and any(
            sees and place.space_id for sees, place in zip(visible, owner.placements, strict=True)
        ):
            return None
        seen: Mask = columns["current"].copy()
        if not visible.all():
            seen &= visible[columns["placement"]]
        if sources := filters.get("source_types"):
            seen &= np.array([source in sources for source in SOURCES])[columns["source"]]
        if "window" in filters:
            count = self._talks[actor.user_id, filters["told_in"]]
            last = -1 if count is None else count - filters["window"]
            told = owner.talks.get(filters["told_in"], -1)
            seen &= (columns["talk"] != told) | (np.maximum(columns["position"], 0) <= last)
        return seen

    def begin(self, actor: Actor, candidates: Sequence[CandidateRow]) -> None:
        """Have the next recalls read the items that an asker sees, if they are more than few."""
        if candidates and FEW < candidates[0].items <= MOST_ITEMS:
            for owner_id in _owners_of(actor):
                self._owners.setdefault(owner_id, OwnerItems()).used = time.monotonic()

    def binds(self, actor: Actor, told_in: UUID | None) -> dict[str, object] | None:
        """Return the values of ``sql/changes.sql``; none for an asker without items here."""
        owners = [self._owners[owner] for owner in _owners_of(actor) if owner in self._owners]
        if len(owners) < len(_owners_of(actor)):
            return None
        return {
            "owners": [
                None if items.is_too_large else owner_id
                for owner_id, items in zip(_owners_of(actor), owners, strict=True)
            ],
            "versions": [owner.version for owner in owners],
            "afters": [owner.after for owner in owners],
            "page": PAGE,
            "told_in": told_in,
        }

    def note(
        self, actor: Actor, viewer: Viewer, rows: Sequence[ChangeRow], told_in: UUID | None
    ) -> bool:
        """Note what a round trip says; return whether what was chosen before it holds."""
        key = actor.user_id, actor.agent_id
        holds = self._viewers.get(key) == viewer and not rows[0].expired
        self._expired = rows[0].expired
        _remember(self._viewers, key, viewer)
        if told_in is not None:
            talk, count = (actor.user_id, told_in), rows[0].message_count
            holds &= talk in self._talks and self._talks[talk] == count
            _remember(self._talks, talk, count)
        now = time.monotonic()
        for place, owner_id in enumerate(_owners_of(actor), 1):
            owner = self._owners.setdefault(owner_id, OwnerItems())
            owner.used = now
            self._owners.move_to_end(owner_id)
            if owner.is_too_large:
                holds = False
            else:
                holds &= owner.apply(owner_id, [row for row in rows if row.place == place])
        self._forget(now)
        return holds

    def _forget(self, now: float) -> None:
        total = sum(owner.count for owner in self._owners.values())
        while self._owners:
            owner_id, oldest = next(iter(self._owners.items()))
            if total <= MOST_ITEMS and oldest.used > now - UNUSED:
                return
            total -= oldest.count
            if oldest.count > MOST_ITEMS:
                oldest.void()
                oldest.is_too_large = True
                self._owners.move_to_end(owner_id)
            else:
                del self._owners[owner_id]


def _index(values: Ints, wanted: Ints) -> Ints:
    """Return where each wanted value is among ascending ones, -1 for none."""
    if not len(values):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[at] == wanted, at, -1)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.vecdot(vectors, vectors))[..., None]
    return vectors / np.maximum(lengths, np.float32(1e-12))


def _as_stored(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector of length 1, of numbers as precise as stored ones."""
    return _unit(vector.astype(np.float16).astype(np.float32))


def _joined(values: Sequence[Mapping[K, int]]) -> tuple[list[Ints], list[K]]:
    """Return the codes for all owners by those of each, and the values; the first keep theirs."""
    joined = dict(values[0])
    if len(values) == 1:
        return [], list(joined)
    codes = [[joined.setdefault(value, len(joined)) for value in each] for each in values]
    return [np.array(each, np.int64) for each in codes], list(joined)


def _owners_of(actor: Actor) -> tuple[UUID, ...]:
    return (SHARED_OWNER,) if actor.user_id is None else (actor.user_id, SHARED_OWNER)


def _remember(guesses: OrderedDict[K, V], key: K, value: V) -> None:
    guesses[key] = value
    guesses.move_to_end(key)
    if len(guesses) > MOST_GUESSES:
        guesses.popitem(last=False)
