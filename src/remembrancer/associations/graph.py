"""Associations as a graph in the database, each end of them visible to whoever asks."""

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, viewer_binds, visible
from remembrancer.associations.rules import Key

Rows = Sequence[Row[*tuple[Any, ...]]]

ORDER: Final = ("weight", "owner_id", "memory_id", "target_owner_id", "target_id", "relation")
"""What a list of associations is sorted by, downwards: no two are equal in all of it."""

_SEEN = f"m.status = 'active' AND {visible('m')}"
_DOWN = ", ".join(f"{column} DESC" for column in ORDER)

_PAGE = """
    SELECT *
      FROM (
           SELECT a.*
             FROM associations AS a
             JOIN memories AS m ON m.owner_id = a.target_owner_id AND m.id = a.target_id
            WHERE a.owner_id = :owner_id AND a.memory_id = :memory_id AND {seen}
           UNION ALL
           SELECT a.*
             FROM associations AS a
             JOIN memories AS m ON m.owner_id = a.owner_id AND m.id = a.memory_id
            WHERE a.target_owner_id = :owner_id AND a.target_id = :memory_id AND {seen}
           ) AS a
     WHERE {after}
     ORDER BY {down}
     LIMIT :count
"""
_AFTER = (
    "(weight, owner_id, memory_id, target_owner_id, target_id, relation) < "
    "(CAST(:weight AS float8), CAST(:after_owner AS uuid), CAST(:after_memory AS text), "
    "CAST(:after_target_owner AS uuid), CAST(:after_target AS text), CAST(:after_relation AS text))"
)

_NODES = """
    nodes AS MATERIALIZED (
        SELECT *
          FROM unnest(CAST(:owner_ids AS uuid[]), CAST(:memory_ids AS text[]))
               AS n (owner_id, memory_id)
    )
"""

# Looked up one by one in the order of their weights, until there are enough that are seen.
_OTHER = f"""
    CROSS JOIN LATERAL (
          SELECT m.owner_id, m.id, m.kind, m.category, m.subject, m.content, m.importance
            FROM memories AS m
           WHERE m.owner_id = a.other_owner AND m.id = a.other_id AND {_SEEN}
          OFFSET 0
    ) AS m
    ORDER BY weight DESC, other_owner DESC, other_id DESC, relation DESC
    LIMIT :each
"""
_AROUND = text(f"""
    WITH {_NODES}
    SELECT n.owner_id AS from_owner, n.memory_id AS from_id, link.*
      FROM nodes AS n
     CROSS JOIN LATERAL (
           (SELECT a.weight, true AS outgoing, m.*
              FROM (SELECT weight, target_owner_id AS other_owner, target_id AS other_id, relation
                      FROM associations
                     WHERE owner_id = n.owner_id AND memory_id = n.memory_id
                     ORDER BY weight DESC, other_owner DESC, other_id DESC, relation DESC
                    OFFSET 0) AS a
           {_OTHER})
           UNION ALL
           (SELECT a.weight, false, m.*
              FROM (SELECT weight, owner_id AS other_owner, memory_id AS other_id, relation
                      FROM associations
                     WHERE target_owner_id = n.owner_id AND target_id = n.memory_id
                     ORDER BY weight DESC, other_owner DESC, other_id DESC, relation DESC
                    OFFSET 0) AS a
           {_OTHER})
           ) AS link
""")

_BETWEEN = text(f"""
    WITH {_NODES}
    SELECT a.*
      FROM nodes AS one
     CROSS JOIN nodes AS other
      JOIN associations AS a
        ON a.owner_id = one.owner_id AND a.memory_id = one.memory_id
       AND a.target_owner_id = other.owner_id AND a.target_id = other.memory_id
     ORDER BY {", ".join(f"a.{column} DESC" for column in ORDER)}
""")


async def page(
    connection: AsyncConnection,
    actor: Actor,
    memory: Key,
    limit: int,
    after: Sequence[Any] | None,
) -> Rows:
    """Return associations of a visible memory, the strongest first, one more than ``limit``.

    In both directions; those whose other end the actor does not see are left out.
    """
    binds: dict[str, Any] = {"owner_id": memory[0], "memory_id": memory[1], "count": limit + 1}
    if after is not None:
        names = ("after_owner", "after_memory", "after_target_owner", "after_target")
        binds |= dict(zip(("weight", *names, "after_relation"), after, strict=True))
    statement = text(_PAGE.format(seen=_SEEN, down=_DOWN, after=_AFTER if after else "true"))
    return (await connection.execute(statement, {**binds, **viewer_binds(actor)})).all()


async def around(
    connection: AsyncConnection, actor: Actor, nodes: Collection[Key], each: int
) -> Rows:
    """Return what the actor sees one step away from visible memories.

    By the ``each`` strongest associations of a memory in each direction.
    """
    binds = {**_columns(nodes), "each": each, **viewer_binds(actor)}
    return (await connection.execute(_AROUND, binds)).all()


async def between(connection: AsyncConnection, nodes: Collection[Key]) -> Rows:
    """Return the associations between visible memories, the strongest first."""
    return (await connection.execute(_BETWEEN, _columns(nodes))).all()


def _columns(nodes: Collection[Key]) -> dict[str, list[UUID] | list[str]]:
    return {
        "owner_ids": [owner_id for owner_id, _ in nodes],
        "memory_ids": [memory_id for _, memory_id in nodes],
    }
