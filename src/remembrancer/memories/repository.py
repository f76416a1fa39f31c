"""Memories, versions and mentions in the database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, func, insert, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Scope, viewer_binds, visible
from remembrancer.db.tables import memories, memory_versions, mentions, recall_items
from remembrancer.ids import short_id
from remembrancer.memories.rules import subject_key
from remembrancer.memories.schemas import MemoryFilter, SortBy, Status

Rows = Sequence[Row[*tuple[Any, ...]]]

VISIBLE = visible("memories")

_SORT_KEYS = {
    SortBy.RECENT: memories.c.created_at,
    SortBy.IMPORTANCE: memories.c.importance,
    SortBy.MOST_ACCESSED: memories.c.access_count,
}

# The nearest memory of the same place, kind and interval to each of several vectors.
_NEAREST = text("""
    WITH asked AS MATERIALIZED (
        SELECT n, CAST(vector AS halfvec) AS vector, agent_id, space_id, kind, valid_from, valid_to
          FROM unnest(
                   CAST(:vectors AS text[]), CAST(:agent_ids AS uuid[]),
                   CAST(:space_ids AS uuid[]), CAST(:kinds AS text[]),
                   CAST(:valid_froms AS timestamptz[]), CAST(:valid_tos AS timestamptz[])
               ) WITH ORDINALITY
               AS a (vector, agent_id, space_id, kind, valid_from, valid_to, n)
    )
    SELECT asked.n - 1 AS n, nearest.memory_id, nearest.similarity, m.content
      FROM asked
     CROSS JOIN LATERAL (
           SELECT i.memory_id, 1 - (i.embedding <=> asked.vector) AS similarity
             FROM recall_items AS i
            WHERE i.owner_id = :owner_id
              AND i.source_type = 'memory'
              AND i.active
              AND i.superseded_at IS NULL
              AND i.kind = asked.kind
              AND i.agent_id IS NOT DISTINCT FROM asked.agent_id
              AND i.space_id IS NOT DISTINCT FROM asked.space_id
              AND i.valid_from IS NOT DISTINCT FROM asked.valid_from
              AND i.valid_to IS NOT DISTINCT FROM asked.valid_to
            ORDER BY i.embedding <=> asked.vector, i.id
            LIMIT 1
     ) AS nearest
      JOIN memories AS m ON m.owner_id = :owner_id AND m.id = nearest.memory_id
     WHERE nearest.similarity >= :threshold
       -- What a program keeps it may drop: nobody's words are a mention of it.
       AND m.address IS NULL
""")


_COUNT_MENTIONS = text("""
    UPDATE memories AS m
       SET mention_count = m.mention_count + r.times
      FROM (SELECT id, count(*) AS times FROM unnest(CAST(:repeated AS text[])) AS id GROUP BY id)
           AS r
     WHERE m.owner_id = :owner_id AND m.id = r.id
""")

_DROP_SAME_WORDING = text("""
    UPDATE mentions AS said
       SET wording = NULL
      FROM memories AS m
     WHERE said.owner_id = :owner_id AND said.id = ANY (:ids)
       AND m.owner_id = said.owner_id AND m.id = said.memory_id AND m.content = said.wording
""")


async def lock_owner(connection: AsyncConnection, owner_id: UUID) -> None:
    """Let one writer at a time decide what is new for an owner, until the transaction ends."""
    statement = text("SELECT pg_advisory_xact_lock(hashtextextended(CAST(:owner AS text), 0))")
    await connection.execute(statement, {"owner": str(owner_id)})


async def same_statements(
    connection: AsyncConnection, owner_id: UUID, hashes: Sequence[bytes]
) -> Rows:
    """Return memories in use, or waiting to be, with one of these statement hashes."""
    column = memories.c
    statement = select(
        column.id, column.content_hash, column.agent_id, column.space_id, column.status
    ).where(
        column.owner_id == owner_id,
        column.status.in_((Status.ACTIVE, Status.PENDING)),
        column.content_hash.in_(hashes),
    )
    return (await connection.execute(statement)).all()


async def nearest(
    connection: AsyncConnection, owner_id: UUID, threshold: float, columns: dict[str, list[Any]]
) -> Rows:
    """Return, by index, the nearest like memory of each vector that reaches ``threshold``."""
    binds = {"owner_id": owner_id, "threshold": threshold, **columns}
    return (await connection.execute(_NEAREST, binds)).all()


async def on_subjects(connection: AsyncConnection, owner_id: UUID, keys: Sequence[str]) -> Rows:
    """Return active memories on these subjects, the latest first."""
    statement = (
        select(memories.c.id, memories.c.subject_key, memories.c.agent_id, memories.c.space_id)
        .where(
            memories.c.owner_id == owner_id,
            memories.c.status == Status.ACTIVE,
            memories.c.subject_key.in_(keys),
        )
        .order_by(memories.c.updated_at.desc(), memories.c.id)
    )
    return (await connection.execute(statement)).all()


async def places(connection: AsyncConnection, owner_id: UUID, place_ids: Sequence[str]) -> Rows:
    """Return an owner's active places by these place ids."""
    statement = select(
        memories.c.id, memories.c.place_id, memories.c.agent_id, memories.c.space_id
    ).where(
        memories.c.owner_id == owner_id,
        memories.c.status == Status.ACTIVE,
        memories.c.place_id.in_(place_ids),
    )
    return (await connection.execute(statement)).all()


