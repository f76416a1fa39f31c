"""Summarise what has left the window, range after range, each once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.audit.reads import Reads
from remembrancer.conversations import repository as conversations
from remembrancer.conversations.access import entered
from remembrancer.db.engine import Database
from remembrancer.errors import AnswerCutShort, InvalidInput
from remembrancer.extraction import repository, triggers
from remembrancer.extraction.schemas import Chunk, GuardedFact, Pending, SummaryResult
from remembrancer.extraction.store_chunks import Made, store
from remembrancer.extraction.summariser import Summariser, Summary, Verbatim
from remembrancer.extraction.transcript import Transcript, transcript
from remembrancer.jobs.failures import JobFailed, reason_of
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.settings import SummarySettings
from remembrancer.spaces import repository as spaces
from remembrancer.text import check_range, from_cursor, to_cursor
from remembrancer.users import repository as users

KeepFacts = Callable[[AsyncConnection, Transcript, Sequence[Any]], Awaitable[int]]
"""Stores what a model found out, in the transaction of the chunk; returns how many facts."""
Progress = Callable[[int], None]


@dataclass(slots=True)
class Done:
    """What was done so far."""

    messages: int = 0
    chunks: int = 0
    facts: int = 0
    guarded: list[GuardedFact] = field(default_factory=list)

    def as_counts(self) -> dict[str, int]:
        """Return it as a job tells it."""
        return {
            "messages": self.messages,
            "chunks": self.chunks,
            "facts": self.facts,
            "refused": sum(one.refused for one in self.guarded),
        }


class Summaries:
    """Chunks: summaries of ranges of conversations.

    A pass takes the oldest messages that have left the window, summarises them outside of any
    transaction, and stores the chunk and how far it reaches in one. Two passes over the same
    range are one: the second finds the range done.
    """

    def __init__(
        self,
        database: Database,
        indexer: SearchIndex,
        summariser: Summariser,
        settings: SummarySettings,
        reads: Reads,
        keep_facts: KeepFacts | None = None,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._summariser = summariser
        self._settings = settings
        self._reads = reads
        self._keep_facts = keep_facts

    async def summarize(
        self, actor: Actor, conversation_id: UUID, *, progress: Progress | None = None
    ) -> SummaryResult:
        """Summarise all that has left the window of a conversation, however little it is.

        ``progress`` is told how many messages each range had. Stopped anywhere, it goes on
        from there the next time. Raises ``NotFound`` unless the actor takes part.
        """
        async with entered(self._database, actor, conversation_id, "conversations.summarise"):
            pass
        done = Done()
        while await self._pass(conversation_id, done, progress):
            pass
        async with self._database.system_for(actor) as (connection, actor):
            if done.messages:
                await audit.note(
                    connection, actor, "conversations.summarise", [str(conversation_id)]
                )
            row = await conversations.find(connection, conversation_id)
            assert row is not None
            return SummaryResult(
                conversation_id=conversation_id,
                summarised_to=row.summarised_to,
                message_count=row.message_count,
                messages=done.messages,
                chunks=done.chunks,
                facts=done.facts,
                guarded=done.guarded,
            )

    async def pending(self, actor: Actor) -> Sequence[Pending]:
        """Return all conversations of which something can be summarised. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            rows = await repository.pending(connection)
        return [Pending(**row._mapping) for row in rows]

    async def chunks(
        self, actor: Actor, conversation_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Chunk]:
        """Return the summaries of a conversation the actor takes part in, in order."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = _position(cursor)
        async with entered(self._database, actor, conversation_id, "chunk.read") as inside:
            connection, actor = inside
            rows = await repository.page(connection, conversation_id, actor.user_id, limit, after)
        shown = ((row.owner_id, row.id) for row in rows[:limit])
        await self._reads.note(actor, "chunk.read", shown)
        items = [Chunk.model_validate(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(
            items=items, next_cursor=to_cursor(str(items[-1].range_start)) if more else None
        )

    async def after_append(self, connection: AsyncConnection, conversation_id: UUID) -> None:
        """Queue the summarising of a conversation if it is due, with what made it so."""
        if self._settings.automatic:
            await repository.enqueue_if_due(connection, conversation_id, **self._limits)

    async def sweep(self) -> int:
        """Queue every conversation that is due and is not queued; return how many."""
        if not self._settings.automatic:
            return 0
        async with self._database.system() as connection:
            return await repository.sweep(connection, **self._limits)

    async def job(self, conversation_id: str) -> Mapping[str, int]:
        """Summarise a conversation until it is no longer due; return counts."""
        done, subject = Done(), UUID(conversation_id)
        try:
            while await self._is_due(subject) and await self._pass(subject, done, None):
                pass
        except Exception as error:
            raise JobFailed(reason_of(error), done.as_counts()) from error
        return done.as_counts()

    @property
    def _limits(self) -> dict[str, int]:
        return {"messages": self._settings.messages, "tokens": self._settings.tokens}

    async def _is_due(self, conversation_id: UUID) -> bool:
        async with self._database.system() as connection:
            return await repository.is_due(connection, conversation_id, **self._limits)

    async def _pass(self, conversation_id: UUID, done: Done, progress: Progress | None) -> bool:
        """Deal with the next range; return whether there was one."""
        made = await self._make(conversation_id)
        if made is None:
            return False
        talk, messages, summary = made
        searchable = None
        if summary.words.strip():
            [searchable] = await self._indexer.prepare([summary.words])
        if await self._store(talk, messages, summary, searchable, done) and progress:
            progress(len(messages))
        return True

    async def _make(
        self, conversation_id: UUID
    ) -> tuple[Transcript, Sequence[Row[Any]], Summary] | None:
        """Summarise the next range: fewer messages each time that they are too much at once."""
        most = self._settings.batch
        while range_ := await self._next(conversation_id, most):
            talk, messages = range_
            if not talk.says_something:
                return talk, messages, Summary("")
            try:
                return talk, messages, await self._summariser.summarise(talk)
            except AnswerCutShort:
                if len(messages) == 1:
                    # Kept as it was said, so that it does not hold up all that comes after it.
                    return talk, messages, await Verbatim().summarise(talk)
                most = len(messages) // 2
        return None

    async def _next(
        self, conversation_id: UUID, most: int
    ) -> tuple[Transcript, Sequence[Row[Any]]] | None:
        settings = self._settings
        async with self._database.system() as connection:
            row = await conversations.find(connection, conversation_id)
            if row is None:
                return None
            waiting = triggers.beyond_window(row.message_count, row.summarised_to)
            if not waiting:
                return None
            count = min(waiting, most)
            messages = await repository.said(connection, conversation_id, row.summarised_to, count)
        taken = messages[
            : triggers.batch_size(
                [triggers.tokens_in(message.content) for message in messages],
                messages=most,
                tokens=settings.tokens,
            )
        ]
        # Positions of erased messages are gaps, which are dealt with by being passed over.
        whole = len(taken) == len(messages)
        end = row.summarised_to + count if whole else taken[-1].position
        return transcript(conversation_id, row.summarised_to + 1, end, taken), taken

    async def _store(
        self,
        talk: Transcript,
        messages: Sequence[Row[Any]],
        summary: Summary,
        searchable: SearchDocument | None,
        done: Done,
    ) -> bool:
        """Store what was made of a range, unless it is done already or has changed meanwhile."""
        count = talk.end - talk.start + 1
        async with self._database.system() as connection:
            held = await conversations.participants_of(connection, talk.conversation_id)
            held |= set((await users.hold(connection, held)).values())
            # The space before the conversation, as all who lock both have it: decision 10.
            space_id = await repository.space_of(connection, talk.conversation_id)
            if space_id is not None:
                await spaces.members_among(connection, space_id, held)
            row = await repository.lock(connection, talk.conversation_id)
            if row is None or row.summarised_to != talk.start - 1:
                return False
            now = await repository.said(connection, row.id, talk.start - 1, count)
            taking_part = await conversations.participants_of(connection, row.id)
            if [one.id for one in now] != [one.id for one in messages] or not taking_part <= held:
                return False
            if summary.made_for not in {None, frozenset(taking_part)}:
                return False
            facts = 0
            if searchable is not None:
                made = Made(talk, summary.words, searchable)
                await store(connection, self._indexer, row, made, taking_part)
            if summary.facts and self._keep_facts is not None:
                facts = await self._keep_facts(connection, talk, summary.facts)
            await repository.summarised(connection, row.id, talk.end)
        done.messages += len(messages)
        done.chunks += searchable is not None
        done.facts += facts
        done.guarded += summary.guarded
        return True


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    [position] = from_cursor(cursor, 1)
    if not (position.isascii() and position.isdigit() and len(position) < 10):
        raise InvalidInput("is not a cursor from an earlier answer", field="cursor")
    return int(position)
