"""Remember, read, change and forget memories."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar, Unpack
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor, may_change
from remembrancer.backend import Backend
from remembrancer.db.plans import plan_anew
from remembrancer.db.replica import may_use_replica
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.trips import Trip, together
from remembrancer.errors import (
    Conflict,
    HiddenMemory,
    InvalidInput,
    NotFound,
    SimilarMemoryExists,
)
from remembrancer.idempotency import Answer, Claim
from remembrancer.ids import public_owner
from remembrancer.memories import filters as memory_filters
from remembrancer.memories import (
    mentions,
    repository,
    rules,
    screening,
    source_messages,
    versions,
    views,
)
from remembrancer.memories.budget import Budget
from remembrancer.memories.drafts import WriteResult
from remembrancer.memories.keywords import MemoryChanges, MemoryFilters
from remembrancer.memories.pipeline import Preparation, WritePipeline
from remembrancer.memories.rows import CitationRow, MemoryRow
from remembrancer.memories.schemas import (
    BudgetPreview,
    ForgetResult,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryHistory,
    MemoryPage,
    MemoryUpdate,
    MemoryUpdateResult,
    MemoryVersion,
    Mention,
    Outcome,
    RememberRefusal,
    RememberResult,
    Review,
    SourcedMemory,
    Status,
    Suggestion,
)
from remembrancer.memories.source_messages import RemakeChunks
from remembrancer.memories.versions import new_version
from remembrancer.paging import LARGEST_PAGE, Items, PageMethod
from remembrancer.text import check_range
from remembrancer.usage.counts import counted
from remembrancer.usage.schemas import UsageKind
from remembrancer.users import repository as users
from remembrancer.validation import model_of

T = TypeVar("T")

_READABLE: Final = frozenset(Status) - {Status.FORGOTTEN}
_CHANGEABLE: Final = frozenset({Status.ACTIVE, Status.PENDING})
"""Statuses in which a memory can be updated, forgotten and pinned."""
_SWITCHED: Final = frozenset({Status.ACTIVE, Status.INACTIVE})
"""Statuses between which activate and deactivate switch."""


Suggestions = Callable[[], Sequence[Sequence[Suggestion]]]
"""Returns suggestions for each result of a write, after the trip that finds them."""


class NewMemoryAssociations(Protocol):
    """Adds and suggests associations of memories in the transaction that writes them."""

    async def add_new(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        results: Sequence[WriteResult],
    ) -> None:
        """Add the associations of statements from the memories of their results.

        Raise ``NotFound`` for a target that the actor does not see, with its id in ``target_id``.
        """

    def suggest_new(self, trip: Trip, actor: Actor, results: Sequence[WriteResult]) -> Suggestions:
        """Let a trip find suggestions for each result; none for memories that are not new."""


@retries_deadlocks
class Memories:
    """The memories of users.

    Actors see and change only the memories that the access rule shows them. For all others, methods
    raise ``NotFound`` and log the attempt.
    """

    def __init__(
        self,
        backend: Backend,
        pipeline: WritePipeline,
        budget: Budget,
        associations: NewMemoryAssociations,
        remake_chunks: RemakeChunks,
    ) -> None:
        self._backend = backend
        self._pipeline = pipeline
        self._budget = budget
        self._associations = associations
        self._remake_chunks = remake_chunks

    @counted(UsageKind.WRITE)
    async def remember(
        self,
        actor: Actor,
        memory: MemoryCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> RememberResult:
        """Store a statement for the actor's user, or count it as a mention of an existing memory.

        Raises ``SimilarMemoryExists`` if a memory on the same subject exists, and
        ``InvalidInput`` for a statement that may not be stored.
        """
        rules.check_length(memory.content, characters=self._backend.limits.memory_characters)
        screened = screening.statement(self._backend.guard, memory)
        if screened.refusal:
            raise screened.refusal
        try:
            [result] = await self._write(actor, [screened.model], source, idempotency_key)
        except (InvalidInput, NotFound) as error:
            raise _without_index(error) from error
        result.guard = screened.findings
        if result.outcome is Outcome.SIMILAR:
            raise _similar(result.memory, by_id=memory.external_id is not None)
        return result

    @counted(UsageKind.WRITE)
    async def remember_many(
        self,
        actor: Actor,
        memories: Sequence[MemoryCreate],
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> Items[RememberResult | RememberRefusal]:
        """Store statements in one transaction; return their results, in order.

        A statement that the guard refuses is not stored; the others are.
        """
        limits = self._backend.limits
        rules.check_batch(memories, batch=limits.batch, characters=limits.memory_characters)
        screened = [screening.statement(self._backend.guard, memory) for memory in memories]
        accepted = [result.model for result in screened if result.refusal is None]
        try:
            results = (
                await self._write(actor, accepted, source, idempotency_key) if accepted else []
            )
        except (InvalidInput, NotFound) as error:
            raise screening.as_sent(error, screened) from error
        return Items(items=screening.answers(screened, results))

    async def _write(
        self,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        source: str,
        idempotency_key: str | None,
    ) -> list[RememberResult]:
        backend = self._backend
        texts = await backend.search.prepare([s.content for s in statements])
        claim = Claim("memories.remember", idempotency_key, (actor.agent_id, statements))
        revised = {s.revises for s in statements if s.revises is not None}
        conversation_ids = {s.conversation_id for s in statements if s.conversation_id is not None}

        def plan(
            actor: Actor, trip: Trip
        ) -> tuple[Sequence[CitationRow], Sequence[MemoryRow], Preparation]:
            claim.add(trip)
            return (
                repository.cited(trip, actor, statements),
                repository.read(trip, actor.require_user(), revised) if revised else [],
                self._pipeline.prepare(
                    trip, actor, statements, texts, conversation_ids=conversation_ids
                ),
            )

        try:
            async with (
                backend.database.transaction_with(actor, plan) as (connection, actor, planned),
                claim.answer(connection) as answer,
            ):
                if answer.earlier is not None:
                    return await views.remembered(connection, answer.earlier)
                cited, known, preparation = planned
                repository.check_sources(cited, actor, statements, "memories.{}.")
                repository.check_revised(known, statements)
                return await self._store(connection, actor, preparation, source, answer)
        except NotFound as error:
            if target_id := error.extra.get("target_id"):
                await backend.refuse(actor, "association.set", [target_id], error)
            raise

    async def _store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        preparation: Preparation,
        source: str,
        answer: Answer,
    ) -> list[RememberResult]:
        def read(
            trip: Trip, results: Sequence[WriteResult]
        ) -> tuple[dict[UUID, Sequence[MemoryRow]], Suggestions]:
            ids: dict[UUID, set[str]] = {}
            for result in results:
                ids.setdefault(result.owner_id, set()).add(result.memory_id)
            rows = {owner: repository.read(trip, owner, own) for owner, own in ids.items()}
            return rows, self._associations.suggest_new(trip, actor, results)

        results, (rows, suggest) = await self._pipeline.store(
            connection, actor, preparation, source, read
        )
        if any(statement.associations for statement in preparation.statements):
            await plan_anew(connection)
            await self._associations.add_new(connection, actor, preparation.statements, results)
            async with together(connection) as trip:
                rows, suggest = read(trip, results)
        suggestions = suggest()
        answer.new = views.answer(results, suggestions)
        return views.results(answer.new, [row for own in rows.values() for row in own], suggestions)

    @PageMethod
    @may_use_replica
    async def list(
        self,
        actor: Actor,
        filters: MemoryFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        **fields: Unpack[MemoryFilters],
    ) -> MemoryPage:
        """Return a page of the memories the actor sees, the newest first unless sorted.

        ``filters``, or its ``fields`` by keyword.
        """
        filters = model_of(MemoryFilter, filters, fields)
        async with self._backend.database.transaction(actor) as (connection, actor):
            await checks.check_exist(connection, actor)
            page = await memory_filters.page(connection, actor, filters, limit, cursor)
        await self._backend.reads.note(
            actor, "memory.list", ((m.user_id, m.id) for m in page.items)
        )
        return page

    async def in_conversation(
        self, actor: Actor, conversation_id: UUID, *, limit: int = LARGEST_PAGE
    ) -> Sequence[SourcedMemory]:
        """Return the visible memories that came up in a conversation, in that order.

        The caller checks the access to the conversation.
        """
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._backend.database.transaction(actor) as (connection, actor):
            rows = await repository.in_conversation(connection, actor, conversation_id, limit)
        keys = {(public_owner(row.owner_id), row.id) for row, _ in rows}
        await self._backend.reads.note(actor, "memory.list", sorted(keys, key=str))
        return [
            SourcedMemory(memory=views.memory(row), message_id=message_id)
            for row, message_id in rows
        ]

    async def get(self, actor: Actor, memory_id: str) -> MemoryHistory:
        """Return a memory with its versions and mentions.

        Only the owner reads an inactive, evicted or pending memory; nobody reads a forgotten one.
        """
        rules.check_id(memory_id)
        async with self._backend.transaction(actor, "memory.read") as (connection, actor):
            row = await repository.get(connection, actor, memory_id, _READABLE)
            if row.status != Status.ACTIVE and not may_change(actor, row.owner_id):
                raise HiddenMemory(memory_id)
            history = await versions.history(connection, row.owner_id, row.id)
            latest = await mentions.latest(connection, row.owner_id, row.id)
            [memory] = await views.named(connection, actor, [views.memory(row)])
        await self._backend.reads.note(actor, "memory.read", [(row.owner_id, row.id)])
        return MemoryHistory(
            **memory.model_dump(),
            versions=[MemoryVersion.model_validate(version) for version in history],
            mentions=[Mention.model_validate(mention) for mention in latest],
        )

    @counted(UsageKind.WRITE)
    async def update(
        self,
        actor: Actor,
        memory_id: str,
        changes: MemoryUpdate | None = None,
        *,
        if_version: int | None = None,
        source: str = "manual",
        **fields: Unpack[MemoryChanges],
    ) -> MemoryUpdateResult:
        """Make a new version of a memory; the old one stays in its history.

        ``changes``, or their ``fields`` by keyword. ``changes.expected_version`` that is not
        current raises ``VersionConflict``, ``if_version`` ``PreconditionFailed``; without either
        the update lands on whatever is current.
        """
        rules.check_id(memory_id)
        changes = model_of(MemoryUpdate, changes, fields)
        text = None
        if changes.content is not None:
            rules.check_length(changes.content, characters=self._backend.limits.memory_characters)
        screened = screening.changes(self._backend.guard, changes)
        changes = screened.model
        if changes.content is not None:
            [text] = await self._backend.search.prepare([changes.content])
        async with self._backend.transaction(actor, "memory.update") as (connection, actor):
            row = await repository.lock_changeable(connection, actor, memory_id, _CHANGEABLE)
            rules.check_version(row, changes.expected_version, if_version)
            screening.check_update(row, changes)
            rules.check_place_change(row, changes)
            rules.check_record_change(row, changes)
            async with together(connection) as trip:
                cited = repository.cited(trip, actor, [changes])
            repository.check_sources(cited, actor, [changes])
            await repository.check_membership(connection, row.owner_id, [row.id])
            changed = await _unless_same(
                new_version(
                    connection, self._backend.search, row, changes, text=text, source=source
                )
            )
            await _note(connection, actor, "memory.update", row)
            if text is not None:
                changed = await self._within_budget(connection, actor, changed)
            return MemoryUpdateResult(**views.fields(changed), guard=screened.findings)

    @counted(UsageKind.WRITE)
    async def forget(
        self, actor: Actor, memory_id: str, *, if_version: int | None = None
    ) -> ForgetResult:
        """Forget a memory: it leaves every list and recall, and can be restored.

        Its owner's messages that say it leave recall and prompts too, and the summaries over them
        are made anew; the conversation still has them. Erasing the memory deletes them for good.
        """
        action = "memory.forget"
        rules.check_id(memory_id)
        async with self._backend.transaction(actor, action, system=True) as (connection, actor):
            messages = await source_messages.lock(connection, actor, memory_id)
            row = await repository.lock_changeable(connection, actor, memory_id, _CHANGEABLE)
            rules.check_version(row, None, if_version)
            [changed] = await repository.set_status(
                connection, row.owner_id, [row.id], Status.FORGOTTEN
            )
            certain = [message for message in messages if message.certain]
            await source_messages.withhold(connection, row.owner_id, certain, self._remake_chunks)
            await _note(connection, actor, action, row)
        similar = len(messages) - len(certain)
        return ForgetResult(
            **views.fields(changed),
            messages=len(certain),
            similar_messages=similar,
            note=rules.forget_note(len(certain), similar),
        )

    async def restore(self, actor: Actor, memory_id: str) -> Memory:
        """Make a forgotten, inactive or evicted memory active again.

        The messages that left recall with it are back, unless another forgotten memory rests on
        them. Raises ``Conflict`` if another memory has the same statement now.
        """
        action = "memory.restore"
        rules.check_id(memory_id)
        async with self._backend.transaction(actor, action, system=True) as (connection, actor):
            messages = await source_messages.lock(connection, actor, memory_id, withheld=True)
            row = await repository.lock_changeable(
                connection, actor, memory_id, repository.ANY_STATUS
            )
            changed = await self._set_status(connection, row, Status.ACTIVE)
            await source_messages.release(
                connection, row.owner_id, [row.id], messages, self._remake_chunks
            )
            await _note(connection, actor, action, row)
            return views.memory(await self._within_budget(connection, actor, changed))

    async def deactivate(self, actor: Actor, memory_id: str) -> Memory:
        """Make a memory inactive: recall and context leave it out, the document has it.

        Over the budget, inactive memories are evicted first. Safe to repeat.
        """
        return await self._switch(actor, "memory.deactivate", memory_id, Status.INACTIVE)

    async def activate(self, actor: Actor, memory_id: str) -> Memory:
        """Make an inactive memory active again. Safe to repeat.

        Raises ``Conflict`` if another memory has the same statement now, and ``NotFound`` for a
        forgotten or evicted one: see :meth:`restore`.
        """
        return await self._switch(actor, "memory.activate", memory_id, Status.ACTIVE)

    async def pin(self, actor: Actor, memory_id: str) -> Memory:
        """Pin a memory: the token budget never evicts it."""
        return await self._set_pinned(actor, memory_id, pinned=True)

    async def unpin(self, actor: Actor, memory_id: str) -> Memory:
        """Unpin a memory: the token budget may evict it again."""
        return await self._set_pinned(actor, memory_id, pinned=False)

    async def _set_pinned(self, actor: Actor, memory_id: str, *, pinned: bool) -> Memory:
        rules.check_id(memory_id)
        async with self._backend.transaction(actor, "memory.pin") as (connection, actor):
            row = await repository.lock_changeable(connection, actor, memory_id, _CHANGEABLE)
            changed = await repository.set_pinned(connection, row.owner_id, row.id, pinned=pinned)
            await _note(connection, actor, "memory.pin", row)
            return views.memory(changed)

    async def budget(self, actor: Actor, *, adding: int = 0) -> BudgetPreview:
        """Return the memories that ``adding`` more tokens of the actor's user would evict.

        All memories of the user count, for any agent.
        """
        check_range(adding, 0, 1_000_000, field="adding")
        actor = replace(actor, agent_id=None)
        async with self._backend.database.transaction(actor) as (connection, actor):
            owner_id = actor.require_user()
            await users.get(connection, owner_id)
            preview = await self._budget.preview(connection, owner_id, adding)
        ids = [str(owner_id), *(memory.id for memory in preview.would_go)]
        await self._backend.reads.note(actor, "memory.budget", [(owner_id, i) for i in ids])
        return preview

    async def _switch(self, actor: Actor, action: str, memory_id: str, status: Status) -> Memory:
        rules.check_id(memory_id)
        async with self._backend.transaction(actor, action) as (connection, actor):
            row = await repository.lock_changeable(connection, actor, memory_id, _SWITCHED)
            if row.status == status:
                return views.memory(row)
            changed = await self._set_status(connection, row, status, touch=True)
            await _note(connection, actor, action, row)
            if status is Status.ACTIVE:
                changed = await self._within_budget(connection, actor, changed)
            return views.memory(changed)

    async def _set_status(
        self, connection: AsyncConnection, row: MemoryRow, status: Status, *, touch: bool = False
    ) -> MemoryRow:
        review = None
        if status is Status.ACTIVE:
            review = _review_of_restored(row)
            await repository.check_membership(connection, row.owner_id, [row.id])
        [changed] = await _unless_same(
            repository.set_status(
                connection, row.owner_id, [row.id], status, review=review, touch=touch
            )
        )
        return changed

    async def _within_budget(
        self, connection: AsyncConnection, actor: Actor, row: MemoryRow
    ) -> MemoryRow:
        """Evict memories over the budget; return the written memory as it is afterwards."""
        evicted = await self._budget.enforce(connection, actor, row.owner_id, [row.id])
        if row.id not in evicted:
            return row
        return (await repository.by_ids(connection, row.owner_id, [row.id]))[row.id]


def _review_of_restored(row: MemoryRow) -> Review:
    if row.status == Status.PENDING:
        raise Conflict("is pending; confirm it in a review", field="memory_id")
    review = Review(row.review)
    return Review.CONFIRMED if review is Review.REJECTED else review


def _similar(memory: Memory, *, by_id: bool) -> SimilarMemoryExists:
    reason = (
        f"memory {memory.id} is on this subject: update it if yours replaces it, "
        "or send allow_similar if yours is a further fact"
    )
    if by_id:
        reason = f"memory {memory.id} has this id and says something else: update it instead"
    return SimilarMemoryExists(
        reason,
        field="external_id" if by_id else "subject",
        memory_id=memory.id,
        version=memory.version,
    )


def _without_index(error: InvalidInput | NotFound) -> InvalidInput | NotFound:
    """Return an error of a batch of one as an error of its statement."""
    field = error.field and error.field.removeprefix("memories.0.")
    return type(error)(error.reason, field=field, **error.extra)


async def _unless_same(change: Awaitable[T]) -> T:
    """Return the result of a change; raise ``Conflict`` if it makes two memories the same."""
    try:
        return await change
    except IntegrityError as error:
        reason = "another memory has exactly this content, or this external_id"
        raise Conflict(reason, field="content") from error


async def _note(connection: AsyncConnection, actor: Actor, action: str, row: MemoryRow) -> None:
    await audit.note(connection, actor, action, [row.id], owner_id=row.owner_id)
