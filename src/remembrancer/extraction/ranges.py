"""Ranges of messages to summarise, and the locks under which their summaries are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations import repository as conversations
from remembrancer.conversations.rows import ConversationRow, MessageRow
from remembrancer.extraction.transcript import Transcript, transcript_of
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class MessageRange:
    """The messages of one summary, as a transcript and by id."""

    transcript: Transcript
    message_ids: Sequence[UUID]


def range_of(
    conversation_id: UUID, start: int, end: int, messages: Sequence[MessageRow]
) -> MessageRange:
    return MessageRange(
        transcript_of(conversation_id, start, end, messages), [message.id for message in messages]
    )


async def lock(
    connection: AsyncConnection, conversation_id: UUID
) -> tuple[ConversationRow, frozenset[UUID]] | None:
    """Lock a conversation and its participants, in the order of every writer: decision 10.

    Returns None if it is gone, or somebody joined meanwhile.
    """
    held = await conversations.participants_of(connection, conversation_id)
    held |= set((await users.hold(connection, held)).values())
    conversation = await conversations.find(connection, conversation_id)
    if conversation is not None and conversation.space_id is not None:
        await spaces.members_among(connection, conversation.space_id, held)
    conversation = await conversations.find(connection, conversation_id, lock=True)
    if conversation is None:
        return None
    participants = await conversations.participants_of(connection, conversation_id)
    return (conversation, participants) if participants <= held else None


async def is_current(connection: AsyncConnection, messages: MessageRange) -> bool:
    """Return whether a range still has the same messages, in a locked conversation."""
    now = await read(
        connection,
        messages.transcript.conversation_id,
        messages.transcript.start,
        messages.transcript.end,
    )
    return now == messages


async def read(
    connection: AsyncConnection, conversation_id: UUID, start: int, end: int
) -> MessageRange:
    rows = await conversations.messages_after(
        connection, conversation_id, start - 1, end - start + 1
    )
    return range_of(conversation_id, start, end, rows)
