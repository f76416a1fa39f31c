"""What the document is of rows, and what an import of one adds. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from remembrancer.document.schemas import (
    DocumentImport,
    MemoryDocument,
    MemoryFact,
    MemoryMetadata,
    PlacePoi,
)
from remembrancer.memories.rules import Said, statement_hash
from remembrancer.memories.schemas import MemoryCreate, Status
from remembrancer.places import rules as places
from remembrancer.places.schemas import PlaceCreate


def document(
    rows: Sequence[Any], mentions: Mapping[str, Sequence[Any]], since: datetime
) -> MemoryDocument:
    """Return the document of memories (rows, in order) and the mentions of those with a place.

    ``since`` is when the document was last written if nothing is in it. A place that lies in
    several scopes is one, as the first of them has it, with the mentions of all.
    """
    facts = [_fact(row) for row in rows if row.place_id is None]
    spots: dict[str, list[Any]] = {}
    for row in rows:
        if row.place_id is not None and row.status == Status.ACTIVE:
            spots.setdefault(row.place_id, []).append(row)
    written = [row.updated_at for row in rows]
    written += [said.mentioned_at for some in mentions.values() for said in some]
    return MemoryDocument(
        facts=facts,
        placer_user_datapoints=[_poi(same, mentions) for same in spots.values()],
        metadata=MemoryMetadata(
            last_updated=max(written, default=since),
            total_facts=len(facts),
            total_active_facts=sum(fact.is_active for fact in facts),
            total_pois=len(spots),
            token_count=sum(row.tokens for row in rows),
        ),
    )


def _fact(row: Any) -> MemoryFact:
    return MemoryFact(
        id=row.id,
        content=row.content,
        added_at=row.created_at,
        source_conversation_id=row.conversation_id,
        source_message_id=row.message_id,
        is_active=row.status == Status.ACTIVE,
    )


def _poi(same: Sequence[Any], mentions: Mapping[str, Sequence[Any]]) -> PlacePoi:
    said = [one for row in same for one in mentions.get(row.id, ())]
    first = same[0]
    return PlacePoi(
        place_id=first.place_id,
        place_name=first.subject,
        notes=places.notes_of(first),
        mentioned_in=places.by_conversation(sorted(said, key=lambda one: one.mentioned_at)),
        added_at=first.created_at,
    )


@dataclass(frozen=True, slots=True)
class Item:
    """One memory of a document that is imported; ``path`` is where it stands there."""

    path: str
    id: str | None
    statement: MemoryCreate
    at: datetime
    status: Status
    mentions: Sequence[Said]

    @property
    def hash(self) -> bytes:
        """What makes it the same statement as another."""
        return statement_hash(self.statement.content, None, None, self.statement.place_id)


def items(sent: DocumentImport, now: datetime) -> list[Item]:
    """Return the memories of a document: active facts, inactive ones, then places.

    Nothing was added later than ``now``, whatever other clocks say.
    """
    facts = [
        Item(
            path=f"facts.{number}",
            id=fact.id,
            statement=MemoryCreate(
                content=fact.content,
                conversation_id=fact.source_conversation_id,
                message_id=fact.source_message_id,
            ),
            at=min(fact.added_at, now),
            status=Status.ACTIVE if fact.is_active else Status.INACTIVE,
            mentions=[
                (fact.source_conversation_id, fact.source_message_id, min(fact.added_at, now))
            ],
        )
        for number, fact in enumerate(sent.facts)
    ]
    pois = [
        Item(
            path=f"placer_user_datapoints.{number}",
            id=None,
            statement=places.as_memory(
                PlaceCreate(place_id=poi.place_id, place_name=poi.place_name, notes=poi.notes)
            ),
            at=min(poi.added_at, now),
            status=Status.ACTIVE,
            mentions=list(poi.mentions()),
        )
        for number, poi in enumerate(sent.placer_user_datapoints)
    ]
    return [*sorted(facts, key=lambda item: item.status != Status.ACTIVE), *pois]


def own_id(foreign: str) -> str | None:
    """Return the id that a memory keeps of one another system gave: itself, a UUID's digits."""
    if foreign.isascii() and foreign.isalnum():
        return foreign
    try:
        return UUID(foreign).hex
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Known:
    """What a user has already, of what a document is about.

    ``words`` are, by id, all the contents that a memory has or had; ``taken`` all ids that are
    in use; ``hashes`` the statements; ``spots`` the memory of each place id, and ``said`` its
    mentions.
    """

    words: Mapping[str, Collection[str]]
    taken: Collection[str]
    hashes: Collection[bytes]
    spots: Mapping[str, str]
    said: Mapping[str, Sequence[Said]]


@dataclass(slots=True)
class Plan:
    """What an import adds. ``adding`` names the id that each keeps, if it can."""

    adding: list[tuple[str | None, Item]] = field(default_factory=list)
    facts_known: int = 0
    pois_known: int = 0
    mentions: list[tuple[str, Said]] = field(default_factory=list)

    @property
    def missing(self) -> set[str]:
        """Contents that are to be stored, and so must be searchable."""
        return {item.statement.content for _, item in self.adding}


def plan(wanted: Sequence[Item], known: Known) -> Plan:
    """Return what of a document is not there.

    A fact is there if its id says, or once said, the same, or if another memory says it now. So
    an old document takes no update back, and what was forgotten stays so.
    """
    planned = Plan()
    taken, hashes = set(known.taken), set(known.hashes)
    for item in wanted:
        if item.statement.place_id is not None:
            continue
        kept = own_id(item.id or "")
        if item.statement.content in known.words.get(kept or "", ()) or item.hash in hashes:
            planned.facts_known += 1
            continue
        kept = None if kept in taken else kept
        planned.adding.append((kept, item))
        hashes.add(item.hash)
        taken |= {kept} if kept else set()
    _plan_places(planned, [item for item in wanted if item.statement.place_id], known)
    return planned


def _plan_places(planned: Plan, wanted: Sequence[Item], known: Known) -> None:
    spots: dict[str, list[Item]] = {}
    for item in wanted:
        spots.setdefault(item.statement.place_id or "", []).append(item)
    for place_id, same in spots.items():
        said = [mention for item in same for mention in item.mentions]
        first = same[0]
        if memory_id := known.spots.get(place_id):
            planned.pois_known += 1
            more = Counter(said) - Counter(known.said.get(place_id, ()))
            planned.mentions += [(memory_id, mention) for mention in more.elements()]
        else:
            whole = Item(first.path, None, first.statement, first.at, first.status, said)
            planned.adding.append((None, whole))
