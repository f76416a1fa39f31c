"""Store extracted facts through the write pipeline, in the summary's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Placement, Role, Visibility
from remembrancer.agents import repository as agents
from remembrancer.conversations.placements import placements
from remembrancer.conversations.rows import ConversationRow
from remembrancer.extraction import repository, rules
from remembrancer.extraction.schemas import ExtractedFact
from remembrancer.extraction.summariser import IndexedFact
from remembrancer.extraction.transcript import Transcript
from remembrancer.memories import repository as memories
from remembrancer.memories import screening
from remembrancer.memories.budget import Budget
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import MemoryCreate, Outcome, Status
from remembrancer.memories.versions import as_changes, new_version
from remembrancer.search.index import SearchIndex
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users

SOURCE = "extraction"
"""The source of extracted memories."""


@dataclass(frozen=True, slots=True)
class ExtractedFactWriter:
    """Stores facts as memories of the people they are about.

    Nothing is stored of people who have paused remembering. With ``confirm``, or if the fact says
    so, the memory is pending until its owner confirms it. A fact that its owner has forgotten or
    rejected is not extracted again from the same messages.
    """

    search: SearchIndex
    pipeline: WritePipeline
    budget: Budget
    confirm: bool

    async def store(
        self,
        connection: AsyncConnection,
        conversation: ConversationRow,
        transcript: Transcript,
        facts: Sequence[IndexedFact],
    ) -> int:
        """Return the number of new or changed memories."""
        agent_id = conversation.agent_id
        if agent_id is not None and await agents.find(connection, agent_id) is None:
            return 0
        owners = sorted({indexed.fact.owner_id for indexed in facts})
        if (space_id := conversation.space_id) is not None:
            owners = sorted(await spaces.members_among(connection, space_id, owners))
        owners = await users.remembered(connection, owners)
        # All owners before any memory, in the order of every writer.
        for owner_id in owners:
            await memories.lock_owner(connection, owner_id)
        facts = await _not_given(connection, transcript, facts)
        facts = await _with_near_updates(connection, facts)
        where = await placements(connection, conversation, owners)
        count = 0
        for owner_id in owners:
            actor = Actor(Role.SERVICE, owner_id, agent_id, entry_point=SOURCE)
            own = [indexed for indexed in facts if indexed.fact.owner_id == owner_id]
            count += await self._store_for(connection, actor, conversation, where[owner_id], own)
        return count

    async def _store_for(
        self,
        connection: AsyncConnection,
        actor: Actor,
        conversation: ConversationRow,
        placement: Placement,
        facts: Sequence[IndexedFact],
    ) -> int:
        count, new = 0, []
        for indexed in facts:
            pending = self.confirm or indexed.fact.pending
            if not pending and await self._update(connection, actor, placement, indexed):
                count += 1
            else:
                new.append((_placed(indexed.fact, conversation, pending=pending), indexed))
        if new:
            results = await self.pipeline.write(
                connection,
                actor,
                [memory for memory, _ in new],
                [indexed.document for _, indexed in new],
                SOURCE,
            )
            count += sum(result.outcome is Outcome.CREATED for result in results)
        return count

    async def _update(
        self,
        connection: AsyncConnection,
        actor: Actor,
        placement: Placement,
        indexed: IndexedFact,
    ) -> bool:
        """Store a fact as a new version of the memory that it changes; return False without one."""
        fact = indexed.fact
        if fact.updates is None:
            return False
        memory = await memories.find(connection, actor, fact.updates, lock=True)
        if memory is None or memory.owner_id != fact.owner_id or memory.status != Status.ACTIVE:
            return False
        # A record changes only through the program that wrote it.
        if memory.address is not None or _is_wider(memory, placement):
            return False
        changes = as_changes(fact.memory)
        if memory.visibility == Visibility.SHARED and screening.is_quoted(changes):
            return False
        try:
            async with connection.begin_nested():
                await new_version(
                    connection, self.search, memory, changes, text=indexed.document, source=SOURCE
                )
        except IntegrityError:
            # Another memory has these words: the pipeline adds a mention of it.
            return False
        await audit.note(connection, actor, "memory.update", [memory.id], owner_id=memory.owner_id)
        await self.budget.enforce(connection, actor, memory.owner_id, [memory.id])
        return True


def _is_wider(memory: MemoryRow, said: Placement) -> bool:
    """Return whether a memory is told to more users or agents than what was said."""
    to_users = memory.visibility == Visibility.SHARED and said.visibility is Visibility.PRIVATE
    return to_users or (memory.agent_id is None and said.agent_id is not None)


async def _not_given(
    connection: AsyncConnection, transcript: Transcript, facts: Sequence[IndexedFact]
) -> Sequence[IndexedFact]:
    """Return the facts that their messages did not give before.

    One that may be what its owner has forgotten is pending: no answer brings it back unasked.
    """
    given = await repository.given(
        connection,
        [line.message_id for line in transcript.lines],
        owners=[indexed.fact.owner_id for indexed in facts],
        vectors=[str(indexed.document.vector.tolist()) for indexed in facts],
    )
    new = []
    for number, indexed in enumerate(facts):
        fact, before = indexed.fact, given.get(number, [])
        if any(rules.is_given(fact.memory, version) for version in before):
            continue
        pending = any(rules.may_be_forgotten(fact.memory, version) for version in before)
        new.append(replace(indexed, fact=replace(fact, pending=fact.pending or pending)))
    return new


async def _with_near_updates(
    connection: AsyncConnection, facts: Sequence[IndexedFact]
) -> Sequence[IndexedFact]:
    """Return the facts; one that is far from the memory it is said to replace is new."""
    near = await repository.replacing(
        connection,
        owners=[indexed.fact.owner_id for indexed in facts],
        memories=[indexed.fact.updates for indexed in facts],
        vectors=[str(indexed.document.vector.tolist()) for indexed in facts],
    )
    return [
        indexed if number in near else replace(indexed, fact=replace(indexed.fact, updates=None))
        for number, indexed in enumerate(facts)
    ]


def _placed(fact: ExtractedFact, conversation: ConversationRow, *, pending: bool) -> MemoryCreate:
    """Return the memory in its conversation's space; an instruction stays private."""
    visibility = Visibility(conversation.visibility)
    if conversation.space_id is None or screening.is_quoted(fact.memory):
        visibility = Visibility.PRIVATE
    return fact.memory.model_copy(
        update={
            "space_id": conversation.space_id,
            "visibility": visibility,
            "pending": pending,
            "revises": fact.updates if pending else None,
        }
    )
