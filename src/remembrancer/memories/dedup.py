"""Which statements are new, and which repeat a memory. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from remembrancer.access import Placement
from remembrancer.memories.rules import says_the_same, telling_words
from remembrancer.memories.schemas import Kind, Outcome


@dataclass(frozen=True, slots=True)
class Candidate:
    content: str
    placement: Placement
    kind: Kind
    interval: tuple[object, object]
    hash: bytes
    vector: NDArray[np.float32]
    subject_key: str | None
    allow_similar: bool
    place_id: str | None = None
    pending: bool = False
    """A pending memory is nothing that an active one could be a mention of."""


@dataclass(frozen=True, slots=True)
class ExistingMemories:
    """Ids of the memories that a batch of statements may repeat."""

    same: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    """By placement and statement hash."""
    pending: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    """Pending ones, like ``same``: only a pending statement repeats them."""
    near: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Id and content of the nearest memory, by the index of the statement."""
    subjects: dict[tuple[Placement, str], str] = field(default_factory=dict)
    """By placement and subject."""
    places: dict[tuple[Placement, str], str] = field(default_factory=dict)
    """By placement and place id."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a statement, and the memory: a new id, or that of an existing one.

    A mention within one batch may name a statement that was created before it.
    """

    outcome: Outcome
    memory_id: str


def judge(
    candidates: Sequence[Candidate],
    existing: ExistingMemories,
    new_ids: Sequence[str],
    threshold: float,
) -> list[Verdict]:
    """Return a verdict for each statement of one owner, in order.

    The same words in the same placement are a mention; so is a nearest neighbour of cosine
    similarity ``threshold`` or more whose numbers, names and negations agree. A memory on
    the same subject makes it ``SIMILAR``, unless the writer allows similar ones. A place is
    identified by its place id alone. Statements are compared with those before them too.
    """
    ids = iter(new_ids)
    places, same = dict(existing.places), dict(existing.same)
    subjects, pending = dict(existing.subjects), dict(existing.pending)
    created: list[tuple[str, Candidate]] = []
    verdicts = []
    for index, candidate in enumerate(candidates):
        if candidate.place_id is not None:
            place = (candidate.placement, candidate.place_id)
            outcome = Outcome.MENTIONED if place in places else Outcome.CREATED
            verdicts.append(Verdict(outcome, places.get(place) or next(ids)))
            places[place] = verdicts[-1].memory_id
            continue
        key = (candidate.placement, candidate.hash)
        repeated = same.get(key) or (pending.get(key) if candidate.pending else None)
        repeated = repeated or _near(candidate, existing.near.get(index), created, threshold)
        subject = (candidate.placement, candidate.subject_key or "")
        if repeated:
            verdicts.append(Verdict(Outcome.MENTIONED, repeated))
        elif candidate.subject_key and not candidate.allow_similar and subject in subjects:
            verdicts.append(Verdict(Outcome.SIMILAR, subjects[subject]))
        else:
            new_id = next(ids)
            if candidate.pending:
                pending[key] = new_id
            else:
                same[key] = new_id
                subjects.setdefault(subject, new_id)
            created.append((new_id, candidate))
            verdicts.append(Verdict(Outcome.CREATED, new_id))
    return verdicts


def _near(
    candidate: Candidate,
    stored: tuple[str, str] | None,
    created: Sequence[tuple[str, Candidate]],
    threshold: float,
) -> str | None:
    if stored is not None and says_the_same(candidate.content, stored[1]):
        return stored[0]
    alike = (
        (new_id, other)
        for new_id, other in created
        if (other.placement, other.kind, other.interval, other.pending)
        == (candidate.placement, candidate.kind, candidate.interval, candidate.pending)
    )
    for new_id, other in alike:
        if float(candidate.vector @ other.vector) >= threshold and says_the_same(
            candidate.content, other.content
        ):
            return new_id
    return None


class _Comparable(Protocol):
    """The columns of a memory that decide whether it repeats another one."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def content_hash(self) -> bytes: ...
    @property
    def place_id(self) -> str | None: ...
    @property
    def address(self) -> Sequence[str] | None: ...
    @property
    def valid_from(self) -> datetime | None: ...
    @property
    def valid_to(self) -> datetime | None: ...


def repeats(moving: Iterable[_Comparable], staying: Sequence[_Comparable]) -> dict[str, str]:
    """Return which moving memories repeat a staying one: its id, by the id of the moving one.

    They have the same statement hash, as the database's constraint has it, or the same kind,
    interval and telling words. A place is compared by its place id alone, a record by its address.
    """
    ids = {key: memory.id for memory in reversed(staying) for key in _keys(memory)}
    result = {}
    for memory in moving:
        original = next((ids[key] for key in _keys(memory) if key in ids), None)
        if original is not None:
            result[memory.id] = original
    return result


def _keys(memory: _Comparable) -> list[tuple[object, ...]]:
    if memory.place_id is not None:
        return [("place", memory.place_id)]
    if memory.address is not None:
        return [("address", *memory.address)]
    words = tuple(telling_words(memory.content))
    return [
        ("hash", bytes(memory.content_hash)),
        ("words", memory.kind, memory.valid_from, memory.valid_to, words),
    ]
