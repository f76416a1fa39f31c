"""Summaries and their search items, deleted for good."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement
from remembrancer.search import sources

_statement = partial(statement, "remembrancer.extraction", "erasures")
_ERASE_OVER = _statement("erase_over")
_ERASE_OWNER = _statement("erase_owner")


async def erase_over(
    connection: AsyncConnection, owner_id: UUID, message_ids: Sequence[UUID] | None = None
) -> Counter[str]:
    """Delete all users' summaries of an owner's messages, by default of all."""
    ids = None if message_ids is None else list(message_ids)
    return await _erase(connection, _ERASE_OVER, {"owner_id": owner_id, "message_ids": ids})


async def erase_owner(connection: AsyncConnection, owner_id: UUID) -> Counter[str]:
    return await _erase(connection, _ERASE_OWNER, {"owner_id": owner_id})


async def _erase(
    connection: AsyncConnection, deletion: TextClause, binds: Mapping[str, Any]
) -> Counter[str]:
    rows = (await connection.execute(deletion, binds)).all()
    counts = await sources.erase(connection, [(row.owner_id, row.id) for row in rows])
    return counts + Counter(chunks=len(rows))
