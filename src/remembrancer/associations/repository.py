"""Associations between memories in the database, and what could be associated."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Row, Text, bindparam, delete, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, viewer_binds, visible
from remembrancer.db.tables import associations

Rows = Sequence[Row[*tuple[Any, ...]]]

_FIND = text(f"""
    SELECT DISTINCT ON (m.id) m.id, m.owner_id
      FROM memories AS m
     WHERE m.id = ANY (:ids) AND m.status = 'active' AND {visible("m")}
     ORDER BY m.id, (m.owner_id = :user_id) DESC, m.owner_id
""").bindparams(bindparam("ids", type_=ARRAY(Text)))

# An association is shared with whom the memory it leads from is shared.
_SET = text("""
    INSERT INTO associations AS a (owner_id, memory_id, target_owner_id, target_id, relation,
                                   weight, shared_space_id)
    SELECT e.owner_id, e.memory_id, e.target_owner_id, e.target_id, e.relation, e.weight,
           CASE WHEN m.visibility = 'shared' THEN m.space_id END
      FROM unnest(CAST(:owner_ids AS uuid[]), CAST(:memory_ids AS text[]),
                  CAST(:target_owner_ids AS uuid[]), CAST(:target_ids AS text[]),
                  CAST(:relations AS text[]), CAST(:weights AS float8[]))
           AS e (owner_id, memory_id, target_owner_id, target_id, relation, weight)
      JOIN memories AS m ON m.owner_id = e.owner_id AND m.id = e.memory_id
        ON CONFLICT (owner_id, memory_id, target_owner_id, target_id, relation) DO UPDATE
       SET weight = excluded.weight,
           shared_space_id = excluded.shared_space_id,
           updated_at = CASE WHEN a.weight = excluded.weight THEN a.updated_at
                             ELSE excluded.updated_at END
    RETURNING a.*
""")

# The nearest visible memories of the same owner to each of some, and the latest on the same
# subject, that are not associated with it yet.
_ALIKE = text(f"""
    WITH asked AS MATERIALIZED (
        SELECT i.memory_id, i.embedding, i.recorded_at, m.kind, m.subject_key, m.content
          FROM recall_items AS i
          JOIN memories AS m ON m.owner_id = i.owner_id AND m.id = i.memory_id
         WHERE i.owner_id = :owner_id
           AND i.memory_id = ANY (CAST(:ids AS text[]))
           AND i.active
           AND i.superseded_at IS NULL
    )
    SELECT asked.memory_id, asked.content, near.memory_id AS target_id,
           m.content AS target_content, near.similarity,
           asked.subject_key = m.subject_key AND asked.kind = m.kind AS same_subject,
           asked.recorded_at > near.recorded_at AS later
      FROM asked
     CROSS JOIN LATERAL (
           (SELECT i.memory_id, i.recorded_at, 1 - (i.embedding <=> asked.embedding) AS similarity
              FROM recall_items AS i
             WHERE i.owner_id = :owner_id
               AND i.source_type = 'memory'
               AND i.active
               AND i.superseded_at IS NULL
               AND 1 - (i.embedding <=> asked.embedding) >= :least
               AND i.memory_id <> asked.memory_id
               AND {visible("i")}
             ORDER BY i.embedding <=> asked.embedding, i.id
             LIMIT :count)
           UNION
           (SELECT i.memory_id, i.recorded_at, 1 - (i.embedding <=> asked.embedding)
              FROM memories AS on_it
              JOIN recall_items AS i ON i.owner_id = on_it.owner_id AND i.memory_id = on_it.id
             WHERE on_it.owner_id = :owner_id
               AND on_it.subject_key = asked.subject_key
               AND on_it.kind = asked.kind
               AND on_it.id <> asked.memory_id
               AND i.active
               AND i.superseded_at IS NULL
               AND {visible("i")}
             ORDER BY i.recorded_at DESC, i.id
             LIMIT :count)
           ) AS near
      JOIN memories AS m ON m.owner_id = :owner_id AND m.id = near.memory_id
     WHERE NOT EXISTS (
           SELECT FROM associations AS a
            WHERE a.owner_id = :owner_id AND a.memory_id = asked.memory_id
              AND a.target_owner_id = :owner_id AND a.target_id = near.memory_id)
       AND NOT EXISTS (
           SELECT FROM associations AS a
            WHERE a.owner_id = :owner_id AND a.memory_id = near.memory_id
              AND a.target_owner_id = :owner_id AND a.target_id = asked.memory_id)
     ORDER BY asked.memory_id, near.similarity DESC, near.memory_id
""")


async def owners(
    connection: AsyncConnection, actor: Actor, ids: Collection[str]
) -> dict[str, UUID]:
    """Return whose the visible memories with these ids are; the actor's own, should ids collide."""
    binds = {"ids": sorted(ids), **viewer_binds(actor)}
    return {row.id: row.owner_id for row in await connection.execute(_FIND, binds)}


async def put(connection: AsyncConnection, edges: Sequence[dict[str, Any]]) -> Rows:
    """Add associations or give them a new weight; return them. No two are the same edge."""
    names = ("owner_id", "memory_id", "target_owner_id", "target_id", "relation", "weight")
    binds = {f"{name}s": [edge[name] for edge in edges] for name in names}
    return (await connection.execute(_SET, binds)).all()


async def remove(
    connection: AsyncConnection,
    owner_id: UUID,
    memory_id: str,
    target: tuple[UUID | None, str],
    relation: str | None,
) -> int:
    """Remove the associations from a memory to another, of one relation or of all.

    Without an owner, the target is whatever has the id.
    """
    column = associations.c
    target_owner_id, target_id = target
    mine = delete(associations).filter_by(
        owner_id=owner_id, memory_id=memory_id, target_id=target_id
    )
    if target_owner_id is not None:
        mine = mine.where(column.target_owner_id == target_owner_id)
    if relation is not None:
        mine = mine.where(column.relation == relation)
    return (await connection.execute(mine)).rowcount


async def share(
    connection: AsyncConnection, owner_id: UUID, ids: Sequence[str], space_id: UUID | None
) -> None:
    """Share what leads from these memories with the members of a space, or with nobody.

    Whoever changes the visibility of a memory calls this in the same transaction.
    """
    column = associations.c
    await connection.execute(
        update(associations)
        .where(column.owner_id == owner_id, column.memory_id.in_(ids))
        .values(shared_space_id=space_id)
    )


async def alike(
    connection: AsyncConnection,
    actor: Actor,
    owner_id: UUID,
    ids: Sequence[str],
    *,
    least: float,
    count: int,
) -> Rows:
    """Return what each of an owner's memories could be associated with, the nearest first.

    Up to ``count`` of a similarity of ``least`` or more, and as many on the same subject.
    """
    binds = {"owner_id": owner_id, "ids": list(ids), "least": least, "count": count}
    return (await connection.execute(_ALIKE, {**binds, **viewer_binds(actor)})).all()
