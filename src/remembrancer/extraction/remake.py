"""Make summaries anew, once a message that they rest on changed, is gone, or is in recall again."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement, Visibility
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.errors import AnswerCutShort
from remembrancer.extraction import ranges
from remembrancer.extraction.ranges import MessageRange
from remembrancer.extraction.repository import ChunkRow
from remembrancer.extraction.store_chunks import index_chunks
from remembrancer.extraction.store_facts import ExtractedFactWriter
from remembrancer.extraction.summariser import Summariser, Summary, Verbatim
from remembrancer.jobs.queue import SUMMARISE, enqueue_sql
from remembrancer.search import repository as search

_sql: Final = partial(
    statement,
    "remembrancer.extraction",
    "remake",
    enqueue=lambda column: enqueue_sql(SUMMARISE, "conversation_id", column),
)


async def remake_chunks(
    connection: AsyncConnection, positions: Mapping[UUID, Collection[int]]
) -> int:
    """Empty all summaries over some messages, and queue a job that makes them anew.

    ``positions`` are those of the messages, by conversation; lock the conversations first. The
    summaries leave recall at once. Returns the number of summaries, a copy of each reader
    counted. Needs a transaction across owners.
    """
    places = [(each, position) for each in positions for position in positions[each]]
    binds = {
        "conversations": [each for each, _ in places],
        "positions": [position for _, position in places],
    }
    rows = (await connection.execute(_sql("empty"), binds)).all()
    if rows:
        await search.erase_sources(connection, [(row.owner_id, row.id) for row in rows])
        await enqueue(connection, {row.conversation_id for row in rows})
    return len(rows)


async def enqueue(connection: AsyncConnection, conversation_ids: Collection[UUID]) -> None:
    """Queue jobs that make the emptied summaries of conversations anew."""
    await connection.execute(_sql("enqueue"), {"conversations": sorted(conversation_ids)})


class ChunkRemake:
    """Makes emptied summaries anew from the messages of now.

    It stores facts from edited messages only: those of the others are stored already.
    """

    def __init__(
        self,
        backend: Backend,
        summariser: Summariser,
        fact_writer: ExtractedFactWriter | None = None,
    ) -> None:
        self._backend = backend
        self._summariser = summariser
        self._fact_writer = fact_writer

    async def run(self, conversation_id: UUID) -> int:
        """Return the number of ranges that have a summary again."""
        async with self._backend.database.system() as connection:
            binds = {"conversation_id": conversation_id}
            stale = (await connection.execute(_sql("stale_ranges"), binds)).all()
        count = 0
        for row in stale:
            async with self._backend.database.system() as connection:
                messages = await ranges.read(
                    connection, conversation_id, row.range_start, row.range_end
                )
            count += await self._store(messages, await self._summary(messages))
        return count

    async def _summary(self, messages: MessageRange) -> Summary:
        if not messages.transcript.is_readable:
            return Summary("")
        try:
            return await self._summariser.summarise(messages.transcript)
        except AnswerCutShort:
            return await Verbatim().summarise(messages.transcript)

    @retries_deadlock
    async def _store(self, messages: MessageRange, summary: Summary) -> bool:
        """Fill the emptied copies, unless the messages changed again: that queued another job."""
        transcript, text = messages.transcript, summary.text.strip()
        documents = await self._backend.search.prepare([text] if text else [])
        async with self._backend.database.system() as connection:
            # An append, an erasure or another change of these messages waits.
            locked = await ranges.lock(connection, transcript.conversation_id)
            if locked is None or not await ranges.is_current(connection, messages):
                return False
            binds = {
                "conversation_id": transcript.conversation_id,
                "range_start": transcript.start,
                "range_end": transcript.end,
                "content": text,
                "readers": None if summary.readers is None else list(summary.readers),
            }
            rows = await all_rows(connection, ChunkRow, _sql("fill"), binds)
            for document in documents:
                copies = [(row.id, _placement(row)) for row in rows]
                await index_chunks(connection, self._backend.search, transcript, copies, document)
            if summary.facts and self._fact_writer is not None:
                edited = set((await connection.execute(_sql("edited"), binds)).scalars())
                facts = [each for each in summary.facts if each.fact.memory.message_id in edited]
                await self._fact_writer.store(connection, locked[0], transcript, facts)
        return bool(rows and documents)


def _placement(row: ChunkRow) -> Placement:
    return Placement(row.owner_id, row.agent_id, row.space_id, Visibility(row.visibility))
