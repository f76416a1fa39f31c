"""Access to a conversation: for its participants, and agents' backends that name no user."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, may_take_part
from remembrancer.backend import Backend
from remembrancer.conversations import repository
from remembrancer.errors import NotFound


@asynccontextmanager
async def reading(
    backend: Backend, actor: Actor, conversation_id: UUID, action: str
) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
    """Open a transaction across owners in a conversation that the actor may read.

    To others it does not exist: logs a refused ``action`` and raises ``NotFound``.
    """
    async with backend.database.system_for(actor) as (connection, actor):
        participants = await repository.participants_of(connection, conversation_id)
        if may_take_part(actor, participants):
            yield connection, actor
            return
    await backend.refuse(actor, action, [str(conversation_id)], no_such_conversation())


async def space_of(
    backend: Backend, actor: Actor, conversation_id: UUID | None, action: str
) -> UUID | None:
    """Return the space of a conversation that the actor may read; null without one."""
    if conversation_id is None:
        return None
    async with reading(backend, actor, conversation_id, action) as (connection, _):
        conversation = await repository.find(connection, conversation_id)
    return conversation.space_id if conversation else None


def no_such_conversation() -> NotFound:
    return NotFound("no such conversation", field="conversation_id")
