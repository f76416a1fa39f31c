"""Read a user's memories as one document, and import one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor
from remembrancer.associations import repository as associations
from remembrancer.associations.writer import AssociationRequest, AssociationWriter
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.trips import together
from remembrancer.document import repository, rules
from remembrancer.document.pages import PER_PAGE, with_facts
from remembrancer.document.rules import ExistingMemories, Item, Plan
from remembrancer.document.schemas import (
    DocumentImport,
    DocumentImportResult,
    DocumentPage,
    MemoryDocument,
)
from remembrancer.errors import Conflict, InvalidInput
from remembrancer.memories import mentions, screening
from remembrancer.memories import repository as memories
from remembrancer.memories.drafts import ImportedMemory, mention_row
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.rules import Destination, MentionSource, check_length
from remembrancer.memories.schemas import Kind
from remembrancer.places import repository as places
from remembrancer.places.rows import PlaceMentionRow
from remembrancer.search.index import SearchDocument


@retries_deadlocks
class Documents:
    """A user's memories outside spaces as one document: all, or those that an agent reads.

    A document is built from rows: concurrent writers lose nothing.
    """

    def __init__(
        self, backend: Backend, pipeline: WritePipeline, associations: AssociationWriter
    ) -> None:
        self._backend = backend
        self._pipeline = pipeline
        self._associations = associations

    async def get(self, actor: Actor) -> MemoryDocument:
        """Return the document of the actor's user, which :meth:`import_` takes."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            user = await checks.find_user(connection, actor)
            rows = await repository.rows(connection, actor)
            by_memory = await _mentions(connection, rows)
        await self._note_read(actor, rows)
        return rules.document(rows, by_memory, user.created_at)

    async def page(self, actor: Actor, number: int) -> DocumentPage:
        """Return page ``number`` of the document, counted from 1. No other facts are read."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            user = await checks.find_user(connection, actor)
            numbers = await repository.numbers(connection, actor)
            start = (number - 1) * PER_PAGE
            rows = await repository.page(connection, actor, start=start, limit=PER_PAGE)
            by_memory = await _mentions(connection, rows)
        await self._note_read(actor, rows)
        document = rules.document(rows, by_memory, numbers.updated_at or user.created_at)
        return with_facts(document.facts, rules.of_whole(document, numbers), number)

    async def marks(self, actor: Actor, parts: Sequence[tuple[str, str]]) -> Sequence[str]:
        """Return a mark of each part of what the actor sees: it changes when the part does.

        A part is a kind and a name: ``document``, ``context``, ``memories`` and an id, ``facts``
        and a category, ``places`` and a place id.
        """
        async with self._backend.database.transaction(actor) as (connection, actor):
            await checks.check_exist(connection, actor)
            return await repository.marks(connection, actor, parts)

    async def _note_read(self, actor: Actor, rows: Sequence[MemoryRow]) -> None:
        ids = [(row.owner_id, row.id) for row in rows]
        await self._backend.reads.note(actor, "memory.document", ids)

    async def import_(
        self, actor: Actor, document: DocumentImport, *, source: str = "import"
    ) -> DocumentImportResult:
        """Add the memories of a document that the actor's user does not have, all or none.

        Facts keep their ids where the ids are free and valid. Existing memories stay as they are:
        an import of an export, or a second import, changes nothing. Raises ``InvalidInput`` with
        the field of a fact or place that is too long or may not be stored.
        """
        return await self.add(actor, rules.items(document, datetime.now(UTC)), source=source)

    async def add(
        self, actor: Actor, items: Sequence[Item], *, source: str = "import"
    ) -> DocumentImportResult:
        """Add memories from elsewhere, as :meth:`import_` does.

        Associations of their statements are added if the target exists then. Conversations and
        messages of others are no sources of the actor's memories: these are left out.
        """
        actor.require_user()
        accepted = await self._without_others(actor, self._screen(items))
        async with self._backend.database.transaction(actor) as (connection, now):
            plan = await _plan(connection, now, accepted)
        contents = sorted(plan.contents)
        prepared = await self._backend.search.prepare(contents)
        texts = dict(zip(contents, prepared, strict=True))
        async with self._backend.database.transaction(actor) as (connection, actor):
            destination = await self._pipeline.open(connection, actor)
            plan = await _plan(connection, actor, accepted)
            if not plan.contents <= texts.keys():
                raise Conflict("the memory changed at the same moment; try again")
            return await self._carry_out(connection, actor, destination, plan, texts, source)

    async def count_new(self, actor: Actor, items: Sequence[Item]) -> int:
        """Return the number of memories that :meth:`add` would add."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            return len((await _plan(connection, actor, items)).adding)

    def _screen(self, items: Sequence[Item]) -> list[Item]:
        """Return items as they may be stored; raise ``InvalidInput`` for a refused one."""
        limits = self._backend.limits
        for name in ("facts", "placer_user_datapoints"):
            if sum(item.path.startswith(name) for item in items) > limits.batch:
                raise InvalidInput(f"must have at most {limits.batch:,} items", field=name)
        accepted = []
        for item in items:
            is_place = item.statement.place_id is not None
            field = f"{item.path}.{'notes' if is_place else 'content'}"
            characters = limits.memory_characters
            check_length(item.statement.content, characters=characters, field=field)
            screened = screening.statement(self._backend.guard, item.statement)
            if refusal := screened.refusal:
                field = item.path if is_place else f"{item.path}.{refusal.field}"
                raise InvalidInput(refusal.reason, field=field, **refusal.extra)
            accepted.append(replace(item, statement=screened.model))
        return accepted

    async def _without_others(self, actor: Actor, items: Sequence[Item]) -> list[Item]:
        cited = {source for item in items for source in item.sources()}
        async with self._backend.database.system_for(actor) as (connection, actor):
            others = await repository.sources_of_others(connection, actor.require_user(), cited)
        return [item.without_sources(others) for item in items]

    async def _carry_out(
        self,
        connection: AsyncConnection,
        actor: Actor,
        destination: Destination,
        plan: Plan,
        texts: Mapping[str, SearchDocument],
        source: str,
    ) -> DocumentImportResult:
        owner_id = destination.placement.owner_id
        new_ids = iter(await memories.new_ids(connection, owner_id, len(plan.adding)))
        imports = [
            ImportedMemory(
                memory_id=memory_id or next(new_ids),
                statement=item.statement,
                text=texts[item.statement.content],
                at=item.at,
                status=item.status,
                mentions=item.mentions,
            )
            for memory_id, item in plan.adding
        ]
        if plan.mentions:
            rows = [
                mention_row(actor, owner_id, memory_id, source, mention)
                for memory_id, mention in plan.mentions
            ]
            ids = [memory_id for memory_id, _ in plan.mentions]
            async with together(connection) as trip:
                mentions.add(trip, owner_id, rows, ids)
                audit.add(trip, actor, "memory.mention", {owner_id: sorted(set(ids))})
        evicted = await self._pipeline.add(connection, actor, destination, imports, source)
        requests = await _association_requests(connection, actor, owner_id, imports)
        await self._associations.add(connection, actor, requests)
        added = [item.statement.kind is Kind.PLACE for _, item in plan.adding]
        return DocumentImportResult(
            facts_added=added.count(False),
            facts_known=plan.facts_known,
            pois_added=added.count(True),
            pois_known=plan.pois_known,
            mentions_added=len(plan.mentions),
            new_ids={
                item.id: memory.memory_id
                for memory, (_, item) in zip(imports, plan.adding, strict=True)
                if item.id not in {None, memory.memory_id}
            },
            evicted=evicted,
        )


