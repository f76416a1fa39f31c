"""Is a statement new? The decision, apart from the queries that feed it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remembrancer.access import Placement
from remembrancer.memories.rules import says_the_same, telling_words
from remembrancer.memories.schemas import Kind, Outcome


@dataclass(frozen=True, slots=True)
class Candidate:
    """What of a statement decides whether it is new."""

    content: str
    place: Placement
    kind: Kind
    interval: tuple[object, object]
    hash: bytes
    vector: NDArray[np.float32]
    subject_key: str | None
    insists: bool
    place_id: str | None = None
    waits: bool = False
    """It waits for its owner, and until then is nothing that others could be a mention of."""


@dataclass(frozen=True, slots=True)
class Known:
    """Memories that a batch of statements may be about.

    ``same`` maps place and hash to a memory id; ``near`` a statement's index to the id and
    content of the nearest like memory; ``subjects`` place and subject to a memory id;
    ``spots`` place and place id to a memory id.
    """

    same: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    waiting: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    """Like ``same``, of memories that wait: only what waits as well repeats them."""
    near: dict[int, tuple[str, str]] = field(default_factory=dict)
    subjects: dict[tuple[Placement, str], str] = field(default_factory=dict)
    spots: dict[tuple[Placement, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a statement: create it under a new id, or look at ``memory_id``.

    ``memory_id`` of a mention within one batch is that of a statement created before it.
    """

    outcome: Outcome
    memory_id: str


def judge(
    candidates: Sequence[Candidate], known: Known, new_ids: Sequence[str], threshold: float
) -> list[Verdict]:
    """Return a verdict for each statement of one owner, in order.

    The same words in the same place are a mention; so is a nearest neighbour of cosine
    similarity ``threshold`` or more whose numbers, names and negations agree. A memory on
    the same subject is suggested instead, unless the writer insists. A place is known by its
    place id alone. Statements of the batch are held against those before them too.
    """
    spare = iter(new_ids)
    spots = dict(known.spots)
    same, subjects, waiting = dict(known.same), dict(known.subjects), dict(known.waiting)
    created: list[tuple[str, Candidate]] = []
    verdicts = []
    for index, candidate in enumerate(candidates):
        if candidate.place_id is not None:
            spot = (candidate.place, candidate.place_id)
            there = spots.get(spot)
            spots[spot] = there or next(spare)
            outcome = Outcome.MENTIONED if there else Outcome.CREATED
            verdicts.append(Verdict(outcome, spots[spot]))
            continue
        key = (candidate.place, candidate.hash)
        found = same.get(key) or (candidate.waits and waiting.get(key))
        found = found or _near(candidate, known.near.get(index), created, threshold)
        subject = (candidate.place, candidate.subject_key or "")
        if found:
            verdicts.append(Verdict(Outcome.MENTIONED, found))
        elif candidate.subject_key and not candidate.insists and subject in subjects:
            verdicts.append(Verdict(Outcome.SIMILAR, subjects[subject]))
        else:
            new_id = next(spare)
            if candidate.waits:
                waiting[key] = new_id
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
        if (other.place, other.kind, other.interval, other.waits)
        == (candidate.place, candidate.kind, candidate.interval, candidate.waits)
    )
    for new_id, other in alike:
        if float(candidate.vector @ other.vector) >= threshold and says_the_same(
            candidate.content, other.content
        ):
            return new_id
    return None


def repeats(moving: Sequence[Any], there: Sequence[Any]) -> dict[str, str]:
    """Return which of the memories that move says what one that is there says, by id.

    The statement hash is that of the database's constraint; else the same kind, interval and
    words. A place is known by its place id alone, a record by its address. Both are rows of
    ``memories``.
    """
    known = {key: memory.id for memory in reversed(there) for key in _says(memory)}
    found = {}
    for memory in moving:
        same = next((known[key] for key in _says(memory) if key in known), None)
        if same is not None:
            found[memory.id] = same
    return found


def _says(memory: Any) -> list[tuple[object, ...]]:
    if memory.place_id is not None:
        return [("place", memory.place_id)]
    if memory.address is not None:
        return [("address", *memory.address)]
    words = tuple(telling_words(memory.content))
    return [
        ("hash", bytes(memory.content_hash)),
        ("words", memory.kind, memory.valid_from, memory.valid_to, words),
    ]
