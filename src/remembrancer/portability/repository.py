"""Read everything of a person, page by page: a large export needs little memory."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final
from uuid import UUID

from pydantic_core import to_jsonable_python
from sqlalchemy import Select, Table, and_, func, or_, select, tuple_, union
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import ColumnElement

from remembrancer.db import tables
from remembrancer.db.engine import Database
from remembrancer.db.sql import among
from remembrancer.portability.schemas import SHOWN, VERSION, Record

Query = Select[Any]
AnyColumn = ColumnElement[Any]

PAGE: Final = 500
"""Rows read at a time."""
_MEMORIES: Final = 100
"""Memories read at a time, with their versions and mentions."""

_OWNERS: Final = frozenset({"owner_id", "user_id", "opened_by", "created_by"})
_INNER: Final = frozenset(
    {"content_hash", "subject_key", "in_use", "is_behind", "hash", "shared_space_id", "merged_into"}
)
"""Columns for look-ups."""

_memory: Final = tables.memories.c
_UNEXPIRED: Final = or_(_memory.expires_at.is_(None), _memory.expires_at > func.now())
_IN_MEMORY: Final = and_(_memory.status != "forgotten", _UNEXPIRED)

EXPORTED: Final = frozenset(
    {
        "users",
        "platform_links",
        "memory_preferences",
        "saved_filters",
        "spaces",
        "space_members",
        "space_refusals",
        "memories",
        "memory_versions",
        "mentions",
        "associations",
        "conversations",
        "messages",
        "chunks",
        "withheld_messages",
        "undo_records",
        "api_keys",
    }
)
"""Tables with rows of a person that an export has."""

LEFT_OUT: Final = {
    "recall_items": "made from memories, messages and chunks",
    "postings": "made from memories, messages and chunks",
    "item_changes": "a count of changes to items",
    "reembeddings": "made from memories, messages and chunks",
    "participants": "the export has the conversations",
    "idempotency_keys": "ids of answers, stored for a day",
    "sessions": "of browsers that are signed in; they end by themselves",
    "uploads": "files that they gave themselves, until they are imported",
    "upload_parts": "files that they gave themselves, until they are imported",
    "sign_in_links": "they work once, within a day",
    "frozen_contexts": "made from memories, which the export has",
    "frozen_lines": "made from memories, which the export has",
    "audit_log": "read it with the audit log's own filters",
}
"""Tables with rows of a person that an export leaves out, and the reason."""


async def records(database: Database, owner_id: UUID) -> AsyncIterator[Record]:
    """Yield the records of a person: user, conversations with their messages, memories, others.

    Users may not read keys and undo records, so the caller has checked the access rule. Each
    statement selects one person's rows.
    """
    async with database.system() as connection:
        yield await _user(connection, owner_id)
    async for record in _conversations(database, owner_id):
        yield record
    async for record in _memories(database, owner_id):
        yield record
    async with database.system() as connection:
        for kind, table in (("undo_record", tables.undo_records), ("api_key", tables.api_keys)):
            for row in await _rows(connection, _own(table, owner_id)):
                yield {"type": kind, **row}


async def _user(connection: AsyncConnection, owner_id: UUID) -> Record:
    [user] = await _rows(connection, _own(tables.users, owner_id, "id"))
    spaces = _own(tables.space_members, owner_id).join(
        tables.spaces, tables.spaces.c.id == tables.space_members.c.space_id
    )
    return {
        "type": "user",
        "remembrancer": VERSION,
        **user,
        "platform_links": await _listed(connection, tables.platform_links, owner_id),
        "preferences": await _listed(connection, tables.memory_preferences, owner_id),
        "saved_filters": await _listed(connection, tables.saved_filters, owner_id),
        "spaces": await _rows(
            connection, spaces.add_columns(*_shown(tables.spaces)).order_by(tables.spaces.c.id)
        ),
        "space_refusals": await _listed(connection, tables.space_refusals, owner_id),
        "agents": await _rows(connection, _agents(owner_id)),
    }


def _agents(owner_id: UUID) -> Query:
    """Select the names of the agents that a person's rows name."""
    own: list[Query] = [
        select(table.c.agent_id).where(table.c[column] == owner_id)
        for table, column in (
            (tables.memory_preferences, "user_id"),
            (tables.memories, "owner_id"),
            (tables.mentions, "owner_id"),
            (tables.messages, "owner_id"),
            (tables.chunks, "owner_id"),
        )
    ]
    talk, part = tables.conversations.c, tables.participants.c
    own.append(
        select(talk.agent_id)
        .join(tables.participants, part.conversation_id == talk.id)
        .where(part.user_id == owner_id)
    )
    column = tables.agents.c
    return select(column.id, column.name).where(column.id.in_(union(*own))).order_by(column.id)


