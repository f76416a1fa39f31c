"""Summarise the messages outside of a conversation's window, range by range, each once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from remembrancer import audit, tokens
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.conversations import repository as conversations
from remembrancer.conversations.access import reading
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.trips import Trip
from remembrancer.errors import AnswerCutShort, LanguageModelUnavailable
from remembrancer.extraction import ranges, repository, triggers
from remembrancer.extraction.ranges import MessageRange
from remembrancer.extraction.remake import ChunkRemake
from remembrancer.extraction.retries import SmallerBatches
from remembrancer.extraction.schemas import (
    Chunk,
    GuardedFact,
    SummaryResult,
    UnsummarisedConversation,
)
from remembrancer.extraction.store_chunks import store_chunks
from remembrancer.extraction.store_facts import ExtractedFactWriter
from remembrancer.extraction.summariser import Summariser, Summary, Verbatim
from remembrancer.jobs.failures import JobFailed, reason_of
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.search.index import SearchDocument
from remembrancer.settings import SummarySettings
from remembrancer.text import check_range

ACTION = "conversations.summarise"
OnProgress = Callable[[int], None]
"""Called after each range with the number of its messages."""


@dataclass(slots=True)
class SummaryCounts:
    """Counts of the ranges so far."""

    messages: int = 0
    chunks: int = 0
    facts: int = 0
    guarded: list[GuardedFact] = field(default_factory=list)

    def as_counts(self) -> dict[str, int]:
        refused = sum(fact.refused for fact in self.guarded)
        return {
            "messages": self.messages,
            "chunks": self.chunks,
            "facts": self.facts,
            "refused": refused,
        }


class Summaries:
    """Summaries of conversations: a chunk for each range of messages.

    A pass takes the oldest messages outside of the window, summarises them outside of any
    transaction, and stores the chunk with its end in one. Of two passes over the same range, the
    second stores nothing.
    """

    def __init__(
        self,
        backend: Backend,
        summariser: Summariser,
        settings: SummarySettings,
        fact_writer: ExtractedFactWriter | None = None,
    ) -> None:
        self._backend = backend
        self._summariser = summariser
        self._settings = settings
        self._fact_writer = fact_writer
        self._batches = SmallerBatches()
        self._remake = ChunkRemake(backend, summariser, fact_writer)

    async def summarize(
        self, actor: Actor, conversation_id: UUID, *, progress: OnProgress | None = None
    ) -> SummaryResult:
        """Summarise all messages outside the window of a conversation.

        ``progress`` gets the number of messages of each range. An interrupted call continues
        where it stopped. Raises ``NotFound`` unless the actor takes part.
        """
        async with reading(self._backend, actor, conversation_id, ACTION):
            pass
        counts = SummaryCounts(chunks=await self._remake.run(conversation_id))
        while await self._pass(conversation_id, counts, progress):
            pass
        return await self._result(actor, conversation_id, counts)

    @retries_deadlock
    async def _result(
        self, actor: Actor, conversation_id: UUID, counts: SummaryCounts
    ) -> SummaryResult:
        async with self._backend.database.system_for(actor) as (connection, actor):
            if counts.chunks or counts.messages:
                await audit.note(connection, actor, ACTION, [str(conversation_id)])
            conversation = await conversations.find(connection, conversation_id)
            assert conversation is not None
            return SummaryResult(
                conversation_id=conversation_id,
                summarised_to=conversation.summarised_to,
                message_count=conversation.message_count,
                messages=counts.messages,
                chunks=counts.chunks,
                facts=counts.facts,
                guarded=counts.guarded,
            )

    async def unsummarised(self, actor: Actor) -> Sequence[UnsummarisedConversation]:
        """Return all conversations with messages to summarise. For admins."""
        actor.require(Role.ADMIN)
        async with self._backend.database.system() as connection:
            return await repository.unsummarised(connection)

    async def chunks(
        self, actor: Actor, conversation_id: UUID, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Chunk]:
        """Return a page of a conversation's summaries, in order; ``limit`` is 1 to 200.

        Raises ``NotFound`` unless the actor takes part.
        """
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        action = "chunk.read"
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            page = await repository.page(connection, conversation_id, actor.user_id, limit, cursor)
        await self._backend.reads.note(
            actor, action, ((row.owner_id, row.id) for row in page.items)
        )
        return page.map(Chunk.model_validate)

    def after_append(self, trip: Trip, conversation_id: UUID) -> None:
        """Let the trip of an append queue the summary of its conversation, if it is due."""
        if self._settings.automatic:
            repository.enqueue_if_due(trip, conversation_id, **self._limits)

    async def sweep(self, *, everything: bool) -> int:
        """Queue conversations with work that is not queued; return their number.

        Only those whose job failed or whose summaries are stale, unless ``everything``.
        """
        if not self._settings.automatic:
            return 0
        async with self._backend.database.system() as connection:
            return await repository.sweep(connection, everything=everything, **self._limits)

    async def job(self, conversation_id: str) -> Mapping[str, int]:
        """Remake stale chunks, and summarise until it is no longer due; return counts."""
        counts, subject = SummaryCounts(), UUID(conversation_id)
        # The first count loads the vocabulary: meanwhile the worker's heart must beat.
        await asyncio.to_thread(tokens.load)
        try:
            counts.chunks = await self._remake.run(subject)
            while await self._is_due(subject) and await self._pass(subject, counts, None):
                pass
        except Exception as error:
            raise JobFailed(reason_of(error), counts.as_counts()) from error
        return counts.as_counts()

    @property
    def _limits(self) -> dict[str, int]:
        return {"messages": self._settings.messages, "tokens": self._settings.tokens}

    async def _is_due(self, conversation_id: UUID) -> bool:
        async with self._backend.database.system() as connection:
            return await repository.is_due(connection, conversation_id, **self._limits)

    async def _pass(
        self, conversation_id: UUID, counts: SummaryCounts, progress: OnProgress | None
    ) -> bool:
        """Summarise the next range; return False without one."""
        summarised = await self._summarise_next(conversation_id)
        if summarised is None:
            return False
        messages, summary = summarised
        document = None
        if summary.text.strip():
            [document] = await self._backend.search.prepare([summary.text])
        if await self._store(messages, summary, document, counts) and progress:
            progress(len(messages.message_ids))
        return True

    async def _summarise_next(self, conversation_id: UUID) -> tuple[MessageRange, Summary] | None:
        """Summarise the next range. If it is too long for the model, halve it and try again."""
        most = self._batches.most(conversation_id, self._settings.batch)
        while messages := await self._next(conversation_id, most):
            if not messages.transcript.is_readable:
                return messages, Summary("")
            try:
                summary = await self._summariser.summarise(messages.transcript)
            except AnswerCutShort:
                if len(messages.message_ids) == 1:
                    # Store it word for word: it must not block the messages after it.
                    return messages, await Verbatim().summarise(messages.transcript)
                most = len(messages.message_ids) // 2
            except LanguageModelUnavailable as error:
                count, end = len(messages.message_ids), messages.transcript.end
                self._batches.fail(conversation_id, error, count, end)
                raise
            else:
                self._batches.succeed(conversation_id, messages.transcript.end)
                return messages, summary
        return None

    async def _next(self, conversation_id: UUID, most: int) -> MessageRange | None:
        async with self._backend.database.system() as connection:
            row = await conversations.find(connection, conversation_id)
            if row is None:
                return None
            count = min(triggers.unsummarised(row.message_count, row.summarised_to), most)
            if not count:
                return None
            messages = await conversations.messages_after(
                connection, conversation_id, row.summarised_to, count
            )
        size = triggers.batch_size(
            [triggers.estimated_tokens(message.content) for message in messages],
            messages=most,
            tokens=self._settings.tokens,
        )
        batch = messages[:size]
        # Erased messages leave gaps in the positions. A range includes the gap at its end.
        end = row.summarised_to + count if size == len(messages) else batch[-1].position
        return ranges.range_of(conversation_id, row.summarised_to + 1, end, batch)

    @retries_deadlock
    async def _store(
        self,
        messages: MessageRange,
        summary: Summary,
        document: SearchDocument | None,
        counts: SummaryCounts,
    ) -> bool:
        """Store a summary and its facts; return False if the range was summarised meanwhile."""
        transcript, facts = messages.transcript, 0
        async with self._backend.database.system() as connection:
            locked = await ranges.lock(connection, transcript.conversation_id)
            if locked is None:
                return False
            conversation, participants = locked
            if conversation.summarised_to != transcript.start - 1:
                return False
            if not await ranges.is_current(connection, messages):
                return False
            if summary.readers not in {None, participants}:
                return False
            if document is not None:
                await store_chunks(
                    connection,
                    self._backend.search,
                    conversation,
                    transcript,
                    summary.text,
                    document,
                    participants,
                )
            if summary.facts and self._fact_writer is not None:
                facts = await self._fact_writer.store(
                    connection, conversation, transcript, summary.facts
                )
            await conversations.set_summarised(connection, conversation.id, transcript.end)
        counts.messages += len(messages.message_ids)
        counts.chunks += document is not None
        counts.facts += facts
        counts.guarded += summary.guarded
        return True
