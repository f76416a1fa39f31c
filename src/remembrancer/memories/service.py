"""Remember, read, change and forget memories."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol
from uuid import UUID

from sqlalchemy import Row, func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, may_change
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    SimilarMemoryExists,
    VersionConflict,
)
from remembrancer.guard.guard import Guard
from remembrancer.idempotency import once
from remembrancer.memories import leaving, listing, repository, rules, screening, views
from remembrancer.memories.budget import Budget
from remembrancer.memories.dedup import Verdict
from remembrancer.memories.pausing import check_not_paused
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.rules import Resolved
from remembrancer.memories.schemas import (
    BudgetPreview,
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
    Status,
    Suggestion,
    Told,
)
from remembrancer.memories.versions import new_version
from remembrancer.paging import LARGEST_PAGE
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.settings import LimitSettings
from remembrancer.text import check_range
from remembrancer.users import repository as users

_IN_HAND: Final = frozenset({Status.ACTIVE, Status.PENDING})
"""What its owner changes and forgets."""
_SWITCHED: Final = frozenset({Status.ACTIVE, Status.INACTIVE})
"""What is activated and deactivated."""


class NewMemoryAssociations(Protocol):
    """Adds and suggests associations of memories in the transaction that writes them."""

    async def add_new(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        results: Sequence[tuple[Verdict, Resolved]],
    ) -> None:
        """Add the associations of statements, from the memories they became."""

    async def suggest_new(
        self,
        connection: AsyncConnection,
        actor: Actor,
        results: Sequence[tuple[Verdict, Resolved]],
    ) -> Sequence[Sequence[Suggestion]]:
        """Return suggestions for each result."""


class Memories:
    """The memories of everybody, each seen by whom it may be seen.

    Every method answers for the actor's user and agent. What they may not see does not
    exist for them: ``NotFound``, and a line in the audit log.
    """

    def __init__(
        self,
        database: Database,
        indexer: SearchIndex,
        writing: WritePipeline,
        budget: Budget,
        limits: LimitSettings,
        reads: Reads,
        guard: Guard,
        associations: NewMemoryAssociations,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._writing = writing
        self._budget = budget
        self._limits = limits
        self._guard = guard
        self._associations = associations
        self._reads = reads

    async def remember(
        self,
        actor: Actor,
        statement: MemoryCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> RememberResult:
        """Store one statement for the actor's user, or count it as a mention.

        Raises ``SimilarMemoryExists`` where a memory on its subject exists.
        """
        rules.check_length(statement.content, characters=self._limits.memory_characters)
        screened = screening.statement(self._guard, statement)
        if screened.refusal:
            raise screened.refusal
        try:
            [written] = await self._write(actor, [screened.model], source, idempotency_key)
        except (InvalidInput, NotFound) as error:
            raise _of_the_only_one(error) from error
        written.guard = screened.findings
        if written.outcome is Outcome.SIMILAR:
            raise SimilarMemoryExists(
                "a memory on this subject exists; update it, or insist with allow_similar",
                field="subject",
                memory_id=written.memory.id,
                version=written.memory.version,
            )
        return written

    async def remember_many(
        self,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> list[RememberResult | RememberRefusal]:
        """Store statements in one transaction; return what became of each, in order.

        One that the guard refuses is not stored; the others are.
        """
        limits = self._limits
        rules.check_batch(statements, batch=limits.batch, characters=limits.memory_characters)
        screened = [screening.statement(self._guard, statement) for statement in statements]
        kept = [one.model for one in screened if one.refusal is None]
        try:
            written = await self._write(actor, kept, source, idempotency_key) if kept else []
        except (InvalidInput, NotFound) as error:
            raise screening.as_sent(error, screened) from error
        return screening.answers(screened, written)

    async def _write(
        self,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        source: str,
        idempotency_key: str | None,
    ) -> list[RememberResult]:
        texts = await self._indexer.prepare([s.content for s in statements])
        try:
            return await self._store(actor, statements, texts, source, idempotency_key)
        except NotFound as error:
            if target_id := error.extra.get("target_id"):
                await self._refused(actor, "association.set", target_id)
            raise

    async def _store(
        self,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        texts: Sequence[SearchDocument],
        source: str,
        idempotency_key: str | None,
    ) -> list[RememberResult]:
        request = (actor.agent_id, statements)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, actor, "memories.remember", idempotency_key, request) as answer,
        ):
            if answer.earlier is not None:
                return await views.again(connection, answer.earlier)
            await check_not_paused(connection, [s.conversation_id for s in statements])
            results = await self._writing.write(connection, actor, statements, texts, source)
            await self._associations.add_new(connection, actor, statements, results)
            suggestions = await self._associations.suggest_new(connection, actor, results)
            answer.new = views.kept(results, suggestions)
            return await views.again(connection, answer.new)

    async def list(
        self,
        actor: Actor,
        wanted: MemoryFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> MemoryPage:
        """Return a page of the memories the actor sees, the newest first unless sorted."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._database.transaction(actor) as (connection, actor):
            page = await listing.page(
                connection, actor, wanted or MemoryFilter(), limit=limit, cursor=cursor
            )
        await self._reads.note(actor, "memory.list", ((m.user_id, m.id) for m in page.memories))
        return page

    async def told_in(
        self, actor: Actor, conversation_id: UUID, *, limit: int = LARGEST_PAGE
    ) -> Sequence[Told]:
        """Return the memories that came up in a conversation, in the order they did.

        Those the actor sees; whether they may read the conversation is not asked here.
        """
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.told_in(connection, actor, conversation_id, limit)
        found = [Told(memory=views.memory(row), message_id=row.told_by) for row in rows]
        mine = {(one.memory.user_id, one.memory.id) for one in found}
        await self._reads.note(actor, "memory.list", sorted(mine, key=str))
        return found

    async def get(self, actor: Actor, memory_id: str) -> MemoryHistory:
        """Return a memory with its versions and mentions.

        One that is inactive, evicted or waits for review is there for its owner, one that is
        forgotten for nobody.
        """
        rules.check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, memory_id)
            if row is not None and not _is_there(actor, row):
                row = None
            if row is not None:
                versions, mentions = await repository.history(connection, row.owner_id, row.id)
        if row is None:
            raise await self._refused(actor, "memory.read", memory_id)
        await self._reads.note(actor, "memory.read", [(row.owner_id, row.id)])
        return MemoryHistory(
            **views.memory(row).model_dump(),
            versions=[MemoryVersion.model_validate(v) for v in versions],
            mentions=[Mention.model_validate(m) for m in mentions],
        )

    async def update(
        self,
        actor: Actor,
        memory_id: str,
        changes: MemoryUpdate,
        *,
        if_version: int | None = None,
        source: str = "manual",
    ) -> MemoryUpdateResult:
        """Make a new version of a memory; the old one stays in its history.

        ``changes.expected_version`` that is not current raises ``VersionConflict``,
        ``if_version`` ``PreconditionFailed``; without either the update lands on
        whatever is current.
        """
        rules.check_id(memory_id)
        text = None
        if changes.content is not None:
            rules.check_length(changes.content, characters=self._limits.memory_characters)
        screened = screening.changes(self._guard, changes)
        changes = screened.model
        if changes.content is not None:
            [text] = await self._indexer.prepare([changes.content])
        async with self._database.transaction(actor) as (connection, actor):
            row = await self._changeable(connection, actor, memory_id)
            if row is not None:
                _check_version(row, changes.expected_version, if_version)
                screening.check_update(row, changes)
                rules.check_place_change(row, changes)
                rules.check_record_change(row, changes)
                await leaving.check_may_add(connection, row.owner_id, [row.id])
                changed = await _unless_same(
                    new_version(connection, self._indexer, row, changes, text=text, source=source)
                )
                await _note(connection, actor, "memory.update", row)
                if text is not None:
                    changed = await self._within_budget(connection, actor, changed)
                return views.updated(changed, screened.findings)
        raise await self._refused(actor, "memory.update", memory_id)

    async def forget(
        self, actor: Actor, memory_id: str, *, if_version: int | None = None
    ) -> Memory:
        """Forget a memory: it leaves every list and recall, and can be restored."""
        values = {"status": Status.FORGOTTEN, "forgotten_at": func.now()}
        return await self._set(actor, "memory.forget", memory_id, values, if_version=if_version)

    async def restore(self, actor: Actor, memory_id: str) -> Memory:
        """Bring a forgotten, inactive or evicted memory back.

        Raises ``Conflict`` if the same statement has been remembered anew since.
        """
        values = {"status": Status.ACTIVE, "forgotten_at": None}
        return await self._set(actor, "memory.restore", memory_id, values, among=frozenset(Status))

    async def deactivate(self, actor: Actor, memory_id: str) -> Memory:
        """Set a memory aside: it leaves recall and context, and stays in the document.

        Over the budget, what is inactive goes first. Done again, it does nothing.
        """
        values = {"status": Status.INACTIVE, "updated_at": func.now()}
        return await self._set(actor, "memory.deactivate", memory_id, values, among=_SWITCHED)

    async def activate(self, actor: Actor, memory_id: str) -> Memory:
        """Take an inactive memory into use again. Done again, it does nothing.

        Raises ``Conflict`` if the same statement has been remembered anew since, ``NotFound``
        for one that is forgotten or evicted: see :meth:`restore`.
        """
        values = {"status": Status.ACTIVE, "updated_at": func.now()}
        return await self._set(actor, "memory.activate", memory_id, values, among=_SWITCHED)

    async def pin(self, actor: Actor, memory_id: str) -> Memory:
        """Pin a memory: the token budget never evicts it."""
        return await self._set(actor, "memory.pin", memory_id, {"pinned": True})

    async def unpin(self, actor: Actor, memory_id: str) -> Memory:
        """Unpin a memory: the token budget may evict it again."""
        return await self._set(actor, "memory.pin", memory_id, {"pinned": False})

    async def budget(self, actor: Actor, *, adding: int = 0) -> BudgetPreview:
        """Return what would be evicted if the actor's user wrote ``adding`` more tokens.

        All of the user's memory counts, whichever agent it is for.
        """
        check_range(adding, 0, 1_000_000, field="adding")
        actor = replace(actor, agent_id=None)
        async with self._database.transaction(actor) as (connection, actor):
            owner_id = actor.require_user()
            if await users.find(connection, owner_id) is None:
                raise NotFound("no such user", field="user_id")
            preview = await self._budget.preview(connection, owner_id, adding)
        going = [(owner_id, one) for one in (str(owner_id), *(m.id for m in preview.would_go))]
        await self._reads.note(actor, "memory.budget", going)
        return preview

    async def _set(
        self,
        actor: Actor,
        action: str,
        memory_id: str,
        values: dict[str, Any],
        *,
        among: Collection[Status] = _IN_HAND,
        if_version: int | None = None,
    ) -> Memory:
        rules.check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await self._changeable(connection, actor, memory_id, among=among)
            if row is not None:
                _check_version(row, None, if_version)
                if among is _SWITCHED and row.status == values["status"]:
                    return views.memory(row)
                if values.get("status") is Status.ACTIVE:
                    values |= {"review": _review_of_restored(row)}
                    await leaving.check_may_add(connection, row.owner_id, [row.id])
                changed = await _unless_same(
                    repository.change(connection, row.owner_id, row.id, values)
                )
                if "status" in values:
                    status = Status(values["status"])
                    await repository.mark_items(connection, row.owner_id, row.id, status)
                await _note(connection, actor, action, row)
                if values.get("status") is Status.ACTIVE:
                    changed = await self._within_budget(connection, actor, changed)
                return views.memory(changed)
        raise await self._refused(actor, action, memory_id)

    @staticmethod
    async def _changeable(
        connection: AsyncConnection,
        actor: Actor,
        memory_id: str,
        *,
        among: Collection[Status] = _IN_HAND,
    ) -> Row[Any] | None:
        row = await repository.find(connection, actor, memory_id)
        if row is None or not may_change(actor, row.owner_id):
            return None
        # The owner's lock first, the row's second, as every write does.
        await repository.lock_owner(connection, row.owner_id)
        row = await repository.find(connection, actor, memory_id, lock=True)
        return row if row is not None and row.status in among else None

    async def _within_budget(
        self, connection: AsyncConnection, actor: Actor, row: Row[Any]
    ) -> Row[Any]:
        """Evict what is over the budget now; return the memory that was written as it is then."""
        gone = await self._budget.keep(connection, actor, row.owner_id, [row.id])
        if row.id not in gone:
            return row
        return (await repository.by_ids(connection, row.owner_id, [row.id]))[row.id]

    async def _refused(self, actor: Actor, action: str, memory_id: str) -> NotFound:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [memory_id], outcome="refused")
        return NotFound("no such memory", field="memory_id")


