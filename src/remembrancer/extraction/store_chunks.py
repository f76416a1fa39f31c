"""Store what was made of a range: a copy for each of its readers, found by recall."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Placement, Visibility
from remembrancer.conversations.append import places_of
from remembrancer.extraction import repository, triggers
from remembrancer.extraction.transcript import Transcript
from remembrancer.ids import new_uuid
from remembrancer.search.index import SearchDocument, SearchIndex, Source


@dataclass(frozen=True, slots=True)
class Made:
    """A summary, made ready for search, and the range it is of."""

    talk: Transcript
    words: str
    searchable: SearchDocument


async def store(
    connection: AsyncConnection,
    indexer: SearchIndex,
    conversation: Row[Any],
    made: Made,
    taking_part: Collection[UUID],
) -> None:
    """Store a chunk for each reader, placed as their messages of the conversation are."""
    talk = made.talk
    shared = conversation.space_id is not None and conversation.visibility == Visibility.SHARED
    speakers = [line.owner_id for line in talk.lines]
    readers = triggers.readers(taking_part, speakers, shared=shared)
    places = await places_of(connection, conversation, readers)
    copies = [(new_uuid(), place) for place in places.values()]
    await repository.add_chunks(
        connection, [_row(chunk_id, place, conversation.id, made) for chunk_id, place in copies]
    )
    last = max(line.sent_at for line in talk.lines)
    await indexer.store(
        connection,
        [
            (
                place,
                Source("chunk", at=last, source_id=chunk_id, conversation_id=conversation.id),
                made.searchable,
            )
            for chunk_id, place in copies
        ],
    )


def _row(chunk_id: UUID, place: Placement, conversation_id: UUID, made: Made) -> dict[str, Any]:
    return {
        "owner_id": place.owner_id,
        "agent_id": place.agent_id,
        "space_id": place.space_id,
        "visibility": place.visibility,
        "id": chunk_id,
        "conversation_id": conversation_id,
        "range_start": made.talk.start,
        "range_end": made.talk.end,
        "content": made.words,
    }