async def _mentions(
    connection: AsyncConnection, rows: Sequence[MemoryRow]
) -> dict[str, list[PlaceMentionRow]]:
    """Return the mentions of the places among memories, by memory id."""
    keys = [(row.owner_id, row.id) for row in rows if row.place_id is not None]
    by_memory: dict[str, list[PlaceMentionRow]] = {}
    for mention in await places.mentions(connection, keys, None):
        by_memory.setdefault(mention.memory_id, []).append(mention)
    return by_memory


async def _association_requests(
    connection: AsyncConnection, actor: Actor, owner_id: UUID, imports: Sequence[ImportedMemory]
) -> list[AssociationRequest]:
    """Return the associations of imported memories whose targets exist."""
    requests = [
        AssociationRequest(owner_id, memory.memory_id, association, "associations")
        for memory in imports
        for association in memory.statement.associations
    ]
    targets = {request.association.target_id for request in requests}
    owners = await associations.owners(connection, actor, targets)
    return [
        request
        for request in requests
        if request.association.target_id in owners
        and request.association.target_id != request.memory_id
    ]


async def _plan(connection: AsyncConnection, actor: Actor, items: Sequence[Item]) -> Plan:
    owner_id = actor.require_user()
    ids = [memory_id for item in items if item.id and (memory_id := rules.own_id(item.id))]
    place_ids = [item.statement.place_id for item in items if item.statement.place_id]
    rows = await repository.places(connection, actor, place_ids)
    by_memory = {row.id: row.place_id or "" for row in rows}
    by_place: dict[str, str] = {}
    for memory_id, place_id in by_memory.items():
        by_place.setdefault(place_id, memory_id)
    sources: dict[str, list[MentionSource]] = {}
    for row in await places.mentions(connection, [(owner_id, i) for i in by_memory], None):
        source = (row.conversation_id, row.message_id, row.mentioned_at)
        sources.setdefault(by_memory[row.memory_id], []).append(source)
    existing = ExistingMemories(
        contents=await repository.contents(connection, actor, ids),
        used_ids=await repository.used_ids(connection, owner_id, ids),
        hashes=await repository.known_hashes(connection, actor, [item.hash for item in items]),
        places=by_place,
        mentions=sources,
    )
    return rules.plan(items, existing)
