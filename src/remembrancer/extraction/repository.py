"""Chunks, and the reads of summaries, in the database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.conversations.rules import WINDOW
from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import among, statement, statement_text
from remembrancer.db.tables import chunks, users
from remembrancer.db.trips import Trip
from remembrancer.extraction.schemas import GivenVersion, UnsummarisedConversation
from remembrancer.extraction.triggers import BYTES_A_TOKEN
from remembrancer.jobs.queue import SUMMARISE, enqueue_sql, failed_sql, running_sql
from remembrancer.paging import Page

PACKAGE: Final = "remembrancer.extraction"
SIMILAR: Final = 0.75
"""Cosine similarity from which a fact may be one that its owner has forgotten."""

REPLACING: Final = 0.55
"""Cosine similarity to a memory from which a fact can replace it.

With the bundled model, changes ("works at Acme", "retired") have .57 and more; facts on other
matters of the same person ("lives in Lisbon", "likes tea") .54 and less.
"""

_summaries = partial(
    statement,
    PACKAGE,
    "summaries",
    due=statement_text(PACKAGE, "summaries", "due"),
    enqueue=lambda column: enqueue_sql(SUMMARISE, "conversation_id", column),
    running=lambda column: running_sql(SUMMARISE, column),
)
_facts = partial(statement, PACKAGE, "facts")
_OF_FAILED_JOBS: Final = f"JOIN ({failed_sql(SUMMARISE, 'conversation_id')}) AS failed USING (id)"

_SIZES: Final = {"window_size": WINDOW, "bytes_a_token": BYTES_A_TOKEN}
_PAGES: Final = Keyset("chunks", chunks.c.range_start)


@dataclass(frozen=True, slots=True)
class ChunkRow:
    owner_id: UUID
    id: UUID
    conversation_id: UUID
    range_start: int
    range_end: int
    agent_id: UUID | None
    space_id: UUID | None
    visibility: str
    content: str
    stale: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NearMemory:
    """A memory near the messages of its owner."""

    owner_id: UUID
    id: str
    content: str


def enqueue_if_due(trip: Trip, conversation_id: UUID, *, messages: int, tokens: int) -> None:
    binds = {"conversation_id": conversation_id, "messages": messages, "tokens": tokens}
    trip.add(_summaries("enqueue"), binds | _SIZES)


async def sweep(
    connection: AsyncConnection, *, everything: bool, messages: int, tokens: int
) -> int:
    """Queue due conversations that are neither queued nor running; return their number.

    Only those whose job failed, unless ``everything``.
    """
    binds = {"messages": messages, "tokens": tokens} | _SIZES
    sql = _summaries("sweep", failed="" if everything else _OF_FAILED_JOBS)
    return int((await connection.execute(sql, binds)).scalar_one())


async def is_due(
    connection: AsyncConnection, conversation_id: UUID, *, messages: int, tokens: int
) -> bool:
    binds = {"conversation_id": conversation_id, "messages": messages, "tokens": tokens}
    return bool((await connection.execute(_summaries("is_due"), binds | _SIZES)).scalar())


async def unsummarised(connection: AsyncConnection) -> list[UnsummarisedConversation]:
    """Return the conversations with unsummarised messages outside the window."""
    binds = {"window_size": WINDOW}
    return await all_rows(connection, UnsummarisedConversation, _summaries("unsummarised"), binds)


async def zones(connection: AsyncConnection, user_ids: Iterable[UUID]) -> dict[UUID, str]:
    query = select(users.c.id, users.c.time_zone).where(among(users.c.id, user_ids))
    return {row.id: row.time_zone for row in await connection.execute(query)}


async def nearest_memories(
    connection: AsyncConnection,
    messages: Sequence[UUID],
    owners: Sequence[UUID],
    *,
    conversation_id: UUID | None,
    shared: bool,
    limit: int,
) -> list[NearMemory]:
    """Return each owner's memories nearest to their messages, up to ``limit`` for each.

    With a ``conversation_id``, those from there, and with ``shared`` those shared in its space.
    """
    binds = {
        "messages": messages,
        "owners": owners,
        "conversation_id": conversation_id,
        "shared": shared,
        "count": limit,
    }
    return await all_rows(connection, NearMemory, _facts("nearest"), binds)


async def given(
    connection: AsyncConnection,
    messages: Sequence[UUID],
    *,
    owners: Sequence[UUID],
    vectors: Sequence[str],
) -> dict[int, list[GivenVersion]]:
    """Return what these messages gave the owner of each fact before, by the fact's index."""
    binds = {"messages": messages, "owners": owners, "vectors": vectors, "similarity": SIMILAR}
    by_fact: dict[int, list[GivenVersion]] = {}
    for row in await all_rows(connection, GivenVersion, _facts("given"), binds):
        by_fact.setdefault(row.number, []).append(row)
    return by_fact


async def replacing(
    connection: AsyncConnection,
    *,
    owners: Sequence[UUID],
    memories: Sequence[str | None],
    vectors: Sequence[str],
) -> set[int]:
    """Return which facts, by index, are near the memory they are said to replace."""
    binds = {
        "owners": owners,
        "memories": memories,
        "vectors": vectors,
        "similarity": REPLACING,
    }
    return set((await connection.execute(_facts("replacing"), binds)).scalars())


async def add_chunks(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        await connection.execute(insert(chunks), rows)


async def page(
    connection: AsyncConnection,
    conversation_id: UUID,
    user_id: UUID | None,
    limit: int,
    cursor: str | None,
) -> Page[ChunkRow]:
    position = _PAGES.position(cursor)
    binds = {
        "conversation_id": conversation_id,
        "user_id": user_id,
        "count": limit + 1,
        "after": position[0] if position else 0,
    }
    return _PAGES.cut(await all_rows(connection, ChunkRow, _summaries("page"), binds), limit)
