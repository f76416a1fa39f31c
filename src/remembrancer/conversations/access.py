"""A conversation that somebody has entered, who takes part in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, may_take_part
from remembrancer.conversations import repository
from remembrancer.db.engine import Database
from remembrancer.errors import NotFound


@asynccontextmanager
async def entered(
    database: Database, actor: Actor, conversation_id: UUID, action: str
) -> AsyncIterator[tuple[AsyncConnection, Actor]]:
    """Open a transaction across owners in a conversation that the actor may read.

    For others it does not exist: ``NotFound``, and a line in the audit log for ``action``.
    """
    async with database.system_for(actor) as (connection, actor):
        participants = await repository.participants_of(connection, conversation_id)
        if may_take_part(actor, participants):
            yield connection, actor
            return
    raise await refused(database, actor, action, conversation_id)


async def refused(database: Database, actor: Actor, action: str, conversation_id: UUID) -> NotFound:
    """Note that the actor was refused a conversation; return what to raise."""
    async with database.transaction(actor) as (connection, actor):
        await audit.note(connection, actor, action, [str(conversation_id)], outcome="refused")
    return NotFound("no such conversation", field="conversation_id")
