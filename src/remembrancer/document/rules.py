"""The document of a user's memories, and the plan of an import. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from remembrancer.document.rows import NumbersRow
from remembrancer.document.schemas import (
    DocumentImport,
    DocumentMetadata,
    MemoryDocument,
    MemoryFact,
    PlacePoi,
)
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import MentionSource, statement_hash
from remembrancer.memories.schemas import MemoryCreate, Status
from remembrancer.places import rules as places
from remembrancer.places.rows import PlaceMentionRow
from remembrancer.places.schemas import PlaceCreate


def document(
    rows: Sequence[MemoryRow], mentions: Mapping[str, Sequence[PlaceMentionRow]], since: datetime
) -> MemoryDocument:
    """Return the document of memories, with the mentions of places by memory id.

    ``since`` is the time of an empty document. A place in several scopes appears once, with the
    name and notes of the oldest and the mentions of all.
    """
    facts = [_fact(row) for row in rows if row.place_id is None]
    by_place: dict[str, list[MemoryRow]] = {}
    for row in rows:
        if row.place_id is not None and row.status == Status.ACTIVE:
            by_place.setdefault(row.place_id, []).append(row)
    times = [row.updated_at for row in rows]
    times += [mention.mentioned_at for of_place in mentions.values() for mention in of_place]
    return MemoryDocument(
        facts=facts,
        placer_user_datapoints=[_poi(same, mentions) for same in by_place.values()],
        metadata=DocumentMetadata(
            last_updated=max(times, default=since),
            total_facts=len(facts),
            total_active_facts=sum(fact.is_active for fact in facts),
            total_pois=len(by_place),
            token_count=sum(row.tokens for row in rows),
        ),
    )


def of_whole(part: MemoryDocument, numbers: NumbersRow) -> MemoryDocument:
    """Return a document with some of its facts, with the numbers of all."""
    metadata = part.metadata
    values = {
        "last_updated": max(filter(None, (metadata.last_updated, numbers.updated_at))),
        "total_facts": numbers.facts,
        "total_active_facts": numbers.active_facts,
        "token_count": numbers.tokens,
    }
    return part.model_copy(update={"metadata": metadata.model_copy(update=values)})


def _fact(row: MemoryRow) -> MemoryFact:
    return MemoryFact(
        id=row.id,
        content=row.content,
        added_at=row.created_at,
        source_conversation_id=row.conversation_id,
        source_message_id=row.message_id,
        is_active=row.in_use,
    )


def _poi(rows: Sequence[MemoryRow], mentions: Mapping[str, Sequence[PlaceMentionRow]]) -> PlacePoi:
    all_mentions = [mention for row in rows for mention in mentions.get(row.id, ())]
    first = rows[0]
    return PlacePoi(
        place_id=first.place_id or "",
        place_name=first.subject or "",
        notes=places.notes_of(first),
        mentioned_in=places.by_conversation(sorted(all_mentions, key=lambda m: m.mentioned_at)),
        added_at=first.created_at,
    )


@dataclass(frozen=True, slots=True)
class Item:
    """A memory to import; ``path`` is its position in the document."""

    path: str
    id: str | None
    statement: MemoryCreate
    at: datetime
    status: Status
    mentions: Sequence[MentionSource]

    @property
    def hash(self) -> bytes:
        return statement_hash(self.statement.content, None, None, self.statement.place_id)

    def sources(self) -> Iterator[UUID]:
        """Yield the conversations and messages that it cites."""
        for conversation_id, message_id, _ in self.mentions:
            yield from (source for source in (conversation_id, message_id) if source is not None)

    def without_sources(self, ids: Collection[UUID]) -> "Item":
        """Return the item without these conversations and messages."""

        def remaining(source: UUID | None) -> UUID | None:
            return None if source in ids else source

        changes = {
            "conversation_id": remaining(self.statement.conversation_id),
            "message_id": remaining(self.statement.message_id),
        }
        mentions = [
            (remaining(talk), remaining(message), at) for talk, message, at in self.mentions
        ]
        return replace(self, statement=self.statement.model_copy(update=changes), mentions=mentions)


def items(sent: DocumentImport, now: datetime) -> list[Item]:
    """Return the memories of a document: active facts, inactive facts, places.

    Future times, from clocks that differ, become ``now``.
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
    """Return an id from elsewhere as a memory can have it: as it is, or the digits of a UUID."""
    if foreign.isascii() and foreign.isalnum():
        return foreign
    try:
        return UUID(foreign).hex
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ExistingMemories:
    """The part of a document that the user has already."""

    contents: Mapping[str, Collection[str]]
    """The contents of all versions of a memory, by id."""
    used_ids: Collection[str]
    hashes: Collection[bytes]
    """Statement hashes."""
    places: Mapping[str, str]
    """The memory of a place, by place id."""
    mentions: Mapping[str, Sequence[MentionSource]]
    """Mentions of a place, by place id."""


@dataclass(slots=True)
class Plan:
    """The memories that an import adds, each with its id, None for a new one."""

    adding: list[tuple[str | None, Item]] = field(default_factory=list)
    facts_known: int = 0
    pois_known: int = 0
    mentions: list[tuple[str, MentionSource]] = field(default_factory=list)

    @property
    def contents(self) -> set[str]:
        return {item.statement.content for _, item in self.adding}


def plan(items: Sequence[Item], existing: ExistingMemories) -> Plan:
    """Return the memories that the user does not have.

    They have a fact if a version of the memory with its id has its content, or if another memory
    has it now: an old document undoes no update, and forgotten memories stay forgotten.
    """
    plan = Plan()
    used_ids, hashes = set(existing.used_ids), set(existing.hashes)
    for item in items:
        if item.statement.place_id is not None:
            continue
        memory_id = own_id(item.id or "")
        known_contents = existing.contents.get(memory_id or "", ())
        if item.statement.content in known_contents or item.hash in hashes:
            plan.facts_known += 1
            continue
        if memory_id in used_ids:
            memory_id = None
        plan.adding.append((memory_id, item))
        hashes.add(item.hash)
        if memory_id is not None:
            used_ids.add(memory_id)
    _plan_places(plan, [item for item in items if item.statement.place_id], existing)
    return plan


def _plan_places(plan: Plan, items: Sequence[Item], existing: ExistingMemories) -> None:
    by_place: dict[str, list[Item]] = {}
    for item in items:
        by_place.setdefault(item.statement.place_id or "", []).append(item)
    for place_id, same in by_place.items():
        mentions = [mention for item in same for mention in item.mentions]
        first = same[0]
        if memory_id := existing.places.get(place_id):
            plan.pois_known += 1
            new = Counter(mentions) - Counter(existing.mentions.get(place_id, ()))
            plan.mentions += [(memory_id, mention) for mention in new.elements()]
        else:
            whole = Item(first.path, None, first.statement, first.at, first.status, mentions)
            plan.adding.append((None, whole))
