"""The write pipeline: check the request, find destinations, judge statements, store new ones.

Everything that remembers, from an API call to an import, goes through it. It waits for the
database twice: for what it reads and locks, and for what it writes.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor, EffectiveScope, Role, ScopeFacts, scope_facts
from remembrancer.db.rows import IdRow, TextRow
from remembrancer.db.sql import statement
from remembrancer.db.trips import Trip, together
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import SHARED_OWNER
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
from remembrancer.users import repository as users
from remembrancer.users.rows import HeldUser

T = TypeVar("T")

_sql = partial(statement, "remembrancer.memories", "pipeline")
_FACTS: Final = _sql("facts", facts=lambda ids: scope_facts(*ids.split()))
_PAUSED: Final = _sql("paused")


@dataclass(frozen=True, slots=True)
class Ground:
    """What decides the destination of new memories, once the trip that reads it is over."""

    facts: Sequence[ScopeFacts]
    held: Sequence[HeldUser]
    paused: Sequence[IdRow]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Statements, and what decides on them once the trip that reads it is over."""

    statements: Sequence[MemoryCreate]
    texts: Sequence[SearchDocument]
    ground: Ground
    joined: Sequence[IdRow]
    """Spaces among those of the statements that the user is a member of."""
    owned: dict[UUID, tuple[list[int], related.RelatedMemories]]
    """By owner: the indexes of their statements, and the memories that these may repeat."""


class WritePipeline:
    """Stores statements inside a transaction that the service opened."""

    def __init__(self, index: SearchIndex, budget: Budget) -> None:
        self._index = index
        self._budget = budget

    def prepare(
        self,
        trip: Trip,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        texts: Sequence[SearchDocument],
        *,
        conversation_ids: Collection[UUID] = (),
    ) -> Preparation:
        """Let a trip hold the user, lock the owners, and read what decides on statements."""
        numbers: dict[UUID, list[int]] = {}
        for n, memory in enumerate(statements):
            is_shared = memory.shared or actor.user_id is None
            owner_id = SHARED_OWNER if is_shared else actor.require_user()
            numbers.setdefault(owner_id, []).append(n)
        ground = _ground(trip, actor, conversation_ids)
        space_ids = {s.space_id for s in statements if s.space_id is not None}
        joined = spaces.joined(trip, actor.require_user(), space_ids) if space_ids else []
        owned = {
            owner_id: (own, related.lock(trip, owner_id, [statements[n] for n in own]))
            for owner_id, own in sorted(numbers.items())
        }
        return Preparation(statements, texts, ground, joined, owned)

    async def write(
        self,
        connection: AsyncConnection,
        actor: Actor,
        statements: Sequence[MemoryCreate],
        texts: Sequence[SearchDocument],
        source: str,
    ) -> list[WriteResult]:
        """Store new statements, count the others as mentions, and return the results in order.

        Then evict the memories over an owner's budget.
        """
        async with together(connection) as trip:
            preparation = self.prepare(trip, actor, statements, texts)
        results, _ = await self.store(connection, actor, preparation, source, lambda *_: None)
        return results

    async def store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        preparation: Preparation,
        source: str,
        also: Callable[[Trip, Sequence[WriteResult]], T],
    ) -> tuple[list[WriteResult], T]:
        """Do what :meth:`write` does, after the trip of the preparation.

        ``also`` adds statements that follow the writes in their round trip, and follow an
        eviction again. Returns what it returned too. Raises ``Conflict`` if remembering is paused
        in one of the conversations.
        """
        scope = await _scope(connection, actor, preparation.ground)
        _check_spaces(actor, preparation)
        drafts = [
            Draft(statement, text, _destination(actor, statement, scope))
            for statement, text in zip(preparation.statements, preparation.texts, strict=True)
        ]
        results: dict[int, WriteResult] = {}
        for owner_id, (numbers, known) in preparation.owned.items():
            own = [drafts[n] for n in numbers]
            results |= zip(numbers, await _judge(connection, owner_id, own, known), strict=True)
        ordered = [results[n] for n in range(len(drafts))]
        async with together(connection) as trip:
            writes = [
                self._store(
                    trip,
                    actor,
                    owner_id,
                    [(results[n], drafts[n]) for n in numbers],
                    source,
                )
                for owner_id, (numbers, _) in preparation.owned.items()
            ]
            more = also(trip, ordered)
        evicted = [await write(connection) for write in writes]
        if any(evicted):
            async with together(connection) as trip:
                more = also(trip, ordered)
        return ordered, more

    async def open(self, connection: AsyncConnection, actor: Actor) -> Destination:
        """Lock the actor's user and their memories; return the destination of new ones.

        For writers that judge for themselves what is new, and then :meth:`add` it.
        """
        async with together(connection) as trip:
            ground = _ground(trip, actor)
        scope = await _scope(connection, actor, ground)
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
        async with together(connection) as trip:
            check = self._insert(trip, new, mention_rows)
        check()
        ids = [memory.memory_id for memory in imports]
        await audit.note(connection, actor, "memory.remember", ids, owner_id=owner_id)
        return await self._budget.enforce(connection, actor, owner_id, ids)

    def _store(
        self,
        trip: Trip,
        actor: Actor,
        owner_id: UUID,
        judged: Sequence[tuple[WriteResult, Draft]],
        source: str,
    ) -> Callable[[AsyncConnection], Awaitable[Sequence[str]]]:
        """Let a trip store what is new and repeated of an owner.

        Returns what to call after the trip: it checks the writes, and evicts.
        """
        now = datetime.now(UTC)
        pairs = [
            (result, draft, _mention(actor, result, draft, source, now)) for result, draft in judged
        ]
        new = [pair for pair in pairs if pair[0].outcome is Outcome.CREATED]
        repeated = [pair for pair in pairs if pair[0].outcome is Outcome.MENTIONED]
        check: Callable[[], None] = _nothing
        over_budget: Sequence[TextRow] = ()
        if new:
            rows = [(memory_row(r.memory_id, draft, source, now), draft) for r, draft, _ in new]
            check = self._insert(trip, rows, [mention | {"wording": None} for *_, mention in new])
        if repeated:
            ids = [result.memory_id for result, *_ in repeated]
            rows_of = [mention for *_, mention in repeated]
            expiries = [draft.statement.expires_at for _, draft, _ in repeated]
            mentions.add(trip, owner_id, rows_of, ids, expiries)
        if noted := [result.memory_id for result, *_ in [*new, *repeated]]:
            audit.add(trip, actor, "memory.remember", {owner_id: noted})
        if new:
            # The targets of their associations are needed when those are made.
            targets = [a.target_id for _, draft, _ in new for a in draft.statement.associations]
            written = [*(result.memory_id for result, *_ in new), *targets]
            over_budget = self._budget.find(trip, owner_id, written)

        async def finish(connection: AsyncConnection) -> Sequence[str]:
            check()
            return await self._budget.evict(connection, actor, owner_id, over_budget)

        return finish

    def _insert(
        self,
        trip: Trip,
        new: Sequence[tuple[dict[str, object], Draft]],
        mention_rows: Sequence[dict[str, object]],
    ) -> Callable[[], None]:
        """Let a trip insert memories; return a check of the insertion, for after it."""
        rows = [row for row, _ in new]
        added = repository.add(trip, rows, mention_rows)
        check_model = self._index.add(
            trip,
            [(draft.destination.placement, item_source(row), draft.text) for row, draft in new],
        )

        def check() -> None:
            if added[0].count < len(rows):
                raise Conflict("the same statement was stored at the same moment; try again")
            check_model()

        return check


