"""Conversations of a user who is merged into another, and back.

The order of calls: ``transfer``, the summaries (``extraction.transfers``), ``leave``; and back
``transfer_back``, the summaries, ``leave_again``. A participant without a row in ``participants``
can own neither messages nor summaries.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement
from remembrancer.db.tables import participants

Json = dict[str, Any]

_statement = partial(statement, "remembrancer.conversations", "transfers")
_JOIN = _statement("join")
_MOVE_MESSAGES = _statement("move_messages")
_MOVE_OPENED = _statement("move_opened")
_REJOIN = _statement("rejoin")
_LEAVE_UNUSED = _statement("leave_unused")


async def transfer(connection: AsyncConnection, giver: UUID, taker: UUID) -> Json:
    """Move conversations and messages to ``taker``; return their ids."""
    users = {"giver": giver, "taker": taker}
    joined = await _ids(connection, _JOIN, users)
    own = select(participants.c.conversation_id).where(participants.c.user_id == giver)
    return {
        "conversations": [str(i) for i in (await connection.execute(own)).scalars()],
        "joined": joined,
        "messages": await _ids(connection, _MOVE_MESSAGES, {**users, "ids": None}),
        "opened": await _ids(connection, _MOVE_OPENED, {**users, "ids": None}),
    }


async def leave(connection: AsyncConnection, user_id: UUID) -> None:
    """Remove a user from all conversations, with the summaries and messages they still own."""
    await connection.execute(delete(participants).where(participants.c.user_id == user_id))


async def transfer_back(
    connection: AsyncConnection, giver: UUID, taker: UUID, record: Mapping[str, Any]
) -> None:
    users = {"giver": giver, "taker": taker}
    await connection.execute(_REJOIN, {"taker": taker, "ids": record["conversations"]})
    await connection.execute(_MOVE_MESSAGES, {**users, "ids": record["messages"]})
    await connection.execute(_MOVE_OPENED, {**users, "ids": record["opened"]})


async def leave_again(
    connection: AsyncConnection, user_id: UUID, conversation_ids: Sequence[str]
) -> None:
    """Remove a user from conversations without messages and summaries of theirs."""
    await connection.execute(_LEAVE_UNUSED, {"giver": user_id, "ids": conversation_ids})


async def _ids(
    connection: AsyncConnection, move: TextClause, binds: Mapping[str, Any]
) -> list[str]:
    return [str(value) for value in (await connection.execute(move, binds)).scalars()]
