"""Forget many memories in one transaction, and undo that as a whole."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Unpack
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks, undo
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.tables import memories
from remembrancer.errors import Conflict, InvalidInput
from remembrancer.idempotency import once
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import filters as memory_filters
from remembrancer.memories import repository, rules, source_messages
from remembrancer.memories.batch_schemas import ForgetManyResult, ForgetUndoResult
from remembrancer.memories.budget import Budget
from remembrancer.memories.keywords import MemoryFilters
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import MemoryFilter, Status
from remembrancer.memories.source_messages import RemakeChunks, SourceMessage
from remembrancer.validation import model_of

FORGET: Final = "memory.forget"
_FORGETTABLE: Final = frozenset({Status.ACTIVE, Status.PENDING})


class ForgetRecord(BaseModel):
    """The record that undoes it: the memories by the status they had, and when they lost it."""

    at: datetime
    active: list[str]
    pending: list[str]


@retries_deadlocks
class Batches:
    """Changes of many memories of one owner: the actor's user, or of shared knowledge."""

    def __init__(self, backend: Backend, budget: Budget, remake_chunks: RemakeChunks) -> None:
        self._backend = backend
        self._budget = budget
        self._remake_chunks = remake_chunks

    async def forget_many(
        self,
        actor: Actor,
        memory_ids: Sequence[str] = (),
        filters: MemoryFilter | None = None,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **fields: Unpack[MemoryFilters],
    ) -> ForgetManyResult:
        """Forget memories with the messages that say them: by id, or all that match filters.

        ``filters``, or their ``fields`` by keyword. Only the user's own; without a user, shared
        knowledge. Of the matches, the oldest are forgotten, as many as a request may have
        (``limits.batch``). A dry run counts. Raises ``InvalidInput`` unless there are either ids or
        filters.
        """
        filters = model_of(MemoryFilter, filters, fields)
        _check(memory_ids, filters, self._backend.limits.batch)
        request = (actor.agent_id, memory_ids, filters)
        key = None if dry_run else idempotency_key
        database = self._backend.database
        async with (
            database.system_for(actor, dry_run=dry_run) as (connection, actor),
            once(connection, FORGET, key, request) as answer,
        ):
            if answer.earlier is not None:
                return ForgetManyResult.model_validate(answer.earlier)
            owner_id = await _owner(connection, actor)
            if memory_ids:
                ids, unknown = await _by_ids(connection, actor, owner_id, memory_ids)
                matching = len(ids)
            else:
                most, unknown = self._backend.limits.batch, []
                ids, matching = await _by_filters(connection, actor, owner_id, filters, most)
            messages = await source_messages.lock_all(connection, owner_id, ids)
            rows = await _lock(connection, owner_id, ids, _FORGETTABLE)
            messages = [message for message in messages if message.memory_id in rows]
            certain = [message for message in messages if message.certain]
            undo_id = await self._forget(connection, actor, owner_id, rows, certain)
            if refused := [memory_id for memory_id in unknown if memory_id.isalnum()]:
                await audit.note(connection, actor, FORGET, refused, outcome="refused")
            said = {message.id for message in certain}
            result = ForgetManyResult(
                dry_run=dry_run,
                memories=len(rows),
                messages=len(said),
                similar_messages=len({message.id for message in messages} - said),
                remaining=matching - len(rows),
                not_found=unknown,
                undo_id=None if dry_run else undo_id,
            )
            answer.new = result.model_dump(mode="json")
            return result

    async def undo_forget(self, actor: Actor, undo_id: UUID) -> ForgetUndoResult:
        """Undo :meth:`forget_many`: its memories and their messages are as they were.

        What was restored, forgotten again or erased since stays as it is. Raises ``NotFound`` for
        the undo id of another user, and ``Conflict`` if it was undone before, or if the author of
        shared facts has left their space.
        """
        async with self._backend.database.system_for(actor) as (connection, actor):
            owner_id = await _owner(connection, actor)
            taken = await undo.take(connection, owner_id, undo_id, FORGET)
            record = ForgetRecord.model_validate(taken)
            ids = [*record.active, *record.pending]
            messages = await source_messages.lock_all(connection, owner_id, ids, withheld=True)
            rows = await _lock(connection, owner_id, ids, {Status.FORGOTTEN})
            back = {i: row for i, row in rows.items() if row.forgotten_at == record.at}
            hashes = [row.content_hash for row in back.values()]
            same = await repository.same_statements(connection, owner_id, hashes)
            statements = {_statement(row) for row in same if row.status == Status.ACTIVE}
            active = [
                i for i in record.active if i in back and _statement(back[i]) not in statements
            ]
            pending = [i for i in record.pending if i in back]
            await repository.check_membership(connection, owner_id, active)
            await repository.set_status(connection, owner_id, active, Status.ACTIVE)
            await repository.set_status(connection, owner_id, pending, Status.PENDING)
            returned = [*active, *pending]
            released = [message for message in messages if message.memory_id in returned]
            await source_messages.release(
                connection, owner_id, returned, released, self._remake_chunks
            )
            await audit.note(connection, actor, "memory.restore", returned, owner_id=owner_id)
            await self._budget.enforce(connection, actor, owner_id, active)
            return ForgetUndoResult(returned=len(returned), stayed=len(ids) - len(returned))

    async def _forget(
        self,
        connection: AsyncConnection,
        actor: Actor,
        owner_id: UUID,
        rows: Mapping[str, MemoryRow],
        messages: Sequence[SourceMessage],
    ) -> UUID | None:
        """Return the id of the undo record; null if there is nothing to forget."""
        if not rows:
            return None
        first, *_ = await repository.set_status(connection, owner_id, rows, Status.FORGOTTEN)
        await source_messages.withhold(connection, owner_id, messages, self._remake_chunks)
        await audit.note(connection, actor, FORGET, list(rows), owner_id=owner_id)
        pending = [i for i, row in rows.items() if row.status == Status.PENDING]
        record = {
            "at": first.forgotten_at.isoformat() if first.forgotten_at else None,
            "active": [i for i in rows if i not in pending],
            "pending": pending,
        }
        return await undo.add(connection, owner_id, FORGET, record)