async def fresh_ids(connection: AsyncConnection, owner_id: UUID, count: int) -> list[str]:
    """Return ids the owner has not used; call under the owner's lock."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        drawn = {short_id() for _ in range(count - len(ids))}
        statement = select(memories.c.id).where(
            memories.c.owner_id == owner_id, memories.c.id.in_(drawn)
        )
        taken = set((await connection.execute(statement)).scalars())
        ids.update(dict.fromkeys(drawn - taken))
    return list(ids)


async def add(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> int:
    """Insert memories; return how many were new to the unique constraint."""
    statement = upsert(memories).on_conflict_do_nothing(
        index_elements=["owner_id", "agent_id", "space_id", "content_hash"],
        index_where=memories.c.status == text("'active'"),
    )
    result = await connection.execute(statement.returning(memories.c.id), rows)
    return len(result.all())


async def add_versions(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert versions."""
    await connection.execute(insert(memory_versions), rows)


async def add_mentions(
    connection: AsyncConnection,
    owner_id: UUID,
    rows: Sequence[dict[str, Any]],
    repeated: Sequence[str],
) -> None:
    """Insert mentions, and count those of memories that were there before.

    The wording is kept where it differs from the memory's content.
    """
    await connection.execute(insert(mentions), rows)
    await connection.execute(_COUNT_MENTIONS, {"owner_id": owner_id, "repeated": list(repeated)})
    ids = [row["id"] for row in rows]
    await connection.execute(_DROP_SAME_WORDING, {"owner_id": owner_id, "ids": ids})


async def by_ids(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]
) -> dict[str, Row[Any]]:
    """Return an owner's memories by id."""
    statement = select(memories).where(memories.c.owner_id == owner_id, memories.c.id.in_(ids))
    return {row.id: row for row in await connection.execute(statement)}


async def find(
    connection: AsyncConnection, actor: Actor, memory_id: str, *, lock: bool = False
) -> Row[Any] | None:
    """Return a visible memory in any status; the actor's own first, should ids collide."""
    statement = (
        select(memories)
        .where(memories.c.id == memory_id, _visible_to(actor))
        .order_by((memories.c.owner_id == actor.user_id).desc(), memories.c.owner_id)
        .limit(1)
    )
    if lock:
        statement = statement.with_for_update()
    return (await connection.execute(statement)).first()


async def page(
    connection: AsyncConnection,
    actor: Actor,
    wanted: MemoryFilter,
    limit: int,
    after: Sequence[Any] | None,
) -> Rows:
    """Return visible memories in the order asked for, one more than ``limit``."""
    key = _SORT_KEYS[wanted.sort]
    order = (key, memories.c.owner_id, memories.c.id)
    statement = _matching(actor, wanted, select(memories))
    if after is not None:
        statement = statement.where(tuple_(*order) < tuple_(*after))
    statement = statement.order_by(*(c.desc() for c in order)).limit(limit + 1)
    rows: Rows = (await connection.execute(statement)).all()
    return rows


async def count(connection: AsyncConnection, actor: Actor, wanted: MemoryFilter) -> int:
    """Return how many visible memories match."""
    statement = _matching(actor, wanted, select(func.count()).select_from(memories))
    return int((await connection.execute(statement)).scalar_one())


async def told_in(
    connection: AsyncConnection, actor: Actor, conversation_id: UUID, limit: int
) -> Rows:
    """Return visible active memories by the messages they came up in, in that order."""
    statement = (
        select(memories, mentions.c.message_id.label("told_by"))
        .join(
            mentions,
            (mentions.c.owner_id == memories.c.owner_id) & (mentions.c.memory_id == memories.c.id),
        )
        .where(mentions.c.conversation_id == conversation_id)
        .where(memories.c.status == Status.ACTIVE, _visible_to(actor))
        .order_by(mentions.c.id)
        .limit(limit)
    )
    rows: Rows = (await connection.execute(statement)).all()
    return rows


