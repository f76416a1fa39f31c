"""Move or copy an agent's memories of a user to the other scope, and undo it.

A changed preference moves nothing: memories stay until a move.
"""

from typing import Final
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, undo
from remembrancer.access import Actor, Scope
from remembrancer.associations import repository as associations
from remembrancer.backend import Backend
from remembrancer.checks import check_agent, hold_user
from remembrancer.db.retries import retries_deadlocks
from remembrancer.idempotency import once
from remembrancer.memories import mentions, transfers
from remembrancer.memories import repository as memories
from remembrancer.memories.budget import Budget
from remembrancer.memories.dedup import repeats
from remembrancer.memories.schemas import Status
from remembrancer.moves import repository
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.preferences.scopes import scopes
from remembrancer.user_names import AnyUser

MOVE: Final = "memory.move"


class MoveRecord(BaseModel):
    """The record that undoes a move or copy."""

    agent_id: UUID
    to: Scope
    copied: bool
    moved: list[str]
    merged: list[str]
    mentions: list[UUID]
    """Mentions that merging added."""
    copies: dict[str, tuple[int, int]]
    """Version and mention count of each copy."""


@retries_deadlocks
class Moves:
    """Moves between the two scopes of a user with an agent.

    Active memories outside spaces move. Forgotten and evicted memories stay, and so do messages.
    """

    def __init__(self, backend: Backend, budget: Budget) -> None:
        self._database = backend.database
        self._budget = budget

    async def move(
        self,
        actor: Actor,
        user_id: AnyUser,
        agent_id: UUID,
        request: MoveRequest,
        *,
        idempotency_key: str | None = None,
    ) -> MoveResult:
        """Move an agent's memories of a user to the other scope, or count them.

        A memory whose statement is in the target scope already becomes a mention there, and
        inactive here. All memories move or none. The memories of a deleted agent can only become
        global. Raises ``NotFound`` for an unknown user or agent.
        """
        actor = actor.acting_for(user_id)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, MOVE, idempotency_key, (agent_id, request)) as answer,
        ):
            if answer.earlier is not None:
                return MoveResult.model_validate(answer.earlier)
            owner_id = await hold_user(connection, actor)
            await check_agent(connection, agent_id, retired=request.to is Scope.GLOBAL)
            await memories.lock_owner(connection, owner_id)
            to_agent = request.to is Scope.AGENT
            read = repository.first_told_to if to_agent else repository.in_namespace
            leaving = await read(connection, owner_id, agent_id)
            target = agent_id if to_agent else None
            merging = repeats(leaving, await repository.in_namespace(connection, owner_id, target))
            moving = [row.id for row in leaving if row.id not in merging]
            undo_id = None
            if leaving and not request.dry_run:
                undo_id = await self._carry_out(
                    connection, actor, agent_id, request, moving, merging
                )
            effective = (await scopes(connection, agent_id, [owner_id])).get(owner_id)
            result = MoveResult(
                to=request.to,
                copied=request.copy_them,
                dry_run=request.dry_run,
                moved=len(moving),
                merged=len(merging),
                undo_id=undo_id,
                effective_scope=effective.scope if effective else None,
            )
            answer.new = result.model_dump(mode="json")
            return result

    async def undo(self, actor: Actor, user_id: AnyUser, undo_id: UUID) -> MoveUndoResult:
        """Undo a move or copy. Memories that changed since stay where they are.

        Raises ``NotFound`` for another user's move, and ``Conflict`` if it was undone before.
        """
        async with self._database.transaction(actor.acting_for(user_id)) as (connection, actor):
            owner_id = await hold_user(connection, actor)
            await memories.lock_owner(connection, owner_id)
            record = MoveRecord.model_validate(await undo.take(connection, owner_id, undo_id, MOVE))
            await mentions.take_back(connection, owner_id, record.mentions)
            undo_record = _undo_copy if record.copied else _undo_move
            result = await undo_record(connection, owner_id, record)
            await audit.note(
                connection, actor, "memory.move.undo", [str(undo_id)], owner_id=owner_id
            )
            return result

    async def _carry_out(
        self,
        connection: AsyncConnection,
        actor: Actor,
        agent_id: UUID,
        request: MoveRequest,
        moving: list[str],
        merging: dict[str, str],
    ) -> UUID:
        """Return the id of the undo record. ``merging`` has the memory that each one repeats."""
        owner_id, copying = actor.require_user(), request.copy_them
        target = agent_id if request.to is Scope.AGENT else None
        added = await mentions.repeat(connection, owner_id, merging)
        copies: dict[str, tuple[int, int]] = {}
        if copying:
            new_ids = await memories.new_ids(connection, owner_id, len(moving))
            pairs = dict(zip(moving, new_ids, strict=True))
            await transfers.copy(connection, owner_id, pairs, target)
            rows = await memories.by_ids(connection, owner_id, new_ids)
            copies = {row.id: (row.version, row.mention_count) for row in rows.values()}
        else:
            await memories.set_namespace(connection, owner_id, moving, target)
            await memories.set_status(connection, owner_id, list(merging), Status.INACTIVE)
        record = MoveRecord(
            agent_id=agent_id,
            to=request.to,
            copied=copying,
            moved=[] if copying else moving,
            merged=[] if copying else list(merging),
            mentions=added,
            copies=copies,
        )
        undo_id = await undo.add(connection, owner_id, MOVE, record.model_dump(mode="json"))
        action = "memory.copy" if copying else MOVE
        await audit.note(connection, actor, action, [*moving, *merging], owner_id=owner_id)
        if copying:
            await self._budget.enforce(connection, actor, owner_id, list(copies))
        return undo_id


async def _undo_move(
    connection: AsyncConnection, owner_id: UUID, record: MoveRecord
) -> MoveUndoResult:
    to_agent = record.to is Scope.AGENT
    source = None if to_agent else record.agent_id
    target = record.agent_id if to_agent else None
    rows = (await memories.by_ids(connection, owner_id, [*record.moved, *record.merged])).values()
    merged = {row.id for row in rows if row.status == Status.INACTIVE and row.id in record.merged}
    returning = [row for row in rows if row.id in merged or row.agent_id == target]
    # Skip statements that were remembered again in the source namespace.
    repeated = repeats(
        [row for row in returning if row.id in merged or row.status == Status.ACTIVE],
        await repository.in_namespace(connection, owner_id, source),
    )
    ids = [row.id for row in returning if row.id not in repeated]
    moved = [memory_id for memory_id in ids if memory_id not in merged]
    await memories.set_namespace(connection, owner_id, moved, source)
    reactivated = [memory_id for memory_id in ids if memory_id in merged]
    await memories.set_status(connection, owner_id, reactivated, Status.ACTIVE)
    return MoveUndoResult(returned=len(ids), stayed=len(rows) - len(ids))


async def _undo_copy(
    connection: AsyncConnection, owner_id: UUID, record: MoveRecord
) -> MoveUndoResult:
    rows = await memories.by_ids(connection, owner_id, list(record.copies))
    ids = [
        row.id for row in rows.values() if (row.version, row.mention_count) == record.copies[row.id]
    ]
    await associations.erase(connection, [(owner_id, memory_id) for memory_id in ids])
    await transfers.erase(connection, [(owner_id, memory_id) for memory_id in ids])
    return MoveUndoResult(returned=len(ids), stayed=len(rows) - len(ids))
