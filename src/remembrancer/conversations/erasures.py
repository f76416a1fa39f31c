"""Messages and conversations, deleted for good. Their search items are deleted separately."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement

_statement = partial(statement, "remembrancer.conversations", "erasures")
_LEAVE = _statement("leave")
_ERASE_EMPTY = _statement("erase_empty")
_ERASE_MESSAGES = _statement("erase_messages")


async def erase_messages(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID] | None = None
) -> Counter[str]:
    """Delete messages of an owner, by default all; return the deleted rows by table."""
    ids = None if message_ids is None else list(message_ids)
    result = await connection.execute(_ERASE_MESSAGES, {"owner_id": owner_id, "ids": ids})
    return Counter(messages=result.rowcount)


async def leave_all(
    connection: AsyncConnection, user_id: UUID
) -> tuple[Counter[str], Sequence[UUID]]:
    """Remove a user from all conversations, and delete those without participants.

    Erase the user's messages and summaries first. Returns deleted rows by table, and the ids of
    the deleted conversations.
    """
    left = list((await connection.execute(_LEAVE, {"user_id": user_id})).scalars())
    erased = list((await connection.execute(_ERASE_EMPTY, {"ids": left})).scalars())
    return Counter(participants=len(left), conversations=len(erased)), erased
