"""Review: what waits for its owner is confirmed, edited, rejected or shared by them, in bulk.

Facts that a model found, or that somebody else said, come in as pending; so does whatever is
written with ``pending``. An instruction is pending in review but in use for its owner.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import and_, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Visibility, viewer_binds
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.db.rows import all_rows
from remembrancer.db.tables import memories
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.facts import service
from remembrancer.guard.guard import Guard
from remembrancer.memories import mentions, repository, views
from remembrancer.memories.budget import Budget
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Memory, MemoryFilter, MemoryPage, Review, Status
from remembrancer.memories.service import Memories
from remembrancer.memories.versions import as_changes, new_version
from remembrancer.review import edits
from remembrancer.review.schemas import (
    MOST_DECISIONS,
    Decision,
    ReviewDecision,
    ReviewOutcome,
    ReviewResult,
)
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.settings import LimitSettings
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users


@dataclass(slots=True)
class _Plan:
    """What a review changes, collected so that each change is one statement for all."""

    outcomes: dict[str, ReviewResult] = field(default_factory=dict)
    confirmed: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    reopened: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    """Those that live on in another memory."""
    repeats: dict[str, str] = field(default_factory=dict)
    changes: list[tuple[MemoryRow, str]] = field(default_factory=list)
    """Pending changes and the memories they are of."""
    shared: dict[UUID, list[str]] = field(default_factory=dict)

    def note(
        self, memory_id: str, outcome: ReviewOutcome, now: str | None, reason: str | None = None
    ) -> None:
        """Say what became of a memory."""
        self.outcomes[memory_id] = ReviewResult(
            memory_id=memory_id, outcome=outcome, now=now, reason=reason
        )


class Reviews:
    """What waits for people, and what they say of it. Each decides about their own alone."""

    def __init__(
        self,
        database: Database,
        indexer: SearchIndex,
        budget: Budget,
        owned: Memories,
        guard: Guard,
        limits: LimitSettings,
        reads: Reads,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._budget = budget
        self._memories = owned
        self._guard = guard
        self._limits = limits
        self._reads = reads

    async def list(self, actor: Actor, *, limit: int = 50, cursor: str | None = None) -> MemoryPage:
        """Return a page of what waits for the actor's user, the newest first.

        Each cites the message it comes from.
        """
        actor.require_user()
        wanted = MemoryFilter(statuses=[Status.ACTIVE, Status.PENDING], reviews=[Review.PENDING])
        return await self._memories.list(actor, wanted, limit=limit, cursor=cursor)

    async def named(self, actor: Actor, ids: Collection[str]) -> Sequence[Memory]:
        """Return those memories that wait for the actor's user, in the order they are named.

        Raises ``NotFound`` unless all of them do, and ``InvalidInput`` for too many.
        """
        actor.require_user()
        if len(ids) > MOST_DECISIONS:
            raise InvalidInput(f"must name at most {MOST_DECISIONS}", field="memory_id")
        async with self._database.transaction(actor) as (connection, actor):
            rows = await _rows(connection, actor, ids)
        waiting = [rows[one] for one in dict.fromkeys(ids) if one in rows]
        waiting = [row for row in waiting if row.review == Review.PENDING]
        if not waiting or len(waiting) < len(set(ids)):
            raise NotFound("no such memory waits", field="memory_id")
        await self._reads.note(actor, "memory.read", [(row.owner_id, row.id) for row in waiting])
        return [views.memory(row) for row in waiting]

    async def decide(
        self, actor: Actor, decisions: Sequence[ReviewDecision]
    ) -> Sequence[ReviewResult]:
        """Confirm, edit, reject or share memories; return what became of each, in order.

        All or, if anything fails, none. What is not the actor's is ``not_found`` among the
        outcomes; words that may not be stored leave theirs ``refused``. Raises
        ``InvalidInput`` for none or too many, or two about one memory.
        """
        actor.require_user()
        wanted = _by_id(decisions)
        async with self._database.transaction(actor) as (connection, actor):
            before = await _rows(connection, actor, wanted)
        wordings = {one.memory_id: one.edits for one in decisions}
        edited = await edits.prepare(
            self._guard, self._indexer, before, wordings, characters=self._limits.memory_characters
        )
        changing = [
            row for row in before.values() if row.revises is not None and row.id not in edited.texts
        ]
        texts = await self._indexer.prepare([row.content for row in changing])
        ready = {row.id: (row.content, one) for row, one in zip(changing, texts, strict=True)}
        async with self._database.transaction(actor) as (connection, actor):
            owner_id = actor.require_user()
            held = await users.hold(connection, [owner_id])
            if owner_id not in held:
                raise NotFound("no such user", field="user_id")
            places = {row.space_id for row in before.values() if row.space_id}
            mine = await spaces.joined(connection, owner_id, places)
            await repository.lock_owner(connection, owner_id)
            rows = await _rows(connection, actor, wanted, lock=True)
            fit = [
                i
                for i in edited.changes
                if i in rows and _waits(rows[i]) and not _obstacle(rows[i], wanted[i], mine)
            ]
            await edits.apply(connection, self._indexer, rows, fit, edited)
            ready |= {i: (rows[i].content, edited.texts[i]) for i in edited.texts if i in rows}
            plan = await _plan(connection, owner_id, wanted, rows, mine, edited)
            await self._carry_out(connection, owner_id, plan, ready)
            await _note(connection, actor, owner_id, plan)
            written = [*plan.confirmed, *(target_id for _, target_id in plan.changes)]
            if written:
                await self._budget.enforce(connection, actor, owner_id, written)
        return [plan.outcomes[one.memory_id] for one in decisions]

    async def _carry_out(
        self,
        connection: AsyncConnection,
        owner_id: UUID,
        plan: _Plan,
        ready: dict[str, tuple[str, SearchDocument]],
    ) -> None:
        for row, target_id in plan.changes:
            content, searchable = ready.get(row.id, ("", None))
            if searchable is None or content != row.content:
                plan.note(row.id, ReviewOutcome.REFUSED, None, "was changed meanwhile; try again")
                continue
            [target] = (await repository.by_ids(connection, owner_id, [target_id])).values()
            await new_version(
                connection,
                self._indexer,
                target,
                as_changes(row),
                text=searchable,
                source=row.source,
            )
            plan.settled.append(row.id)
        if plan.repeats:
            await mentions.repeat(connection, owner_id, plan.repeats)
        await repository.set_status(
            connection, owner_id, plan.confirmed, Status.ACTIVE, review=Review.CONFIRMED
        )
        await repository.set_status(
            connection, owner_id, plan.settled, Status.FORGOTTEN, review=Review.CONFIRMED
        )
        await repository.set_status(
            connection, owner_id, plan.rejected, Status.FORGOTTEN, review=Review.REJECTED
        )
        await repository.set_status(
            connection, owner_id, plan.reopened, Status.PENDING, review=Review.PENDING
        )
        for space_id, ids in plan.shared.items():
            await service.set_visibility(connection, owner_id, ids, space_id, Visibility.SHARED)


def _by_id(decisions: Sequence[ReviewDecision]) -> dict[str, Decision]:
    if not 0 < len(decisions) <= MOST_DECISIONS:
        raise InvalidInput(f"must hold from 1 to {MOST_DECISIONS} decisions", field="decisions")
    wanted = {one.memory_id: one.decision for one in decisions}
    if len(wanted) < len(decisions):
        raise InvalidInput("names a memory twice", field="decisions")
    return wanted


async def _rows(
    connection: AsyncConnection, actor: Actor, ids: Collection[str], *, lock: bool = False
) -> dict[str, MemoryRow]:
    """Return those of the actor's own memories that can be reviewed, or were rejected, by id."""
    column = memories.c
    rejected = and_(column.status == Status.FORGOTTEN, column.review == Review.REJECTED)
    statement = (
        select(memories)
        .where(column.owner_id == actor.user_id, column.id.in_(ids))
        .where(or_(column.status.in_((Status.ACTIVE, Status.PENDING)), rejected))
        .where(text(repository.VISIBLE).bindparams(**viewer_binds(actor)))
        .order_by(column.id)
    )
    rows = await all_rows(connection, MemoryRow, statement.with_for_update() if lock else statement)
    return {row.id: row for row in rows}


