"""Candidates as arrays, which the ranking reads: of rows of the database, or of items in memory."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from remembrancer.recall.rows import CandidateRow, GraphPath

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

SOURCES: Final = ("memory", "chunk", "message")
"""In the order of items with the same score."""
MEMORY, CHUNK, MESSAGE = range(len(SOURCES))
PLACES: Final = 40
"""Bits of a position in a place: no neighbour of a message is in the next conversation."""
Speaker = tuple[str | None, str | None]
"""Role and name of a sender."""

_CALLS: Final = tuple(
    map(
        re.compile,
        (
            r"^\W*([^\W\d_]+)\s*(?:[,.!?]|$)",
            r"^\W*[^\W\d_]+\W+([^\W\d_]+)\s*(?:[,.!?]|$)",
            r", ([^\W\d_]+)(?=\s*[.!?])",
        ),
    )
)


def calls(text: str) -> set[str]:
    """Return words of a text that call somebody, if they are names: "Hey Kate!", "Yes, Kate."."""
    return {word for pattern in _CALLS for word in pattern.findall(text) if len(word) > 2}


def places(talks: Ints, positions: Ints) -> Ints:
    """Return a number for each message, adjacent for neighbours only; -1 without a position."""
    return np.where((talks > 0) & (positions >= 0), (talks << PLACES) + positions, -1)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of each candidate: arrays of shape (n,) unless said otherwise."""

    items: float
    """Number of items that the asker sees."""
    ids: Ints
    sources: Ints
    """Index in ``SOURCES``."""
    talks: Ints
    """Number of the conversation, 0 for none."""
    positions: Ints
    """Place there; -1 for what is no message."""
    at: Floats
    """Seconds since 1970."""
    traits: Ints
    distance: Floats
    """Cosine distance to the question, 0-2; NaN without a vector."""
    name_distances: Floats
    """Cosine distance to each name in the question, shape (n, names)."""
    exact: Mask
    """Whether the text equals the question."""
    hashes: Sequence[bytes]
    """Hash of the text without case, width, extra spaces and a final full stop."""
    words: Floats
    """BM25 of each word of the question, shape (n, words)."""
    speakers: Ints
    """Index in ``speaker_names``."""
    speaker_names: Sequence[Speaker]
    callers: Mapping[str, Ints]
    """Rows of messages that call a name of the question, by name."""
    weight: Floats
    """Importance of a memory after decay, 0-1; 0 for others."""
    says_more: Mask
    """Whether a memory says more than its message: it is pinned, or has later versions or
    revisions."""
    cited: Ints
    """Row of the message that a memory is from, -1 if it is none of the candidates."""
    ranges: Mapping[int, tuple[int, int]]
    """Positions of the first and last message of a chunk, by row."""
    paths: Mapping[int, GraphPath]
    """Of what the walk over associations reached, by row."""

    @property
    def places(self) -> Ints:
        """A number for each message, adjacent for neighbours only; -1 for other items."""
        return np.where(self.sources == MESSAGE, places(self.talks, self.positions), -1)

    @property
    def senders(self) -> set[str]:
        """The names of those who said something."""
        return {
            name
            for number in set(self.speakers.tolist())
            if (name := self.speaker_names[number][1])
        }

    def of_speakers(self, value: Callable[[Speaker], float]) -> Floats:
        """Return a value for each candidate by its speaker."""
        return np.array([value(speaker) for speaker in self.speaker_names])[self.speakers]


def of_rows(rows: Sequence[CandidateRow], names: Sequence[str] = ()) -> Candidates:
    """Return the candidates that the database found; ``names`` are those in the question."""
    talks: dict[UUID | None, int] = {None: 0}
    speakers: dict[Speaker, int] = {}
    cited = {row.message_id for row in rows if row.message_id}
    row_of = {row.source_id: number for number, row in enumerate(rows) if row.source_id in cited}
    no_names = [1.0] * max((len(row.name_distances or ()) for row in rows), default=0)
    called = [calls(row.content) if names and row.sender_name else set() for row in rows]
    return Candidates(
        items=rows[0].items if rows else 0.0,
        ids=_ints(row.id for row in rows),
        sources=_ints(SOURCES.index(row.source_type) for row in rows),
        talks=_ints(talks.setdefault(row.conversation_id, len(talks)) for row in rows),
        positions=_ints(-1 if row.position is None else row.position for row in rows),
        at=np.array([row.at.timestamp() for row in rows]),
        traits=_ints(row.traits for row in rows),
        distance=np.array([row.distance for row in rows], np.float64),
        name_distances=np.array([row.name_distances or no_names for row in rows]),
        exact=np.array([row.exact for row in rows], bool),
        hashes=[row.content_hash for row in rows],
        words=_word_scores(rows),
        speakers=_ints(
            speakers.setdefault((row.role, row.sender_name), len(speakers)) for row in rows
        ),
        speaker_names=list(speakers),
        callers={name: np.flatnonzero([name in each for each in called]) for name in names},
        weight=np.array([row.weight or 0.0 for row in rows]),
        says_more=np.array(
            [bool(row.version != 1 or row.revisions or row.pinned) for row in rows], bool
        ),
        cited=_ints(row_of.get(row.message_id, -1) if row.message_id else -1 for row in rows),
        ranges={
            number: (row.range_start, row.range_end)
            for number, row in enumerate(rows)
            if row.range_start is not None and row.range_end is not None
        },
        paths={number: row.path for number, row in enumerate(rows) if row.path},
    )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _word_scores(rows: Sequence[CandidateRow]) -> Floats:
    """Return each candidate's score for each word of the question, shape (n, words)."""
    numbers = [number for number, row in enumerate(rows) for _ in row.words or ()]
    words = [word for row in rows for word in row.words or ()]
    scores = [score for row in rows for score in row.scores or ()]
    result = np.zeros((len(rows), max(words, default=-1) + 1))
    np.maximum.at(result, (numbers, words), scores)
    return result
