"""The items of one owner in memory, in arrays: what a recall chooses by, and ranks by."""

import math
from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from remembrancer.access import Placement, Visibility
from remembrancer.memories.decay import HALF_LIFE_DAYS
from remembrancer.memories.schemas import Kind
from remembrancer.recall.candidates import SOURCES, Ints, Speaker, calls, places

Column = NDArray[Any]

COLUMNS: Final = {
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
_COMPLETE: Final = 2**63 - 1


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
            name: np.zeros(0, dtype) for name, dtype in COLUMNS.items()
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

    def apply(self, owner_id: UUID, rows: Sequence[ChangeRow], *, page: int) -> bool:
        """Note what changed; return whether that was nothing.

        ``page`` is how many further items were asked for.
        """
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
            ids = [row.id or 0 for row in items if row.paged]
            self.after = max(ids) if len(ids) == page else _COMPLETE
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
            self.columns[name][at] = np.array(column, COLUMNS[name])
        halves = np.frombuffer(b"".join(row.embedding for row in items), ">f2")
        self.vectors[at] = unit(halves.reshape(len(items), -1)[:, 2:].astype(np.float32))
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
        return self._rows[index(self._keys, keys)]


def index(values: Ints, wanted: Ints) -> Ints:
    """Return where each wanted value is among ascending ones, -1 for none."""
    if not len(values):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[at] == wanted, at, -1)


def distinct(values: Ints) -> Ints:
    """Return values in order, each once; in a third of the time of NumPy's ``unique``."""
    ascending = np.sort(values)
    is_new = np.ones(len(ascending), dtype=bool)
    is_new[1:] = ascending[1:] != ascending[:-1]
    return ascending[is_new]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors of length 1."""
    lengths = np.sqrt(np.vecdot(vectors, vectors))[..., None]
    unit_vectors: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit_vectors