async def _plan(
    connection: AsyncConnection,
    owner_id: UUID,
    wanted: dict[str, Decision],
    rows: dict[str, MemoryRow],
    member_of: Collection[UUID],
    edited: edits.Rewordings,
) -> _Plan:
    plan = _Plan()
    hashes = [row.content_hash for row in rows.values()]
    same = {
        _what(row): row.id
        for row in await repository.same_statements(connection, owner_id, hashes)
        if row.status == Status.ACTIVE
    }
    targets = await repository.by_ids(
        connection, owner_id, [row.revises for row in rows.values() if row.revises]
    )
    for memory_id, decision in wanted.items():
        row = rows.get(memory_id)
        if row is None or _waits(row) == (decision is Decision.REOPEN):
            plan.note(memory_id, ReviewOutcome.NOT_FOUND, None)
        elif decision is Decision.REOPEN:
            plan.reopened.append(memory_id)
            plan.note(memory_id, ReviewOutcome.REOPENED, memory_id)
        elif decision is Decision.REJECT:
            plan.rejected.append(memory_id)
            plan.note(memory_id, ReviewOutcome.REJECTED, None)
        elif reason := edited.refused.get(memory_id) or _obstacle(row, decision, member_of):
            plan.note(memory_id, ReviewOutcome.REFUSED, None, reason)
        else:
            _confirm(plan, row, decision, same, targets)
            plan.outcomes[memory_id].guard = edited.findings.get(memory_id, [])
    return plan


