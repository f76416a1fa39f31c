"""Conversations of a user who is merged into another, and back.

The order of calls: ``transfer``, the summaries (``extraction.transfers``), ``leave``; and back
``transfer_back``, the summaries, ``leave_again``. A participant without a row in ``participants``
can own neither messages nor summaries.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement
from remembrancer.db.tables import participants

Json = dict[str, Any]

_sql = partial(statement, "remembrancer.conversations", "transfers")
_erasures = partial(statement, "remembrancer.conversations", "erasures")


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Move conversations and messages to ``taker``; return their ids."""
    users = {"giver": giver, "taker": taker}
    joined = await _ids(connection, _sql("join"), users)
    own = select(participants.c.conversation_id).where(participants.c.user_id == giver)
    return {
        "conversations": [str(i) for i in (await connection.execute(own)).scalars()],
        "joined": joined,
        "messages": await _ids(connection, _sql("move_messages"), {**users, "ids": None}),
        "opened": await _ids(connection, _sql("move_opened"), {**users, "ids": None}),
    }


async def leave(connection: AsyncConnection, user_id: UUID) -> None:
    """Remove a user from all conversations, with the summaries and messages they still own."""
    await connection.execute(delete(participants).where(participants.c.user_id == user_id))


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    users = {"giver": giver, "taker": taker}
    await connection.execute(_sql("rejoin"), {"taker": taker, "ids": record["conversations"]})
    await connection.execute(_sql("move_messages"), {**users, "ids": record["messages"]})
    await connection.execute(_sql("move_opened"), {**users, "ids": record["opened"]})


async def leave_again(
    connection: AsyncConnection, user_id: UUID, conversation_ids: Sequence[str]
) -> None:
    """Remove a user from conversations without messages and summaries of theirs."""
    await connection.execute(_sql("leave_unused"), {"giver": user_id, "ids": conversation_ids})


async def _ids(
    connection: AsyncConnection, move: TextClause, binds: Mapping[str, Any]
) -> list[str]:
    return [str(value) for value in (await connection.execute(move, binds)).scalars()]


async def erase_messages(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID] | None = None
) -> Counter[str]:
    """Delete messages of an owner, by default all; return the deleted rows by table."""
    ids = None if message_ids is None else list(message_ids)
    result = await connection.execute(
        _erasures("erase_messages"), {"owner_id": owner_id, "ids": ids}
    )
    return Counter(messages=result.rowcount)


async def leave_all(
    connection: AsyncConnection, user_id: UUID
) -> tuple[Counter[str], Sequence[UUID]]:
    """Remove a user from all conversations, and delete those without participants.

    Erase the user's messages and summaries first. Returns deleted rows by table, and the ids of
    the deleted conversations.
    """
    left = list((await connection.execute(_erasures("leave"), {"user_id": user_id})).scalars())
    erased = list((await connection.execute(_erasures("erase_empty"), {"ids": left})).scalars())
    return Counter(participants=len(left), conversations=len(erased)), erased


async def erase_conversation(connection: AsyncConnection, conversation_id: UUID) -> Counter[str]:
    """Delete a conversation with its messages; return the deleted rows by table."""
    result = await connection.execute(_erasures("erase_conversation"), {"id": conversation_id})
    return Counter(dict(result.mappings().one()))
