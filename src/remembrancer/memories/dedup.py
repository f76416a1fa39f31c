"""Which statements are new, and which repeat a memory. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from remembrancer.access import Placement
from remembrancer.memories.schemas import Outcome


@dataclass(frozen=True, slots=True)
class Candidate:
    placement: Placement
    hash: bytes
    subject_key: str | None
    allow_similar: bool
    place_id: str | None = None
    pending: bool = False
    """A pending memory is nothing that an active one could be a mention of."""
    external_id: str | None = None
    content: str = ""


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A memory with an id of its writer."""

    id: str
    content: str
    expired: bool = False


@dataclass(frozen=True, slots=True)
class ExistingMemories:
    """Ids of the memories that a batch of statements may repeat."""

    same: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    """By placement and statement hash."""
    pending: dict[tuple[Placement, bytes], str] = field(default_factory=dict)
    """Pending ones, like ``same``: only a pending statement repeats them."""
    subjects: dict[tuple[Placement, str], str] = field(default_factory=dict)
    """By placement and subject."""
    places: dict[tuple[Placement, str], str] = field(default_factory=dict)
    """By placement and place id."""
    named: dict[tuple[Placement, str], NamedMemory] = field(default_factory=dict)
    """By placement and the id of their writer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a statement, and the memory: a new id, or that of an existing one.

    A mention within one batch may name a statement that was created before it.
    """

    outcome: Outcome
    memory_id: str


def judge(
    candidates: Sequence[Candidate], existing: ExistingMemories, new_ids: Sequence[str]
) -> list[Verdict]:
    """Return a verdict for each statement of one owner, in order.

    The same statement in the same placement is a mention. A memory on the same subject makes it
    ``SIMILAR``, unless the writer allows similar ones. A place is identified by its place id
    alone, and a memory with an id of its writer by that: with the same content it is
    ``UNCHANGED``, with another one ``SIMILAR``. Statements are compared with those before them too.
    """
    ids = iter(new_ids)
    places, same = dict(existing.places), dict(existing.same)
    subjects, pending = dict(existing.subjects), dict(existing.pending)
    named = dict(existing.named)
    verdicts = []
    for candidate in candidates:
        if candidate.external_id is not None:
            name = (candidate.placement, candidate.external_id)
            memory = named.get(name)
            if memory is None:
                named[name] = memory = NamedMemory(next(ids), candidate.content)
                verdicts.append(Verdict(Outcome.CREATED, memory.id))
            else:
                verdicts.append(Verdict(_repeated(memory, candidate.content), memory.id))
            continue
        if candidate.place_id is not None:
            place = (candidate.placement, candidate.place_id)
            outcome = Outcome.MENTIONED if place in places else Outcome.CREATED
            verdicts.append(Verdict(outcome, places.get(place) or next(ids)))
            places[place] = verdicts[-1].memory_id
            continue
        key = (candidate.placement, candidate.hash)
        repeated = same.get(key) or (pending.get(key) if candidate.pending else None)
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
            verdicts.append(Verdict(Outcome.CREATED, new_id))
    return verdicts


def _repeated(memory: NamedMemory, content: str) -> Outcome:
    if memory.content != content:
        return Outcome.SIMILAR
    # A mention revives it.
    return Outcome.MENTIONED if memory.expired else Outcome.UNCHANGED


class _Comparable(Protocol):
    """The columns of a memory that decide whether it repeats another one."""

    @property
    def id(self) -> str: ...
    @property
    def content_hash(self) -> bytes: ...
    @property
    def place_id(self) -> str | None: ...
    @property
    def address(self) -> Sequence[str] | None: ...


def repeats(moving: Iterable[_Comparable], staying: Sequence[_Comparable]) -> dict[str, str]:
    """Return which moving memories repeat a staying one: its id, by the id of the moving one.

    They have the same statement hash, as the database's constraint has it. A place is compared by
    its place id alone, a record by its address.
    """
    ids = {_key(memory): memory.id for memory in reversed(staying)}
    return {memory.id: ids[key] for memory in moving if (key := _key(memory)) in ids}


def _key(memory: _Comparable) -> tuple[object, ...]:
    if memory.place_id is not None:
        return ("place", memory.place_id)
    if memory.address is not None:
        return ("address", *memory.address)
    return ("hash", bytes(memory.content_hash))
