"""Order of deletions: no row is left that refers to a deleted one. Returns rows by table."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import idempotency, undo
from remembrancer.associations import repository as associations
from remembrancer.context import repository as contexts
from remembrancer.conversations import transfers as conversations
from remembrancer.conversations.rows import MessageRow
from remembrancer.erasure.locks import MessageKey
from remembrancer.extraction import transfers as summaries
from remembrancer.extraction.remake import remake_chunks
from remembrancer.ids import MemoryKey
from remembrancer.jobs import queue
from remembrancer.keys import repository as keys
from remembrancer.lookup import saved_filters
from remembrancer.memories import citations, source_messages
from remembrancer.memories import transfers as memories
from remembrancer.preferences import repository as preferences
from remembrancer.search import repository as search
from remembrancer.search.repository import Counts
from remembrancer.spaces import repository as spaces
from remembrancer.uploads import repository as uploads
from remembrancer.users import repository as users


async def erase_user(
    connection: AsyncConnection,
    user_id: UUID,
    *,
    profile: bool,
    space_ids: Sequence[UUID],
    message_ids: Sequence[UUID],
) -> Counts:
    """Delete all memories and messages of a locked user; with ``profile`` the user as well.

    ``space_ids`` are the spaces they are a member of, locked as well; ``message_ids`` are their
    messages.
    """
    counts = await summaries.erase_over(connection, user_id)
    counts += await search.erase_owner(connection, user_id)
    counts["associations"] += await associations.erase_owner(connection, user_id)
    counts += await memories.erase_owner(connection, user_id)
    counts += await summaries.erase_owner(connection, user_id)
    counts += await source_messages.erase(connection, user_id)
    counts += await conversations.erase_messages(connection, user_id)
    counts += await idempotency.erase(connection, user_id)
    counts += await contexts.erase_owner(connection, user_id)
    counts += await undo.erase(connection, user_id)
    counts += await uploads.erase(connection, user_id)
    counts += await saved_filters.erase(connection, user_id)
    participation, conversation_ids = await conversations.leave_all(connection, user_id)
    counts += participation
    counts += await contexts.erase_conversations(connection, conversation_ids)
    counts += await queue.erase(connection, conversation_ids)
    if profile:
        counts += await preferences.erase(connection, user_id)
        counts += await keys.erase(connection, user_id)
        counts += await spaces.erase(connection, user_id, space_ids)
        counts += await users.erase(connection, user_id)
    return counts + await _erase_citations(connection, message_ids)


async def erase_memories(connection: AsyncConnection, memory_keys: Sequence[MemoryKey]) -> Counts:
    """Delete memories with everything that refers to them."""
    if not memory_keys:
        return Counter()
    counts = Counter(associations=await associations.erase(connection, memory_keys))
    counts += await memories.erase(connection, memory_keys)
    return counts + await contexts.erase_lines(connection, memory_keys)


async def erase_messages(
    connection: AsyncConnection,
    conversation_id: UUID,
    owner_id: UUID,
    positions: Mapping[UUID, int],
) -> Counts:
    """Delete messages of an owner, given by id and position, with what rests on them."""
    chunks = await remake_chunks(connection, {conversation_id: positions.values()})
    return Counter(chunks=chunks) + await erase_withheld(connection, owner_id, list(positions))


async def erase_withheld(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID]
) -> Counts:
    """Delete messages on which no summary rests, and memories from them alone."""
    keys = [(owner_id, message_id) for message_id in message_ids]
    counts = await search.erase_sources(connection, keys)
    counts += await conversations.erase_messages(connection, owner_id, message_ids)
    return counts + await _erase_sources(connection, keys)


async def remove_messages(
    connection: AsyncConnection,
    messages: Sequence[MessageKey],
    positions: Mapping[UUID, Collection[int]],
) -> None:
    """Delete locked messages that are old, with their items and summaries.

    Memories stay, and so do their citations. ``positions`` are those of the messages, by
    conversation.
    """
    keys = [(message.owner_id, message.id) for message in messages]
    await search.erase_sources(connection, keys)
    for owner_id in sorted({owner_id for owner_id, _ in keys}):
        ids = [message_id for owner, message_id in keys if owner == owner_id]
        await conversations.erase_messages(connection, owner_id, ids)
        await source_messages.erase(connection, owner_id, ids)
    await summaries.erase_unsourced(connection, positions)
    await remake_chunks(connection, positions)


async def erase_derived(
    connection: AsyncConnection, conversation_id: UUID, messages: Sequence[MessageRow]
) -> None:
    """Empty the summaries over messages, and delete memories from these messages alone."""
    await remake_chunks(connection, {conversation_id: [m.position for m in messages]})
    await _erase_citations(connection, [message.id for message in messages])


async def erase_conversation(
    connection: AsyncConnection,
    conversation_id: UUID,
    messages: Sequence[MessageKey],
    owners: Collection[UUID],
) -> Counts:
    """Delete a locked conversation with its messages, and what rests on them alone.

    ``owners`` are those of memories that may name the conversation: they no longer do.
    """
    counts = await summaries.erase_conversation(connection, conversation_id)
    keys = [(message.owner_id, message.id) for message in messages]
    counts += await search.erase_sources(connection, keys)
    counts += await conversations.erase_conversation(connection, conversation_id)
    counts += await contexts.erase_conversations(connection, [conversation_id])
    counts += await queue.erase(connection, [conversation_id])
    counts += await _erase_sources(connection, keys)
    await citations.remove_conversation(connection, conversation_id, owners)
    return counts


async def _erase_sources(
    connection: AsyncConnection, messages: Sequence[tuple[UUID, UUID]]
) -> Counts:
    """Delete what says that memories rest on messages, given by owner and id."""
    counts: Counts = Counter()
    for owner_id in sorted({owner_id for owner_id, _ in messages}):
        ids = [message_id for owner, message_id in messages if owner == owner_id]
        counts += await source_messages.erase(connection, owner_id, ids)
    return counts + await _erase_citations(connection, [message_id for _, message_id in messages])


async def _erase_citations(connection: AsyncConnection, message_ids: Sequence[UUID]) -> Counts:
    """Delete memories that cite only these messages; other memories lose the citations."""
    if not message_ids:
        return Counter()
    citing = await citations.lock(connection, message_ids)
    sourced = [memory for memory in citing if memory.other_mentions or memory.other_versions]
    unsourced = [memory.key for memory in citing if memory not in sourced]
    versioned = [memory.key for memory in sourced if memory.other_versions]
    counts = await erase_memories(connection, unsourced)
    # A later version may get the same number, so the lines are deleted with the version.
    counts += await contexts.erase_lines(connection, versioned)
    counts += await citations.delete_versions(connection, versioned, message_ids)
    counts += await citations.delete_mentions(connection, message_ids)
    await citations.remove_references(connection, [m.key for m in sourced], message_ids)
    return counts
