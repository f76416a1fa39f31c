"""Move an agent's memories of a user between the two scopes, or copy them, and take it back.

A preference that changes moves nothing: what an agent remembered stays where it was written
until somebody asks for this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, undo
from remembrancer.access import Actor, Scope
from remembrancer.agents import repository as agents
from remembrancer.associations import repository as associations
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, NotFound
from remembrancer.idempotency import once
from remembrancer.memories import mentions, transfers
from remembrancer.memories import repository as memories
from remembrancer.memories.budget import Budget
from remembrancer.memories.dedup import repeats
from remembrancer.memories.schemas import Status
from remembrancer.moves import repository
from remembrancer.moves.schemas import MoveRequest, MoveResult, MoveUndoResult
from remembrancer.preferences.scopes import scopes
from remembrancer.users import repository as users

ACTION: Final = "memory.move"


@dataclass(frozen=True, slots=True)
class Plan:
    """What moves as it is, and what repeats a memory that is there."""

    moving: list[str]
    merging: dict[str, str]

    @property
    def ids(self) -> list[str]:
        """All memories that take part."""
        return [*self.moving, *self.merging]


class Moves:
    """Moves between the scopes of one user with one agent.

    Active memories outside spaces take part. What is forgotten or evicted stays, and so do
    messages.
    """

    def __init__(self, database: Database, budget: Budget) -> None:
        self._database = database
        self._budget = budget

    async def move(
        self,
        actor: Actor,
        user_id: UUID,
        agent_id: UUID,
        wanted: MoveRequest,
        *,
        idempotency_key: str | None = None,
    ) -> MoveResult:
        """Move an agent's memories of a user to the other scope, or count what would move.

        A statement that is there already gains the mentions of the one that moves, which
        turns inactive. Nothing moves by halves. A retired agent can give, not take.
        """
        actor = actor.acting_for(user_id)
        request = (agent_id, wanted)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, actor, ACTION, idempotency_key, request) as answer,
        ):
            if answer.earlier is not None:
                return MoveResult.model_validate(answer.earlier)
            owner_id = await _held(connection, actor)
            retired = wanted.to is Scope.GLOBAL
            if await agents.find(connection, agent_id, retired=retired) is None:
                raise NotFound("no such agent", field="agent_id")
            await memories.lock_owner(connection, owner_id)
            plan = await _plan(connection, owner_id, agent_id, wanted.to)
            undo_id = None
            if plan.ids and not wanted.dry_run:
                record = await _carry_out(connection, owner_id, agent_id, plan, wanted)
                undo_id = await undo.add(connection, owner_id, ACTION, record)
                action = "memory.copy" if wanted.copy_them else ACTION
                await audit.note(connection, actor, action, plan.ids, owner_id=owner_id)
                if wanted.copy_them:
                    await self._budget.enforce(connection, actor, owner_id, list(record["copies"]))
            effective = (await scopes(connection, agent_id, [owner_id])).get(owner_id)
            moved = MoveResult(
                to=wanted.to,
                copied=wanted.copy_them,
                dry_run=wanted.dry_run,
                moved=len(plan.moving),
                merged=len(plan.merging),
                undo_id=undo_id,
                effective_scope=effective.scope if effective else None,
            )
            answer.new = moved.model_dump(mode="json")
            return moved

    async def undo(self, actor: Actor, user_id: UUID, undo_id: UUID) -> MoveUndoResult:
        """Take a move or copy back; what changed since is not lost, and stays.

        Raises ``NotFound`` for a move that this user does not have, ``Conflict`` for one that
        was taken back before.
        """
        actor = actor.acting_for(user_id)
        async with self._database.transaction(actor) as (connection, actor):
            owner_id = await _held(connection, actor)
            await memories.lock_owner(connection, owner_id)
            record = await undo.take(connection, owner_id, undo_id, ACTION)
            mention_ids = [UUID(each) for each in record["mentions"]]
            await mentions.take_back(connection, owner_id, mention_ids)
            back = _uncopy if record["copied"] else _unmove
            undone = await back(connection, owner_id, record)
            await audit.note(
                connection, actor, "memory.move.undo", [str(undo_id)], owner_id=owner_id
            )
            return undone


async def _held(connection: AsyncConnection, actor: Actor) -> UUID:
    person = actor.require_user()
    now = (await users.hold(connection, [person])).get(person)
    if now is None:
        raise NotFound("no such user", field="user_id")
    if now != person:
        raise Conflict("the user was merged into another at the same moment; try again")
    return person


def _namespaces(agent_id: UUID, to: Scope) -> tuple[UUID | None, UUID | None]:
    """Return the agent of the namespace that memories leave, and of the one they come to."""
    return (None, agent_id) if to is Scope.AGENT else (agent_id, None)


async def _plan(connection: AsyncConnection, owner_id: UUID, agent_id: UUID, to: Scope) -> Plan:
    _, there = _namespaces(agent_id, to)
    if to is Scope.AGENT:
        leaving = await repository.told_first(connection, owner_id, agent_id)
    else:
        leaving = await repository.in_namespace(connection, owner_id, agent_id)
    merging = repeats(leaving, await repository.in_namespace(connection, owner_id, there))
    return Plan([row.id for row in leaving if row.id not in merging], merging)


async def _carry_out(
    connection: AsyncConnection, owner_id: UUID, agent_id: UUID, plan: Plan, wanted: MoveRequest
) -> dict[str, Any]:
    """Move or copy what is planned; return what has to be known to take it back."""
    _, there = _namespaces(agent_id, wanted.to)
    added = await mentions.repeat(connection, owner_id, plan.merging)
    copies: dict[str, list[int]] = {}
    if wanted.copy_them:
        fresh = await memories.new_ids(connection, owner_id, len(plan.moving))
        new_ids = dict(zip(plan.moving, fresh, strict=True))
        await transfers.copy(connection, owner_id, new_ids, there)
        copied = await repository.by_ids(connection, owner_id, fresh)
        copies = {row.id: [row.version, row.mention_count] for row in copied}
    else:
        await memories.set_namespace(connection, owner_id, plan.moving, there)
        await memories.set_status(connection, owner_id, list(plan.merging), Status.INACTIVE)
    return {
        "agent_id": str(agent_id),
        "to": wanted.to.value,
        "copied": wanted.copy_them,
        "moved": [] if wanted.copy_them else plan.moving,
        "merged": [] if wanted.copy_them else list(plan.merging),
        "mentions": [str(each) for each in added],
        "copies": copies,
    }


async def _unmove(
    connection: AsyncConnection, owner_id: UUID, record: Mapping[str, Any]
) -> MoveUndoResult:
    home, there = _namespaces(UUID(record["agent_id"]), Scope(record["to"]))
    rows = await repository.by_ids(connection, owner_id, [*record["moved"], *record["merged"]])
    waiting = {row.id for row in rows if row.status == Status.INACTIVE}
    merged = waiting & set(record["merged"])
    coming = [row for row in rows if row.id in merged or row.agent_id == there]
    anew = repeats(
        [row for row in coming if row.id in merged or row.status == Status.ACTIVE],
        await repository.in_namespace(connection, owner_id, home),
    )
    back = [row.id for row in coming if row.id not in anew]
    await memories.set_namespace(connection, owner_id, [i for i in back if i not in merged], home)
    await memories.set_status(connection, owner_id, [i for i in back if i in merged], Status.ACTIVE)
    return MoveUndoResult(returned=len(back), stayed=len(rows) - len(back))


async def _uncopy(
    connection: AsyncConnection, owner_id: UUID, record: Mapping[str, Any]
) -> MoveUndoResult:
    rows = await repository.by_ids(connection, owner_id, list(record["copies"]))
    as_copied = [
        row.id for row in rows if [row.version, row.mention_count] == record["copies"][row.id]
    ]
    await associations.remove_from_and_to(connection, owner_id, as_copied)
    await transfers.erase(connection, [(owner_id, memory_id) for memory_id in as_copied])
    return MoveUndoResult(returned=len(as_copied), stayed=len(rows) - len(as_copied))
