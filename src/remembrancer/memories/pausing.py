"""Conversations in which people have paused remembering."""

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import conversations
from remembrancer.errors import Conflict


async def check_not_paused(
    connection: AsyncConnection, conversation_ids: Iterable[UUID | None]
) -> None:
    """Raise ``Conflict`` if what is to be remembered now is said where that is paused.

    For what people and tools ask for. What a job finds in older messages was said before.
    """
    cited = {one for one in conversation_ids if one is not None}
    if not cited:
        return
    paused = select(conversations.c.id).where(
        conversations.c.id.in_(cited), conversations.c.paused_at.is_not(None)
    )
    if (await connection.execute(paused.limit(1))).first() is not None:
        raise Conflict("remembering is paused in this conversation", field="conversation_id")
