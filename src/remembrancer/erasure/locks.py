"""Locks of an erasure, in the order in which every writer takes them.

Users, spaces and conversations, owners, memories: so no two transactions wait for each other.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows
from remembrancer.db.sql import among
from remembrancer.db.tables import (
    conversations,
    messages,
    participants,
    space_members,
    spaces,
    users,
)
from remembrancer.errors import Conflict
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import citations, source_messages
from remembrancer.memories import repository as memory_store
from remembrancer.users import repository as user_store


@dataclass(frozen=True, slots=True)
class MessageKey:
    owner_id: UUID
    id: UUID
    position: int


async def lock_user(connection: AsyncConnection, user_id: UUID) -> UUID | None:
    """Lock a user, and the owners of memories that cite the user's messages.

    Returns the current id of the user; None for an unknown user.
    """
    locked: set[UUID] = set()
    while True:
        user = await user_store.find(connection, user_id)
        if user is None:
            return None
        if user.id in locked:
            return user.id
        message_ids = await messages_of(connection, user.id)
        await _lock_with(connection, user.id, await citations.owners(connection, message_ids))
        locked.add(user.id)


async def _lock_with(connection: AsyncConnection, user_id: UUID, others: Collection[UUID]) -> None:
    # A writer with a former id of the user holds that one.
    ids = select(users.c.id).where((users.c.id == user_id) | (users.c.merged_into == user_id))
    own = set((await connection.execute(ids)).scalars())
    # In order of ids: two users who are erased at once may cite each other.
    for is_own, some in groupby(sorted({*own, *others}), own.__contains__):
        if is_own:
            locked = select(users.c.id).where(users.c.id.in_(list(some))).order_by(users.c.id)
            await connection.execute(locked.with_for_update())
        else:
            await user_store.hold(connection, list(some))


async def lock_belongings(connection: AsyncConnection, user_id: UUID) -> Sequence[UUID]:
    """Lock the spaces, conversations and memories of a locked user; return the spaces' ids.

    With the memories of others that cite the user's messages.
    """
    joined = select(space_members.c.space_id).filter_by(user_id=user_id)
    space_ids = select(spaces.c.id).where(spaces.c.id.in_(joined)).order_by(spaces.c.id)
    locked = list((await connection.execute(space_ids.with_for_update())).scalars())
    entered = select(participants.c.conversation_id).filter_by(user_id=user_id)
    ids = select(conversations.c.id).where(conversations.c.id.in_(entered))
    await connection.execute(ids.order_by(conversations.c.id).with_for_update())
    message_ids = await messages_of(connection, user_id)
    await lock_owners(connection, {user_id, *await citations.owners(connection, message_ids)})
    # At once: the access counts of a moment are locked whoever owns them, in order of owners.
    await citations.lock_with(connection, user_id, message_ids)
    return locked


async def messages_of(connection: AsyncConnection, user_id: UUID) -> Sequence[UUID]:
    query = select(messages.c.id).filter_by(owner_id=user_id).order_by(messages.c.id)
    return list((await connection.execute(query)).scalars())


async def lock_owners(connection: AsyncConnection, owner_ids: Iterable[UUID]) -> None:
    """Lock the memories of owners against new ones."""
    for owner_id in sorted(owner_ids):
        await memory_store.lock_owner(connection, owner_id)


async def lock_owner(connection: AsyncConnection, owner_id: UUID) -> None:
    """Hold a user and lock their memories against new ones; for shared knowledge as well."""
    if owner_id != SHARED_OWNER:
        await user_store.hold(connection, [owner_id])
    await memory_store.lock_owner(connection, owner_id)


async def lock_messages(
    connection: AsyncConnection, conversation_ids: Collection[UUID], message_ids: Sequence[UUID]
) -> Sequence[MessageKey]:
    """Return messages, locked with their conversations and the owners of memories citing them."""
    held: set[UUID] = set()
    while True:
        keys = await find_messages(connection, conversation_ids, message_ids)
        owners = {key.owner_id for key in keys}
        owners |= await citations.owners(connection, [key.id for key in keys])
        if owners <= held:
            break
        await user_store.hold(connection, owners)
        held |= owners
    ids = select(conversations.c.id).where(among(conversations.c.id, conversation_ids))
    await connection.execute(ids.order_by(conversations.c.id).with_for_update())
    await lock_owners(connection, owners)
    return await find_messages(connection, conversation_ids, message_ids)


async def find_messages(
    connection: AsyncConnection, conversation_ids: Collection[UUID], message_ids: Sequence[UUID]
) -> Sequence[MessageKey]:
    """Return the messages of conversations that exist."""
    query = select(messages.c.owner_id, messages.c.id, messages.c.position).where(
        among(messages.c.conversation_id, conversation_ids), among(messages.c.id, message_ids)
    )
    return await all_rows(connection, MessageKey, query)


async def lock_withheld(
    connection: AsyncConnection, owner_id: UUID, memory_ids: Sequence[str]
) -> set[UUID]:
    """Return the messages to erase with forgotten memories, locked as :func:`lock_messages` does.

    Of one that was restored meanwhile there are none.
    """
    first = await source_messages.erasable(connection, owner_id, memory_ids)
    if not first:
        return set()
    ids = {message.id for message in first}
    conversation_ids = {message.conversation_id for message in first}
    await lock_messages(connection, conversation_ids, sorted(ids))
    now = await source_messages.erasable(connection, owner_id, memory_ids)
    return ids & {message.id for message in now}


async def lock_conversation(
    connection: AsyncConnection, conversation_id: UUID
) -> tuple[Sequence[MessageKey], set[UUID]]:
    """Lock a conversation with the participants and everybody whose memories cite it.

    Returns its messages and these users. Raises ``Conflict`` if somebody joined meanwhile.
    """
    held: set[UUID] = set()
    while not (owners := (await _all_of(connection, conversation_id))[1]) <= held:
        held |= set((await user_store.hold(connection, owners)).values()) | owners
    conversation = select(conversations.c.id).filter_by(id=conversation_id)
    await connection.execute(conversation.with_for_update())
    keys, owners = await _all_of(connection, conversation_id)
    if not owners <= held:
        raise Conflict("somebody joined meanwhile; try again", field="conversation_id")
    await lock_owners(connection, owners)
    return keys, owners


async def _all_of(
    connection: AsyncConnection, conversation_id: UUID
) -> tuple[Sequence[MessageKey], set[UUID]]:
    query = select(messages.c.owner_id, messages.c.id, messages.c.position)
    keys = await all_rows(connection, MessageKey, query.filter_by(conversation_id=conversation_id))
    joined = select(participants.c.user_id).filter_by(conversation_id=conversation_id)
    owners = set((await connection.execute(joined)).scalars())
    return keys, owners | await citations.owners(connection, [key.id for key in keys])
