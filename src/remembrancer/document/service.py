"""Read a user's memory as one document, and import one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.associations import repository as associations
from remembrancer.associations.writer import AssociationRequest, AssociationWriter
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.document import repository, rules
from remembrancer.document.rules import Item, Known, Plan
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.guard.guard import Guard
from remembrancer.memories import repository as memories
from remembrancer.memories import screening
from remembrancer.memories.pipeline import ImportedMemory, WritePipeline, mention_row
from remembrancer.memories.rules import Resolved, Said, check_length
from remembrancer.memories.schemas import Kind
from remembrancer.places import repository as places
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.settings import LimitSettings
from remembrancer.users import repository as users


class Documents:
    """Memory documents: worked out of rows, so writers at the same time lose nothing.

    In one are a user's own memories outside spaces: all of them, or those that an agent reads.
    """

    def __init__(
        self,
        database: Database,
        indexer: SearchIndex,
        writing: WritePipeline,
        limits: LimitSettings,
        guard: Guard,
        reads: Reads,
        associations: AssociationWriter,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._writing = writing
        self._limits = limits
        self._guard = guard
        self._reads = reads
        self._associations = associations

    async def get(self, actor: Actor) -> MemoryDocument:
        """Return the document of the actor's user, which :meth:`import_` takes."""
        async with self._database.transaction(actor) as (connection, actor):
            user = await users.find(connection, actor.require_user())
            if user is None:
                raise NotFound("no such user", field="user_id")
            rows = await repository.rows(connection, actor)
            spots = [(row.owner_id, row.id) for row in rows if row.place_id is not None]
            said: dict[str, list[Any]] = {}
            for mention in await places.mentions(connection, spots, None):
                said.setdefault(mention.place, []).append(mention)
        await self._reads.note(actor, "memory.document", [(row.owner_id, row.id) for row in rows])
        return rules.document(rows, said, user.created_at)

    async def import_(
        self, actor: Actor, sent: DocumentImport, *, source: str = "import"
    ) -> DocumentImportResult:
        """Add what a document has and the actor's user has not, all or nothing.

        Facts keep their ids where these are free and can be ids of ours. What is there stays as
        it is, so importing an export, or anything twice, changes nothing. Raises
        ``InvalidInput`` that names the fact or place which is too long or may not be stored.
        """
        return await self.bring(actor, rules.items(sent, datetime.now(UTC)), source=source)

    async def bring(
        self, actor: Actor, items: Sequence[Item], *, source: str = "import"
    ) -> DocumentImportResult:
        """Add memories from elsewhere that the actor's user has not, as :meth:`import_` does.

        Each is made with the associations of its statement, to memories that are there then.
        """
        actor.require_user()
        wanted = self._screened(items)
        async with self._database.transaction(actor) as (connection, now):
            planned = await _plan(connection, now, wanted)
        missing = sorted(planned.missing)
        texts = dict(zip(missing, await self._indexer.prepare(missing), strict=True))
        async with self._database.transaction(actor) as (connection, actor):
            goes = await self._writing.begin(connection, actor)
            planned = await _plan(connection, actor, wanted)
            if not planned.missing <= texts.keys():
                raise Conflict("the memory changed at the same moment; try again")
            return await self._carry_out(connection, actor, goes, planned, texts, source)

    async def count_new(self, actor: Actor, items: Sequence[Item]) -> int:
        """Return how many of these memories :meth:`bring` would add."""
        async with self._database.transaction(actor) as (connection, actor):
            return len((await _plan(connection, actor, items)).adding)

    def _screened(self, wanted: Sequence[Item]) -> list[Item]:
        """Return what may be stored of each; raise ``InvalidInput`` for one that may not be."""
        limits = self._limits
        for name in ("facts", "placer_user_datapoints"):
            if sum(item.path.startswith(name) for item in wanted) > limits.batch:
                raise InvalidInput(f"must hold at most {limits.batch:,}", field=name)
        kept = []
        for item in wanted:
            is_place = item.statement.place_id is not None
            field = f"{item.path}.{'notes' if is_place else 'content'}"
            characters = limits.memory_characters
            check_length(item.statement.content, characters=characters, field=field)
            screened = screening.statement(self._guard, item.statement)
            if refusal := screened.refusal:
                where = item.path if is_place else f"{item.path}.{refusal.field}"
                raise InvalidInput(refusal.reason, field=where, **refusal.extra)
            kept.append(
                Item(item.path, item.id, screened.model, item.at, item.status, item.mentions)
            )
        return kept

    async def _carry_out(
        self,
        connection: AsyncConnection,
        actor: Actor,
        goes: Resolved,
        planned: Plan,
        texts: Mapping[str, SearchDocument],
        source: str,
    ) -> DocumentImportResult:
        owner_id = goes.place.owner_id
        fresh = iter(await memories.fresh_ids(connection, owner_id, len(planned.adding)))
        brought = [
            ImportedMemory(
                memory_id=kept or next(fresh),
                statement=item.statement,
                text=texts[item.statement.content],
                at=item.at,
                status=item.status,
                mentions=item.mentions,
            )
            for kept, item in planned.adding
        ]
        if planned.mentions:
            said = [
                mention_row(actor, owner_id, memory_id, source, *mention)
                for memory_id, mention in planned.mentions
            ]
            ids = [memory_id for memory_id, _ in planned.mentions]
            await memories.add_mentions(connection, owner_id, said, ids)
            await audit.note(
                connection, actor, "memory.mention", sorted(set(ids)), owner_id=owner_id
            )
        evicted = await self._writing.bring(connection, actor, goes, brought, source)
        requests = await _association_requests(connection, actor, owner_id, brought)
        await self._associations.add(connection, actor, requests)
        added = [item.statement.kind is Kind.PLACE for _, item in planned.adding]
        return DocumentImportResult(
            facts_added=added.count(False),
            facts_known=planned.facts_known,
            pois_added=added.count(True),
            pois_known=planned.pois_known,
            mentions_added=len(planned.mentions),
            new_ids={
                item.id: one.memory_id
                for one, (_, item) in zip(brought, planned.adding, strict=True)
                if item.id not in {None, one.memory_id}
            },
            evicted=evicted,
        )


async def _association_requests(
    connection: AsyncConnection, actor: Actor, owner_id: UUID, brought: Sequence[ImportedMemory]
) -> list[AssociationRequest]:
    """Return the associations of imported memories whose targets exist."""
    requests = [
        AssociationRequest(owner_id, memory.memory_id, association, "associations")
        for memory in brought
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


async def _plan(connection: AsyncConnection, actor: Actor, wanted: Sequence[Item]) -> Plan:
    """Return what of ``wanted`` is not there now."""
    owner_id = actor.require_user()
    ids = [kept for item in wanted if item.id and (kept := rules.own_id(item.id))]
    place_ids = [item.statement.place_id for item in wanted if item.statement.place_id]
    spots = await repository.spots(connection, actor, place_ids)
    first: dict[str, str] = {}
    for row in spots:
        first.setdefault(row.place_id, row.id)
    said: dict[str, list[Said]] = {}
    by_memory = {row.id: row.place_id for row in spots}
    keys = [(owner_id, row.id) for row in spots]
    for one in await places.mentions(connection, keys, None):
        mention = (one.conversation_id, one.message_id, one.mentioned_at)
        said.setdefault(by_memory[one.place], []).append(mention)
    known = Known(
        words=await repository.words(connection, actor, ids),
        taken=await repository.taken(connection, owner_id, ids),
        hashes=await repository.hashes(connection, actor, [item.hash for item in wanted]),
        spots=first,
        said=said,
    )
    return rules.plan(wanted, known)