def _nothing() -> None:
    """Check nothing."""


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


def _ground(trip: Trip, actor: Actor, conversation_ids: Collection[UUID] = ()) -> Ground:
    """Let a trip hold the user, and read what decides the scope and pauses."""
    binds = {
        "user_id": actor.user_id,
        "agent_id": actor.agent_id,
        "conversation_ids": sorted(conversation_ids),
    }
    held = [] if actor.user_id is None else users.read_held(trip, [actor.user_id])
    facts = [] if actor.agent_id is None else trip.add(_FACTS, binds, ScopeFacts)
    paused = trip.add(_PAUSED, binds, IdRow) if conversation_ids else []
    return Ground(facts, held, paused)


async def _scope(
    connection: AsyncConnection, actor: Actor, ground: Ground
) -> EffectiveScope | None:
    """Check the user, the agent and the conversations; return the effective scope."""
    if actor.user_id is not None and [row.current_id for row in ground.held] != [actor.user_id]:
        await checks.hold_user(connection, actor)
    if actor.agent_id is not None and not ground.facts:
        raise NotFound("no such agent", field="agent_id")
    if any(row.is_paused for row in ground.held):
        raise Conflict("remembering is paused for this user; resume it first", field="user_id")
    if ground.paused:
        raise Conflict("remembering is paused in this conversation", field="conversation_id")
    if actor.user_id is None or not ground.facts:
        return None
    return in_effect(ground.facts[0], actor.user_id)


def _check_spaces(actor: Actor, preparation: Preparation) -> None:
    if any(statement.shared for statement in preparation.statements):
        actor.require(Role.ADMIN, Role.SERVICE)
    ids = {s.space_id for s in preparation.statements if s.space_id is not None}
    if ids != {row.id for row in preparation.joined}:
        raise NotFound("no such space", field="space_id")


async def _judge(
    connection: AsyncConnection,
    owner_id: UUID,
    drafts: Sequence[Draft],
    known: related.RelatedMemories,
) -> list[WriteResult]:
    """Return the results of an owner's statements, in order."""
    ids: Sequence[str] = known.ids
    if known.taken or len(set(ids)) < len(ids):
        ids = await repository.new_ids(connection, owner_id, len(ids))
    existing = related.existing({draft.destination.placement for draft in drafts}, known.rows)
    candidates = [
        related.candidate(draft, statement_hash)
        for draft, statement_hash in zip(drafts, known.hashes, strict=True)
    ]
    verdicts = dedup.judge(candidates, existing, ids)
    return [
        WriteResult(verdict.outcome, verdict.memory_id, draft.destination)
        for verdict, draft in zip(verdicts, drafts, strict=True)
    ]


def _destination(
    actor: Actor, statement: MemoryCreate, scope: EffectiveScope | None
) -> Destination:
    return rules.destination(
        statement, user_id=actor.user_id, agent_id=actor.agent_id, effective=scope
    )
