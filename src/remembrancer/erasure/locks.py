"""Who must wait for an erasure, and for whom it waits.

Locks are taken in the order in which every writer takes them: people, then spaces and
conversations, then the right to say what is new among an owner's memories, then memories. So
writers either end before an erasure or find nobody, and none waits in a circle.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import messages, users
from remembrancer.erasure import citations
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import repository as memories
from remembrancer.users import repository as people

_SAID = select(messages.c.id).order_by(messages.c.id)

_SPACES = text("""
    SELECT id FROM spaces
     WHERE id IN (SELECT space_id FROM space_members WHERE user_id = :user_id)
     ORDER BY id FOR UPDATE
""")
_CONVERSATIONS = text("""
    SELECT id FROM conversations
     WHERE id IN (SELECT conversation_id FROM participants WHERE user_id = :user_id)
     ORDER BY id FOR UPDATE
""")
_CONVERSATION = text("SELECT id FROM conversations WHERE id = :id FOR UPDATE")
_MEMORIES = text("SELECT id FROM memories WHERE owner_id = :user_id ORDER BY id FOR UPDATE")


async def user(connection: AsyncConnection, user_id: UUID) -> UUID | None:
    """Lock a user against everybody who writes for them; return who they are now, if known.

    With them go the owners of memories that rest on what they said.
    """
    locked: set[UUID] = set()
    while True:
        person = await people.find(connection, user_id)
        if person is None:
            return None
        if person.id in locked:
            return UUID(str(person.id))
        said = await messages_of(connection, person.id)
        await _lock_person(connection, person.id, await citations.owners(connection, said))
        locked.add(person.id)


async def _lock_person(connection: AsyncConnection, who: UUID, others: Collection[UUID]) -> None:
    # In order of ids: two who are erased at once may each have memories of the other's words.
    await people.hold(connection, [one for one in others if one < who])
    # Who writes for them by a former id holds that one.
    every_id = select(users.c.id).where((users.c.id == who) | (users.c.merged_into == who))
    await connection.execute(every_id.order_by(users.c.id).with_for_update())
    await people.hold(connection, [one for one in others if one > who])


async def belongings(connection: AsyncConnection, user_id: UUID) -> Sequence[UUID]:
    """Lock what others share with a locked user, and their memories; return their spaces."""
    binds = {"user_id": user_id}
    spaces = list((await connection.execute(_SPACES, binds)).scalars())
    await connection.execute(_CONVERSATIONS, binds)
    said = await messages_of(connection, user_id)
    await owners(connection, {user_id, *await citations.owners(connection, said)})
    await connection.execute(_MEMORIES, binds)
    return spaces


async def messages_of(connection: AsyncConnection, user_id: UUID) -> Sequence[UUID]:
    """Return the ids of a user's messages."""
    return list((await connection.execute(_SAID.where(messages.c.owner_id == user_id))).scalars())


async def owners(connection: AsyncConnection, owner_ids: Iterable[UUID]) -> None:
    """Let nobody decide what is new for these owners until the transaction ends."""
    for owner_id in sorted(owner_ids):
        await memories.lock_owner(connection, owner_id)


async def owner(connection: AsyncConnection, owner_id: UUID) -> None:
    """Hold a user, and let nobody decide what is new for them; for shared knowledge as well."""
    if owner_id != SHARED_OWNER:
        await people.hold(connection, [owner_id])
    await memories.lock_owner(connection, owner_id)


async def messages_in(
    connection: AsyncConnection, conversation_id: UUID, message_ids: Sequence[UUID]
) -> Sequence[Row[Any]]:
    """Return messages, locked with their conversation and the owners of what rests on them."""
    held: set[UUID] = set()
    while True:
        found = await find_messages(connection, conversation_id, message_ids)
        whose = {row.owner_id for row in found}
        whose |= await citations.owners(connection, [row.id for row in found])
        if whose <= held:
            break
        await people.hold(connection, whose)
        held |= whose
    await connection.execute(_CONVERSATION, {"id": conversation_id})
    await owners(connection, whose)
    return await find_messages(connection, conversation_id, message_ids)


async def find_messages(
    connection: AsyncConnection, conversation_id: UUID, message_ids: Sequence[UUID]
) -> Sequence[Row[Any]]:
    """Return messages of a conversation, those that are there."""
    statement = select(messages).filter_by(conversation_id=conversation_id)
    statement = statement.where(messages.c.id.in_(message_ids))
    return (await connection.execute(statement)).all()