async def history(connection: AsyncConnection, owner_id: UUID, memory_id: str) -> tuple[Rows, Rows]:
    """Return all versions, oldest first, and the latest 100 mentions, newest first."""
    versions = select(memory_versions).filter_by(owner_id=owner_id, memory_id=memory_id)
    said = select(mentions).filter_by(owner_id=owner_id, memory_id=memory_id)
    return (
        (await connection.execute(versions.order_by(memory_versions.c.version))).all(),
        (await connection.execute(said.order_by(mentions.c.id.desc()).limit(100))).all(),
    )


async def change(
    connection: AsyncConnection, owner_id: UUID, memory_id: str, values: dict[str, Any]
) -> Row[Any]:
    """Set columns of a memory and return it."""
    statement = (
        update(memories).filter_by(owner_id=owner_id, id=memory_id).values(values)
    ).returning(memories)
    row: Row[Any] = (await connection.execute(statement)).one()
    return row


async def close_version(
    connection: AsyncConnection, memory: dict[str, Any], now: datetime, held_until: datetime | None
) -> None:
    """End the version before the memory's current one.

    With ``held_until`` its words are history too: it held until then at the latest.
    """
    version, item = memory_versions.c, recall_items.c
    until = func.least(func.coalesce(version.valid_to, held_until), held_until)
    mine = {"owner_id": memory["owner_id"], "memory_id": memory["id"], "superseded_at": None}
    await connection.execute(
        update(memory_versions)
        .filter_by(**mine)
        .values(superseded_at=now, valid_to=until if held_until else version.valid_to)
    )
    if held_until:
        # Its interval stays as it was known, for questions as of an earlier day.
        await connection.execute(
            update(recall_items).filter_by(**mine).values({item.superseded_at: now})
        )


async def renew_item(connection: AsyncConnection, memory: dict[str, Any]) -> None:
    """Let the current version go by the words that recall has of the one before."""
    same = ("kind", "category", "importance", "valid_from", "valid_to")
    await connection.execute(
        update(recall_items)
        .filter_by(owner_id=memory["owner_id"], memory_id=memory["id"], superseded_at=None)
        .values(memory_version=memory["version"], **{name: memory[name] for name in same})
    )


async def mark_items(
    connection: AsyncConnection, owner_id: UUID, memory_id: str, status: Status
) -> None:
    """Let recall find the memory if it is active, and only then."""
    await connection.execute(
        update(recall_items)
        .filter_by(owner_id=owner_id, memory_id=memory_id)
        .values(active=status is Status.ACTIVE)
    )


def _visible_to(actor: Actor) -> Any:
    return text(VISIBLE).bindparams(**viewer_binds(actor))


def _matching(actor: Actor, wanted: MemoryFilter, statement: Select[Any]) -> Select[Any]:
    column = memories.c
    statement = statement.where(_visible_to(actor))
    chosen: list[tuple[Any, Sequence[str]]] = [
        (column.status, wanted.statuses),
        (column.kind, wanted.kinds),
        (column.category, wanted.categories),
        (column.review, wanted.reviews),
    ]
    for which, values in chosen:
        if values:
            statement = statement.where(which.in_(values))
    if set(wanted.statuses) != {Status.ACTIVE}:
        # Others see what is active; the rest is the owner's own business.
        own = column.owner_id == actor.user_id
        statement = statement.where(or_(own, column.status == Status.ACTIVE))
    same: dict[Any, Any] = {
        column.space_id: wanted.space_id,
        column.pinned: wanted.pinned,
        column.agent_id: wanted.kept_for,
    }
    for which, value in same.items():
        if value is not None:
            statement = statement.where(which == value)
    return statement.where(*_worded(wanted))


def _worded(wanted: MemoryFilter) -> list[Any]:
    column = memories.c
    conditions: list[Any] = []
    if wanted.scope is not None:
        one_agents = column.agent_id.is_not(None)
        conditions.append(one_agents if wanted.scope is Scope.AGENT else ~one_agents)
    if wanted.subject is not None:
        conditions.append(column.subject_key == subject_key(wanted.subject))
    if wanted.source is not None:
        conditions.append(column.source == wanted.source)
    if wanted.text is not None:
        conditions.append(column.content.icontains(wanted.text, autoescape=True))
    return conditions
