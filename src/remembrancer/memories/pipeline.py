"""The write pipeline: check the request, find destinations, judge statements, store new ones.

Everything that remembers, from an API call to an import, goes through it.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor, EffectiveScope, Role, ScopeFacts, scope_facts
from remembrancer.db.engine import Statement, together
from remembrancer.db.sql import numbered, statement_text
from remembrancer.errors import NotFound
from remembrancer.memories import dedup, mentions, related, repository, rules
from remembrancer.memories.budget import Budget
from remembrancer.memories.drafts import (
    Draft,
    ImportedMemory,
    WriteResult,
    item_source,
    memory_row,
    mention_row,
)
from remembrancer.memories.rules import Destination
from remembrancer.memories.schemas import MemoryCreate, Outcome
from remembrancer.preferences.scopes import in_effect
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.spaces import repository as spaces

_sql = partial(statement_text, "remembrancer.memories", "pipeline")
_HOLD_USER = numbered(_sql("hold_user"))
_FACTS = numbered(_sql("facts", facts=lambda ids: scope_facts(*ids.split())))
_PAUSED = numbered(_sql("paused"))


class WritePipeline:
    """Stores statements inside a transaction that the service opened."""

    def __init__(self, index: SearchIndex, budget: Budget) -> None:
        self._index = index
        self._budget = budget

    async def write(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        texts: Sequence[SearchDocument],
        source: str,
        *,
        conversation_ids: Collection[UUID] = (),
    ) -> list[WriteResult]:
        """Store new statements, count the others as mentions, and return the results in order.

        Then evict the memories over an owner's budget. Raises ``Conflict`` if remembering is
        paused in one of the conversations.
        """
        scope = await _begin(connection, actor, conversation_ids)
        await _check_spaces(connection, actor, statements)
        drafts = [
            Draft(statement, text, _destination(actor, statement, scope))
            for statement, text in zip(statements, texts, strict=True)
        ]
        owners = [draft.destination.placement.owner_id for draft in drafts]
        results: dict[int, WriteResult] = {}
        for owner_id in sorted(set(owners)):
            numbers = [n for n, owner in enumerate(owners) if owner == owner_id]
            owned = [drafts[n] for n in numbers]
            stored = await self._write_for(connection, actor, owner_id, owned, source)
            results.update(zip(numbers, stored, strict=True))
        return [results[n] for n in range(len(drafts))]

    async def open(self, connection: AsyncConnection, actor: Actor) -> Destination:
        """Lock the actor's user and their memories; return the destination of new ones.

        For writers that judge for themselves what is new, and then :meth:`add` it.
        """
        scope = await _begin(connection, actor)
        await repository.lock_owner(connection, actor.require_user())
        return _destination(actor, MemoryCreate(content="any"), scope)

    async def add(
        self,
        connection: AsyncConnection,
        actor: Actor,
        destination: Destination,
        imports: Sequence[ImportedMemory],
        source: str,
    ) -> list[str]:
        """Store new memories with the ids, times and statuses they have elsewhere.

        Call after :meth:`open`. Returns the memories that were evicted for them.
        """
        if not imports:
            return []
        owner_id = destination.placement.owner_id
        new = []
        for memory in imports:
            draft = Draft(
                memory.statement, memory.text, destination, memory.address, memory.recalled
            )
            row = memory_row(
                memory.memory_id,
                draft,
                source,
                memory.at,
                status=memory.status,
                mention_count=len(memory.mentions),
            )
            new.append((row, draft))
        mention_rows = [
            mention_row(actor, owner_id, memory.memory_id, source, mention)
            for memory in imports
            for mention in memory.mentions
        ]
        await self._insert(connection, new, mention_rows)
        ids = [memory.memory_id for memory in imports]
        await audit.note(connection, actor, "memory.remember", ids, owner_id=owner_id)
        return await self._budget.enforce(connection, actor, owner_id, ids)

    async def _write_for(
        self,
        connection: AsyncConnection,
        actor: Actor,
        owner_id: UUID,
        drafts: Sequence[Draft],
        source: str,
    ) -> list[WriteResult]:
        existing, ids = await related.lock_related(connection, owner_id, drafts)
        verdicts = dedup.judge([related.candidate(draft) for draft in drafts], existing, ids)
        results = [
            WriteResult(verdict.outcome, verdict.memory_id, draft.destination)
            for verdict, draft in zip(verdicts, drafts, strict=True)
        ]
        await self._store(connection, actor, owner_id, drafts, results, source)
        return results

    async def _store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        owner_id: UUID,
        drafts: Sequence[Draft],
        results: Sequence[WriteResult],
        source: str,
    ) -> None:
        now = datetime.now(UTC)
        pairs = [
            (result, draft, _mention(actor, result, draft, source, now))
            for result, draft in zip(results, drafts, strict=True)
        ]
        new = [pair for pair in pairs if pair[0].outcome is Outcome.CREATED]
        repeated = [pair for pair in pairs if pair[0].outcome is Outcome.MENTIONED]
        if new:
            rows = [(memory_row(r.memory_id, draft, source, now), draft) for r, draft, _ in new]
            await self._insert(
                connection, rows, [mention | {"wording": None} for *_, mention in new]
            )
        if repeated:
            ids = [result.memory_id for result, *_ in repeated]
            rows_of = [mention for *_, mention in repeated]
            await mentions.add(connection, owner_id, rows_of, ids)
        if noted := [result.memory_id for result, *_ in [*new, *repeated]]:
            await audit.note(connection, actor, "memory.remember", noted, owner_id=owner_id)
        if new:
            # The targets of their associations are needed when those are made.
            targets = [a.target_id for _, draft, _ in new for a in draft.statement.associations]
            written = [*(result.memory_id for result, *_ in new), *targets]
            await self._budget.enforce(connection, actor, owner_id, written)

    async def _insert(
        self,
        connection: AsyncConnection,
        new: Sequence[tuple[dict[str, object], Draft]],
        mention_rows: Sequence[dict[str, object]],
    ) -> None:
        rows = [row for row, _ in new]
        await repository.add(connection, rows, mention_rows)
        await self._index.store(
            connection,
            [(draft.destination.placement, item_source(row), draft.text) for row, draft in new],
        )


def _mention(
    actor: Actor, result: WriteResult, draft: Draft, source: str, now: datetime
) -> dict[str, object]:
    statement = draft.statement
    return mention_row(
        actor,
        result.owner_id,
        result.memory_id,
        source,
        (statement.conversation_id, statement.message_id, now),
        wording=statement.content,
        platform=statement.platform,
    )


async def _begin(
    connection: AsyncConnection, actor: Actor, conversation_ids: Collection[UUID] = ()
) -> EffectiveScope | None:
    """Hold the user; check the agent and the conversations; return the effective scope."""
    if actor.user_id is None:
        await checks.check_agent(connection, actor.agent_id)
        return None
    binds = {
        "user_id": actor.user_id,
        "agent_id": actor.agent_id,
        "conversation_ids": sorted(conversation_ids),
    }
    current, facts, paused = await together(
        connection,
        [
            Statement(_HOLD_USER, binds),
            Statement(_FACTS, binds, row_type=ScopeFacts),
            Statement(_PAUSED, binds),
        ],
    )
    if not current or current[0].current_id != actor.user_id:
        await checks.hold_user(connection, actor)
    if actor.agent_id is not None and not facts:
        raise NotFound("no such agent", field="agent_id")
    if paused:
        await repository.check_not_paused(connection, conversation_ids)
    return in_effect(facts[0], actor.user_id) if facts else None


async def _check_spaces(
    connection: AsyncConnection, actor: Actor, statements: Sequence[MemoryCreate]
) -> None:
    if any(statement.shared for statement in statements):
        actor.require(Role.ADMIN, Role.SERVICE)
    ids = {statement.space_id for statement in statements if statement.space_id is not None}
    if ids and ids != await spaces.joined(connection, actor.require_user(), ids):
        raise NotFound("no such space", field="space_id")


def _destination(
    actor: Actor, statement: MemoryCreate, scope: EffectiveScope | None
) -> Destination:
    return rules.destination(
        statement, user_id=actor.user_id, agent_id=actor.agent_id, effective=scope
    )
