"""Store the summary of a range: one searchable copy for each reader."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement, Visibility
from remembrancer.conversations.placements import placements
from remembrancer.conversations.rows import ConversationRow
from remembrancer.extraction import repository, triggers
from remembrancer.extraction.transcript import Transcript
from remembrancer.ids import new_uuid
from remembrancer.search.index import SearchDocument, SearchIndex, Source


async def store_chunks(
    connection: AsyncConnection,
    search: SearchIndex,
    conversation: ConversationRow,
    transcript: Transcript,
    text: str,
    document: SearchDocument,
    participants: Collection[UUID],
) -> None:
    """Store a chunk for each reader, with the placement of the reader's messages."""
    shared = conversation.space_id is not None and conversation.visibility == Visibility.SHARED
    speakers = [line.owner_id for line in transcript.lines]
    readers = triggers.readers(participants, speakers, shared=shared)
    copies = [
        (new_uuid(), placement)
        for placement in (await placements(connection, conversation, readers)).values()
    ]
    await repository.add_chunks(
        connection,
        [
            {
                **asdict(placement),
                "id": chunk_id,
                "conversation_id": conversation.id,
                "range_start": transcript.start,
                "range_end": transcript.end,
                "content": text,
            }
            for chunk_id, placement in copies
        ],
    )
    await index_chunks(connection, search, transcript, copies, document)


async def index_chunks(
    connection: AsyncConnection,
    search: SearchIndex,
    transcript: Transcript,
    copies: Sequence[tuple[UUID, Placement]],
    document: SearchDocument,
) -> None:
    """Make the copies of a summary searchable, given by id and placement."""
    at = max(line.sent_at for line in transcript.lines)
    where = transcript.conversation_id
    await search.store(
        connection,
        [
            (placement, Source("chunk", at=at, source_id=id_, conversation_id=where), document)
            for id_, placement in copies
        ],
    )
