"""Review: owners confirm, edit, reject or share their pending memories.

Pending are extracted facts, facts about users that others told, and statements written with
``pending``. A pending instruction is in use for its owner.
"""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Visibility
from remembrancer.backend import Backend
from remembrancer.checks import hold_user
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.trips import together
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.facts.service import set_visibility
from remembrancer.memories import mentions, views
from remembrancer.memories import repository as memories
from remembrancer.memories.budget import Budget
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Memory, MemoryFilter, MemoryPage, Review, Status
from remembrancer.memories.service import Memories
from remembrancer.memories.versions import as_changes, new_version
from remembrancer.paging import Items, PageMethod
from remembrancer.review import edits, repository, rules, schemas
from remembrancer.search.index import SearchDocument
from remembrancer.spaces import repository as spaces

Documents = Mapping[str, tuple[str, SearchDocument]]
"""By memory: its content and the search document made of it."""


@retries_deadlocks
class Reviews:
    """Pending memories. Only their owner decides about them."""

    def __init__(self, backend: Backend, budget: Budget, memories: Memories) -> None:
        self._backend = backend
        self._database = backend.database
        self._budget = budget
        self._memories = memories

    @PageMethod
    async def list(self, actor: Actor, *, limit: int = 50, cursor: str | None = None) -> MemoryPage:
        """Return a page of the user's pending memories, the newest first.

        Each has its conversation and message. ``limit`` is from 1 to 200.
        """
        actor.require_user()
        pending = MemoryFilter(statuses=[Status.ACTIVE, Status.PENDING], reviews=[Review.PENDING])
        return await self._memories.list(actor, pending, limit=limit, cursor=cursor)

    async def get(self, actor: Actor, ids: Collection[str]) -> Sequence[Memory]:
        """Return pending memories of the user by id, in the given order.

        Raises ``NotFound`` unless all are pending, and ``InvalidInput`` for more than 200.
        """
        actor.require_user()
        if len(ids) > schemas.MOST_DECISIONS:
            raise InvalidInput(f"must have at most {schemas.MOST_DECISIONS} ids", field="memory_id")
        async with self._database.transaction(actor) as (connection, actor):
            rows = await repository.reviewable(connection, actor, ids)
        pending = [rows[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in rows]
        pending = [row for row in pending if row.review == Review.PENDING]
        if not pending or len(pending) < len(set(ids)):
            raise NotFound("no pending memory with this id", field="memory_id")
        keys = [(row.owner_id, row.id) for row in pending]
        await self._backend.reads.note(actor, "memory.read", keys)
        return [views.memory(row) for row in pending]

    async def decide(
        self, actor: Actor, decisions: Sequence[schemas.ReviewDecision]
    ) -> Items[schemas.ReviewResult]:
        """Confirm, edit, reject or share memories; return the result of each, in order.

        All decisions are carried out, or none if anything fails. The outcome is ``not_found``
        for a memory that is not the user's, and ``refused`` for an edit that may not be stored.
        Raises ``InvalidInput`` unless there are 1 to 200 decisions, each about another memory.
        """
        actor.require_user()
        by_id = _by_id(decisions)
        async with self._database.transaction(actor) as (connection, actor):
            before = await repository.reviewable(connection, actor, by_id)
        requests = {decision.memory_id: decision.edits for decision in decisions}
        prepared = await edits.prepare(self._backend, before, requests)
        documents = await self._documents_of_changes(before, prepared)
        async with self._database.transaction(actor) as (connection, actor):
            owner_id = await hold_user(connection, actor)
            space_ids = {row.space_id for row in before.values() if row.space_id}
            async with together(connection) as trip:
                held = spaces.joined(trip, owner_id, space_ids)
            joined = frozenset(row.id for row in held)
            await memories.lock_owner(connection, owner_id)
            rows = await repository.reviewable(connection, actor, by_id, lock=True)
            editable = [
                memory_id
                for memory_id in prepared.changes
                if (row := rows.get(memory_id))
                and rules.is_open(row)
                and not rules.obstacle(row, by_id[memory_id], joined)
            ]
            await edits.apply(connection, self._backend.search, rows, editable, prepared)
            documents |= {
                memory_id: (rows[memory_id].content, document)
                for memory_id, document in prepared.documents.items()
                if memory_id in rows
            }
            state = await _state(connection, owner_id, rows, joined, prepared)
            plan = rules.plan_review(by_id, state)
            await self._carry_out(connection, actor, plan, documents)
        return Items(items=[plan.results[decision.memory_id] for decision in decisions])

    async def _documents_of_changes(
        self, rows: Mapping[str, MemoryRow], prepared: edits.Edits
    ) -> dict[str, tuple[str, SearchDocument]]:
        """Return the search documents of pending changes that are not edited."""
        changes = [
            row
            for row in rows.values()
            if row.revises is not None and row.id not in prepared.documents
        ]
        documents = await self._backend.search.prepare([row.content for row in changes])
        return {
            row.id: (row.content, document)
            for row, document in zip(changes, documents, strict=True)
        }

    async def _carry_out(
        self,
        connection: AsyncConnection,
        actor: Actor,
        plan: rules.ReviewPlan,
        documents: Documents,
    ) -> None:
        owner_id = actor.require_user()
        for row, target_id in plan.changes:
            content, document = documents.get(row.id, ("", None))
            if document is None or content != row.content:
                reason = "was changed at the same moment; try again"
                plan.add_result(row.id, schemas.ReviewOutcome.REFUSED, None, reason)
                continue
            [target] = (await memories.by_ids(connection, owner_id, [target_id])).values()
            await new_version(
                connection,
                self._backend.search,
                target,
                as_changes(row),
                text=document,
                source=row.source,
            )
            plan.replaced.append(row.id)
        if plan.repeats:
            await mentions.repeat(connection, owner_id, plan.repeats)
        for ids, status, review in (
            (plan.confirmed, Status.ACTIVE, Review.CONFIRMED),
            (plan.replaced, Status.FORGOTTEN, Review.CONFIRMED),
            (plan.rejected, Status.FORGOTTEN, Review.REJECTED),
            (plan.reopened, Status.PENDING, Review.PENDING),
        ):
            await memories.set_status(connection, owner_id, ids, status, review=review)
        if plan.shared:
            await set_visibility(connection, owner_id, plan.shared, Visibility.SHARED)
        for (action, outcome), targets in plan.audit_lines().items():
            await audit.note(connection, actor, action, targets, owner_id=owner_id, outcome=outcome)
        written = [*plan.confirmed, *(target_id for _, target_id in plan.changes)]
        if written:
            await self._budget.enforce(connection, actor, owner_id, written)


async def _state(
    connection: AsyncConnection,
    owner_id: UUID,
    rows: Mapping[str, MemoryRow],
    joined: Collection[UUID],
    prepared: edits.Edits,
) -> rules.ReviewState:
    hashes = [row.content_hash for row in rows.values()]
    same = await memories.same_statements(connection, owner_id, hashes)
    revised = [row.revises for row in rows.values() if row.revises]
    return rules.ReviewState(
        rows=rows,
        spaces=joined,
        statements={
            rules.statement_key(row): row.id for row in same if row.status == Status.ACTIVE
        },
        targets=await memories.by_ids(connection, owner_id, revised),
        refusals=prepared.refusals,
        findings=prepared.findings,
    )


def _by_id(decisions: Sequence[schemas.ReviewDecision]) -> dict[str, schemas.Decision]:
    if not 0 < len(decisions) <= schemas.MOST_DECISIONS:
        raise InvalidInput(
            f"must have from 1 to {schemas.MOST_DECISIONS} decisions", field="decisions"
        )
    by_id = {decision.memory_id: decision.decision for decision in decisions}
    if len(by_id) < len(decisions):
        raise InvalidInput(
            "must name each memory once; send one decision for each", field="decisions"
        )
    return by_id