async def _conversations(database: Database, owner_id: UUID) -> AsyncIterator[Record]:
    talks, chunks, participants = tables.conversations, tables.chunks, tables.participants
    query = (
        select(*_shown(talks))
        .join(participants, participants.c.conversation_id == talks.c.id)
        .where(participants.c.user_id == owner_id)
    )
    messages = _messages(database, owner_id)
    message = await anext(messages, None)
    async for page in _pages(database, query, [talks.c.id], PAGE):
        ids = [UUID(row["id"]) for row in page]
        summaries = _own(chunks, owner_id).where(among(chunks.c.conversation_id, ids))
        async with database.system() as connection:
            summaries = summaries.order_by(chunks.c.range_start)
            by_talk = _grouped(await _rows(connection, summaries), "conversation_id")
        for row in page:
            yield {"type": "conversation", **row, "summaries": by_talk.get(row["id"], [])}
            # Both are in the order of the conversations' ids.
            while message is not None and message["conversation_id"] <= row["id"]:
                if message["conversation_id"] == row["id"]:
                    yield message
                message = await anext(messages, None)


async def _messages(database: Database, owner_id: UUID) -> AsyncIterator[Record]:
    column, withheld = tables.messages.c, tables.withheld_messages
    query = _own(tables.messages, owner_id)
    order = [column.conversation_id, column.position]
    async for page in _pages(database, query, order, PAGE):
        ids = [UUID(row["id"]) for row in page]
        by = _own(withheld, owner_id).where(among(withheld.c.message_id, ids))
        async with database.system() as connection:
            by = by.order_by(withheld.c.memory_id)
            withholding = _grouped(await _rows(connection, by), "message_id")
        for row in page:
            memory_ids = [one["memory_id"] for one in withholding.get(row["id"], ())]
            yield {"type": "message", **row, "withheld_by": memory_ids}


async def _memories(database: Database, owner_id: UUID) -> AsyncIterator[Record]:
    versions, mentions = tables.memory_versions, tables.mentions
    query = _own(tables.memories, owner_id).where(_IN_MEMORY)
    async for page in _pages(database, query, [_memory.id], _MEMORIES):
        ids = [row["id"] for row in page]
        children = {
            "versions": (_of(versions, owner_id, ids).order_by(versions.c.version)),
            "mentions": (_of(mentions, owner_id, ids).order_by(mentions.c.id)),
            "associations": _associations(owner_id, ids),
        }
        async with database.system() as connection:
            found = {
                name: _grouped(await _rows(connection, statement), "memory_id")
                for name, statement in children.items()
            }
        for row in page:
            parts = {name: by_memory.get(row["id"], []) for name, by_memory in found.items()}
            yield {"type": "memory", **row, **parts}


def _associations(owner_id: UUID, ids: Sequence[str]) -> Query:
    """Select associations of memories; of an own one, with the first words of the other memory.

    Those to what is forgotten are left out, and the owner of one's own memories is null.
    """
    edge, target = tables.associations.c, tables.memories.c
    is_own = edge.target_owner_id == owner_id
    same = and_(is_own, target.owner_id == owner_id, target.id == edge.target_id, _IN_MEMORY)
    shown = [c for c in _shown(tables.associations) if c.name != "target_owner_id"]
    return (
        select(
            *shown,
            func.nullif(edge.target_owner_id, owner_id).label("target_owner_id"),
            func.left(target.content, SHOWN).label("target_content"),
        )
        .outerjoin(tables.memories, same)
        .where(edge.owner_id == owner_id, among(edge.memory_id, ids))
        .where(or_(~is_own, target.id.is_not(None)))
        .order_by(edge.target_id, edge.relation, edge.target_owner_id)
    )


async def _pages(
    database: Database, query: Query, order: Sequence[AnyColumn], size: int
) -> AsyncIterator[list[Record]]:
    """Yield the rows of a query in pages, each read in a transaction of its own."""
    after: Sequence[object] | None = None
    while True:
        page = query.order_by(*order).limit(size)
        if after is not None:
            page = page.where(tuple_(*order) > tuple_(*after))
        async with database.system() as connection:
            rows = (await connection.execute(page)).mappings().all()
        yield [to_jsonable_python(dict(row)) for row in rows]
        if len(rows) < size:
            return
        after = [rows[-1][str(column.key)] for column in order]


def _own(table: Table, owner_id: UUID, owner: str | None = None) -> Query:
    column = owner or ("owner_id" if "owner_id" in table.c else "user_id")
    return select(*_shown(table)).where(table.c[column] == owner_id)


def _of(table: Table, owner_id: UUID, memory_ids: Sequence[str]) -> Query:
    return _own(table, owner_id).where(among(table.c.memory_id, memory_ids))


def _shown(table: Table) -> list[AnyColumn]:
    return [column for column in table.columns if column.name not in _OWNERS | _INNER]


async def _listed(connection: AsyncConnection, table: Table, owner_id: UUID) -> list[Record]:
    return await _rows(connection, _own(table, owner_id).order_by(*table.primary_key.columns))


async def _rows(connection: AsyncConnection, statement: Query) -> list[Record]:
    rows = (await connection.execute(statement)).mappings()
    return [to_jsonable_python(dict(row)) for row in rows]


def _grouped(rows: Sequence[Record], key: str) -> dict[str, list[Record]]:
    """Return rows by a column, without the column."""
    groups: dict[str, list[Record]] = {}
    for row in rows:
        groups.setdefault(row.pop(key), []).append(row)
    return groups