def _waits(row: MemoryRow) -> bool:
    """Say whether a memory is there to be decided about, or was rejected."""
    return bool(row.status != Status.FORGOTTEN)


def _obstacle(row: MemoryRow, decision: Decision, member_of: Collection[UUID]) -> str | None:
    shares = decision is Decision.SHARE
    if shares and row.space_id is None:
        return "only a memory in a space can be shared"
    if (shares or row.visibility == Visibility.SHARED) and row.space_id not in member_of:
        return "only a member of its space can share it"
    return None


def _confirm(
    plan: _Plan,
    row: MemoryRow,
    decision: Decision,
    same: dict[tuple[Any, ...], str],
    targets: dict[str, MemoryRow],
) -> None:
    other = same.get(_what(row), row.id)
    target = targets.get(row.revises) if row.revises else None
    if target is not None and target.address is not None:
        target = None  # what a program keeps is the program's to change
    if other != row.id:
        plan.repeats[row.id] = other
        plan.settled.append(row.id)
        plan.note(row.id, ReviewOutcome.MENTIONED, other)
        return
    same[_what(row)] = row.id
    if row.status == Status.PENDING and target is not None and target.status == Status.ACTIVE:
        same[_what(row)] = target.id
        plan.changes.append((row, target.id))
        plan.note(row.id, ReviewOutcome.UPDATED, target.id)
        return
    plan.confirmed.append(row.id)
    if (
        decision is Decision.SHARE
        and row.visibility != Visibility.SHARED
        and row.space_id is not None
    ):
        plan.shared.setdefault(row.space_id, []).append(row.id)
    outcome = ReviewOutcome.SHARED if decision is Decision.SHARE else ReviewOutcome.CONFIRMED
    plan.note(row.id, outcome, row.id)


def _what(row: MemoryRow) -> tuple[Any, ...]:
    return row.agent_id, row.space_id, bytes(row.content_hash)


async def _note(connection: AsyncConnection, actor: Actor, owner_id: UUID, plan: _Plan) -> None:
    done: dict[tuple[str, audit.Outcome], list[str]] = {}
    for one in plan.outcomes.values():
        refused = one.outcome in {ReviewOutcome.REFUSED, ReviewOutcome.NOT_FOUND}
        action = {
            ReviewOutcome.REJECTED: "memory.reject",
            ReviewOutcome.REOPENED: "memory.reopen",
            ReviewOutcome.SHARED: "memory.share",
        }.get(one.outcome, "memory.confirm")
        done.setdefault((action, "refused" if refused else "done"), []).append(one.memory_id)
    for (action, outcome), ids in done.items():
        await audit.note(connection, actor, action, ids, owner_id=owner_id, outcome=outcome)