def _check(memory_ids: Sequence[str], filters: MemoryFilter, most: int) -> None:
    if bool(memory_ids) == bool(filters.model_fields_set):
        raise InvalidInput("must be given, or else at least one of filters", field="memory_ids")
    if len(memory_ids) > most:
        raise InvalidInput(f"must have at most {most:,} ids", field="memory_ids")
    if not _FORGETTABLE.issuperset(filters.statuses):
        raise InvalidInput("must be active or pending", field="filters.statuses")


async def _owner(connection: AsyncConnection, actor: Actor) -> UUID:
    if actor.user_id is None:
        actor.require(Role.ADMIN, Role.SERVICE)
        return SHARED_OWNER
    return await checks.hold_user(connection, actor)


async def _by_ids(
    connection: AsyncConnection, actor: Actor, owner_id: UUID, memory_ids: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the ids of memories that the actor may forget, and those of none."""
    given = list(dict.fromkeys(memory_ids))
    valid = [memory_id for memory_id in given if rules.is_id(memory_id)]
    rows = await repository.named(connection, actor, owner_id, valid, _FORGETTABLE)
    names = [f"{rules.EXTERNAL}{row.external_id}" for row in rows if row.external_id]
    if any(names.count(name) > 1 for name in given):
        raise Conflict(
            "several memories have one of these; name the agent, or use ids of ours",
            field="memory_ids",
        )
    known = {*names, *(row.id for row in rows)}
    return sorted(row.id for row in rows), [i for i in given if i not in known]


async def _by_filters(
    connection: AsyncConnection, actor: Actor, owner_id: UUID, filters: MemoryFilter, most: int
) -> tuple[list[str], int]:
    """Return the ids of the oldest memories of an owner that match, and the number of all."""
    column = memories.c
    matches = memory_filters.matching(actor, filters, select(column.id))
    matches = matches.where(column.owner_id == owner_id)
    total = await connection.execute(select(func.count()).select_from(matches.subquery()))
    oldest = matches.order_by(column.created_at, column.id).limit(most)
    return sorted((await connection.execute(oldest)).scalars()), total.scalar_one()


async def _lock(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], statuses: Collection[Status]
) -> dict[str, MemoryRow]:
    """Lock memories; return those that have one of the statuses now, by id."""
    await repository.lock_owner(connection, owner_id)
    await repository.lock(connection, owner_id, ids)
    rows = await repository.by_ids(connection, owner_id, ids)
    return {memory_id: row for memory_id, row in sorted(rows.items()) if row.status in statuses}


def _statement(row: MemoryRow) -> tuple[UUID | None, UUID | None, bytes]:
    return row.agent_id, row.space_id, row.content_hash
