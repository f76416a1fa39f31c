"""Remember, read, change and forget memories."""

from collections.abc import Sequence
from typing import Any
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
from remembrancer.indexing.index import Indexer, Searchable
from remembrancer.memories import guarding, leaving, linking, listing, repository, rules, told
from remembrancer.memories.schemas import (
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryHistory,
    MemoryPage,
    MemoryRefused,
    MemoryUpdate,
    MemoryUpdated,
    MemoryVersion,
    MemoryWritten,
    Mention,
    Outcome,
    Status,
    Told,
)
from remembrancer.memories.versioning import new_version
from remembrancer.memories.writing import Writing
from remembrancer.settings import LimitSettings
from remembrancer.text import LARGEST_PAGE, check_range


class Memories:
    """The memories of everybody, each seen by whom it may be seen.

    Every method answers for the actor's user and agent. What they may not see does not
    exist for them: ``NotFound``, and a line in the audit log.
    """

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        writing: Writing,
        limits: LimitSettings,
        reads: Reads,
        guard: Guard,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._writing = writing
        self._limits = limits
        self._guard = guard
        self._reads = reads

    async def remember(
        self,
        actor: Actor,
        statement: MemoryCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> MemoryWritten:
        """Store one statement for the actor's user, or count it as a mention.

        Raises ``SimilarMemoryExists`` where a memory on its subject exists.
        """
        rules.check_length(statement.content, characters=self._limits.memory_characters)
        screened = guarding.statement(self._guard, statement)
        if screened.refusal:
            raise screened.refusal
        try:
            [written] = await self._write(actor, [screened.kept], source, idempotency_key)
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
    ) -> list[MemoryWritten | MemoryRefused]:
        """Store statements in one transaction; return what became of each, in order.

        One that the guard refuses is not stored; the others are.
        """
        limits = self._limits
        rules.check_batch(statements, batch=limits.batch, characters=limits.memory_characters)
        screened = [guarding.statement(self._guard, statement) for statement in statements]
        kept = [one.kept for one in screened if one.refusal is None]
        try:
            written = await self._write(actor, kept, source, idempotency_key) if kept else []
        except (InvalidInput, NotFound) as error:
            raise guarding.as_sent(error, screened) from error
        return guarding.answers(screened, written)

    async def _write(
        self,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        source: str,
        idempotency_key: str | None,
    ) -> list[MemoryWritten]:
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
        texts: Sequence[Searchable],
        source: str,
        idempotency_key: str | None,
    ) -> list[MemoryWritten]:
        request = (actor.agent_id, statements)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, actor, "memories.remember", idempotency_key, request) as answer,
        ):
            if answer.earlier is not None:
                return await told.again(connection, answer.earlier)
            results = await self._writing.write(connection, actor, statements, texts, source)
            await linking.link_new(connection, actor, statements, results)
            suggestions = await linking.suggest_new(
                connection, actor, results, self._writing.near_duplicate
            )
            answer.keep = told.kept(results, suggestions)
            return await told.again(connection, answer.keep)

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
        found = [Told(memory=told.memory(row), message_id=row.told_by) for row in rows]
        mine = {(one.memory.user_id, one.memory.id) for one in found}
        await self._reads.note(actor, "memory.list", sorted(mine, key=str))
        return found

    async def get(self, actor: Actor, memory_id: str) -> MemoryHistory:
        """Return a memory with its versions and mentions."""
        rules.check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, memory_id)
            if row is not None and row.status == Status.ACTIVE:
                versions, mentions = await repository.history(connection, row.owner_id, row.id)
        if row is None or row.status != Status.ACTIVE:
            raise await self._refused(actor, "memory.read", memory_id)
        await self._reads.note(actor, "memory.read", [(row.owner_id, row.id)])
        return MemoryHistory(
            **told.memory(row).model_dump(),
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
    ) -> MemoryUpdated:
        """Make a new version of a memory; the old one stays in its history.

        ``changes.expected_version`` that is not current raises ``VersionConflict``,
        ``if_version`` ``PreconditionFailed``; without either the update lands on
        whatever is current.
        """
        rules.check_id(memory_id)
        text = None
        if changes.content is not None:
            rules.check_length(changes.content, characters=self._limits.memory_characters)
        screened = guarding.changes(self._guard, changes)
        changes = screened.kept
        if changes.content is not None:
            [text] = await self._indexer.prepare([changes.content])
        async with self._database.transaction(actor) as (connection, actor):
            row = await self._changeable(connection, actor, memory_id)
            if row is not None:
                _check_version(row, changes.expected_version, if_version)
                guarding.check_update(row, changes)
                await leaving.check_may_add(connection, row.owner_id, [row.id])
                changed = await _unless_same(
                    new_version(connection, self._indexer, row, changes, text=text, source=source)
                )
                await _note(connection, actor, "memory.update", row)
                return told.updated(changed, screened.findings)
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
        return await self._set(actor, "memory.restore", memory_id, values, any_status=True)

    async def pin(self, actor: Actor, memory_id: str, *, pinned: bool = True) -> Memory:
        """Pin a memory, so that no budget ever evicts it, or unpin it."""
        return await self._set(actor, "memory.pin", memory_id, {"pinned": pinned})

    async def _set(
        self,
        actor: Actor,
        action: str,
        memory_id: str,
        values: dict[str, Any],
        *,
        any_status: bool = False,
        if_version: int | None = None,
    ) -> Memory:
        rules.check_id(memory_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await self._changeable(connection, actor, memory_id, any_status=any_status)
            if row is not None:
                _check_version(row, None, if_version)
                if values.get("status") is Status.ACTIVE:
                    await leaving.check_may_add(connection, row.owner_id, [row.id])
                changed = await _unless_same(
                    repository.change(connection, row.owner_id, row.id, values)
                )
                if "status" in values:
                    status = Status(values["status"])
                    await repository.mark_items(connection, row.owner_id, row.id, status)
                await _note(connection, actor, action, row)
                return told.memory(changed)
        raise await self._refused(actor, action, memory_id)

    @staticmethod
    async def _changeable(
        connection: AsyncConnection, actor: Actor, memory_id: str, *, any_status: bool = False
    ) -> Row[Any] | None:
        row = await repository.find(connection, actor, memory_id)
        if row is None or not may_change(actor, row.owner_id):
            return None
        # The owner's lock first, the row's second, as every write does.
        await repository.lock_owner(connection, row.owner_id)
        row = await repository.find(connection, actor, memory_id, lock=True)
        usable = row is not None and (any_status or row.status == Status.ACTIVE)
        return row if usable else None

    async def _refused(self, actor: Actor, action: str, memory_id: str) -> NotFound:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [memory_id], outcome="refused")
        return NotFound("no such memory", field="memory_id")


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
