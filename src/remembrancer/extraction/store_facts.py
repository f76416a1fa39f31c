"""Store what a model found out, in the transaction of the summary: by the one way in."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role, Visibility
from remembrancer.agents import repository as agents
from remembrancer.conversations import repository as conversations
from remembrancer.extraction import repository
from remembrancer.extraction.llm_summariser import Found
from remembrancer.extraction.rules import Kept
from remembrancer.extraction.transcript import Transcript
from remembrancer.memories import repository as memories
from remembrancer.memories import screening
from remembrancer.memories.budget import Budget
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.schemas import MemoryCreate, Outcome, Status
from remembrancer.memories.versions import as_changes, new_version
from remembrancer.search.index import SearchIndex
from remembrancer.spaces import repository as spaces

SOURCE = "extraction"
"""What a memory says of how it came in."""


class ExtractedFactWriter:
    """Puts facts into people's memories.

    With ``confirm``, and whenever somebody else said it, a fact waits until its owner confirms
    it. What its owner has forgotten or rejected does not come back from the same messages.
    """

    def __init__(
        self, indexer: SearchIndex, writing: WritePipeline, budget: Budget, *, confirm: bool
    ) -> None:
        self._indexer = indexer
        self._writing = writing
        self._budget = budget
        self._confirm = confirm

    async def keep(
        self, connection: AsyncConnection, talk: Transcript, found: Sequence[Found]
    ) -> int:
        """Store facts; return how many were new or changed one."""
        conversation = await conversations.find(connection, talk.conversation_id)
        assert conversation is not None
        agent_id = conversation.agent_id
        if agent_id is not None and await agents.find(connection, agent_id) is None:
            return 0
        owners = sorted({one.fact.owner_id for one in found})
        if (space_id := conversation.space_id) is not None:
            owners = sorted(await spaces.members_among(connection, space_id, owners))
        # Every right to say what is new before any memory, as all who write have it.
        for owner_id in owners:
            await memories.lock_owner(connection, owner_id)
        found = await self._unsettled(connection, talk, found)
        kept = 0
        for owner_id in owners:
            actor = Actor(Role.SERVICE, owner_id, agent_id, entry_point=SOURCE)
            theirs = [one for one in found if one.fact.owner_id == owner_id]
            kept += await self._keep_for(connection, actor, conversation, theirs)
        return kept

    async def _unsettled(
        self, connection: AsyncConnection, talk: Transcript, found: Sequence[Found]
    ) -> Sequence[Found]:
        settled = await repository.settled(
            connection,
            [line.message_id for line in talk.lines],
            owners=[one.fact.owner_id for one in found],
            hashes=[one.searchable.content_hash for one in found],
            vectors=[str(one.searchable.vector.tolist()) for one in found],
        )
        return [one for n, one in enumerate(found) if n not in settled]

    async def _keep_for(
        self,
        connection: AsyncConnection,
        actor: Actor,
        conversation: Row[Any],
        found: Sequence[Found],
    ) -> int:
        kept, new = 0, []
        for one in found:
            waits = self._waits(one)
            if one.fact.updates and not waits and await self._update(connection, actor, one):
                kept += 1
            else:
                new.append((_placed(one.fact, conversation, waits=waits), one))
        if new:
            written = await self._writing.write(
                connection,
                actor,
                [statement for statement, _ in new],
                [one.searchable for _, one in new],
                SOURCE,
            )
            kept += sum(result.outcome is Outcome.CREATED for result in written)
        return kept

    def _waits(self, one: Found) -> bool:
        return self._confirm or one.fact.hearsay

    async def _update(self, connection: AsyncConnection, actor: Actor, one: Found) -> bool:
        """Make a fact the new version of the memory it changes; say whether it could be."""
        assert one.fact.updates is not None
        row = await memories.find(connection, actor, one.fact.updates, lock=True)
        if row is None or row.owner_id != one.fact.owner_id or row.status != Status.ACTIVE:
            return False
        if row.address is not None:
            # What a program keeps is the program's to change.
            return False
        changes = as_changes(one.fact.statement)
        if row.visibility == Visibility.SHARED and screening.is_quoted(changes):
            return False
        try:
            async with connection.begin_nested():
                await new_version(
                    connection, self._indexer, row, changes, text=one.searchable, source=SOURCE
                )
        except IntegrityError:
            # Another memory says exactly this: a mention of that one is all there is to store.
            return False
        await audit.note(connection, actor, "memory.update", [row.id], owner_id=row.owner_id)
        await self._budget.enforce(connection, actor, row.owner_id, [row.id])
        return True


def _placed(fact: Kept, conversation: Row[Any], *, waits: bool) -> MemoryCreate:
    """Return a fact as it lies: in the space of its conversation, an instruction never shared."""
    statement = fact.statement
    visibility = Visibility(conversation.visibility)
    if conversation.space_id is None or screening.is_quoted(statement):
        visibility = Visibility.PRIVATE
    where = {"space_id": conversation.space_id, "visibility": visibility, "pending": waits}
    revises = {"revises": fact.updates if waits else None}
    return statement.model_copy(update=where | revises)