def _is_there(actor: Actor, row: Row[Any]) -> bool:
    """Say whether somebody who may see a memory may read it in the status it is in."""
    aside = row.status in {Status.INACTIVE, Status.EVICTED, Status.PENDING}
    return row.status == Status.ACTIVE or (aside and may_change(actor, row.owner_id))


def _review_of_restored(row: Row[Any]) -> Review:
    if row.status == Status.PENDING:
        raise Conflict("waits for review; confirm it", field="memory_id")
    review = Review(row.review)
    return Review.CONFIRMED if review is Review.REJECTED else review


def _of_the_only_one(error: InvalidInput | NotFound) -> InvalidInput | NotFound:
    """Return what is wrong with a batch of one as what is wrong with the one."""
    field = error.field and error.field.removeprefix("memories.0.")
    return type(error)(error.reason, field=field, **error.extra)


def _check_version(row: Row[Any], expected: int | None, if_version: int | None) -> None:
    if expected not in {None, row.version}:
        raise VersionConflict(
            f"the memory is at version {row.version} now",
            field="expected_version",
            current_version=row.version,
        )
    if if_version not in {None, row.version}:
        raise PreconditionFailed(
            f"the memory is at version {row.version} now", current_version=row.version
        )


async def _unless_same(change: Any) -> Row[Any]:
    try:
        row: Row[Any] = await change
    except IntegrityError as error:
        raise Conflict("another memory says exactly this already", field="content") from error
    return row


async def _note(connection: AsyncConnection, actor: Actor, action: str, row: Row[Any]) -> None:
    await audit.note(connection, actor, action, [row.id], owner_id=row.owner_id)
