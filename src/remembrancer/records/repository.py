"""Records in the database. All that is here is the user's own, in the namespace in effect."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import NAMESPACE, Actor, viewer_binds, visible
from remembrancer.records.schemas import Address

Rows = Sequence[Row[*tuple[Any, ...]]]

# The rule, and more narrowly: a program has one record at an address, wherever else its user or
# agent may look. What the budget evicted has left recall, not the program that keeps it.
_KEPT = f"""
    {visible("m")}
    AND m.owner_id = :user_id
    AND m.space_id IS NULL
    AND m.agent_id IS NOT DISTINCT FROM {NAMESPACE}
    AND m.address IS NOT NULL
    AND m.status IN ('active', 'evicted')
    AND (m.valid_to IS NULL OR m.valid_to > now())
"""
_UNDER = "m.address[1:cardinality(CAST(:prefix AS text[]))] = CAST(:prefix AS text[])"
# Addresses travel as JSON: Postgres has no arrays of arrays of different lengths.
_ASKED = """
    SELECT ARRAY(SELECT jsonb_array_elements_text(one)) AS address
      FROM jsonb_array_elements(CAST(:addresses AS jsonb)) AS one
"""
_COLUMNS = """
    m.owner_id, m.id, m.agent_id, m.space_id, m.visibility, m.address, m.content, m.metadata,
    m.version, m.status, m.place_id, m.kind, m.category, m.importance, m.valid_from, m.valid_to,
    m.created_at, m.updated_at
"""
# Of two at one address, which a merge can bring about, the one in use comes first.
_FIRST = "m.address, m.status, m.updated_at DESC, m.id"

_AT = text(f"""
    SELECT {_COLUMNS} FROM memories AS m
     WHERE {_KEPT} AND m.address IN ({_ASKED})
     ORDER BY {_FIRST}
""")
_HERE = text(f"SELECT m.id, m.address FROM memories AS m WHERE {_KEPT} AND {_UNDER} ORDER BY m.id")
_LISTED = text(f"""
    SELECT *
      FROM (SELECT DISTINCT ON (m.address) {_COLUMNS}
              FROM memories AS m
             WHERE {_KEPT} AND {_UNDER}
               AND cardinality(m.address) > cardinality(CAST(:prefix AS text[]))
             ORDER BY {_FIRST}) AS one
     ORDER BY updated_at DESC, address
     LIMIT :limit OFFSET :offset
""")
_SIZES = text(f"""
    SELECT DISTINCT ON (m.address) m.address, octet_length(m.content) AS bytes
      FROM memories AS m
     WHERE {_KEPT} AND {_UNDER}
     ORDER BY {_FIRST}
""")
# What stands where a directory would have to, or the other way round.
_IN_THE_WAY = text(f"""
    SELECT m.address
      FROM memories AS m
      JOIN ({_ASKED}) AS new
        ON new.address <> m.address
       AND (new.address[1:cardinality(m.address)] = m.address
            OR m.address[1:cardinality(new.address)] = new.address)
     WHERE {_KEPT}
     LIMIT 1
""")
_HOLD = text("""
    SELECT id FROM memories
     WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[])) ORDER BY id FOR UPDATE
""")
_FORGET = text("""
    UPDATE memories SET status = 'forgotten', forgotten_at = now()
     WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[]))
""")
_EXPIRED = text("""
    UPDATE memories SET status = 'forgotten', forgotten_at = now()
     WHERE owner_id = :owner_id AND address IS NOT NULL AND valid_to <= now()
       AND metadata ? 'ttl' AND status IN ('active', 'evicted')
    RETURNING id
""")
_HIDE = text("""
    UPDATE recall_items SET active = false
     WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[])) AND active
""")
_SHOW = text("""
    UPDATE recall_items SET active = true
     WHERE owner_id = :owner_id AND memory_id = ANY (CAST(:ids AS text[])) AND NOT active
""")
_REVIVE = text("""
    UPDATE memories SET status = 'active', updated_at = now()
     WHERE owner_id = :owner_id AND id = ANY (CAST(:ids AS text[]))
""")
_RENAME = text("""
    UPDATE memories AS m
       SET address = new.address, content_hash = new.hash, updated_at = now()
      FROM (SELECT CAST(one ->> 'id' AS text) AS id,
                   ARRAY(SELECT jsonb_array_elements_text(one -> 'address')) AS address,
                   decode(one ->> 'hash', 'hex') AS hash
              FROM jsonb_array_elements(CAST(:renamed AS jsonb)) AS one) AS new
     WHERE m.owner_id = :owner_id AND m.id = new.id
""")
# The interval of a record stands in three places, for whoever asks as of a day.
_EXTEND = tuple(
    text(f"""
    UPDATE {table} AS t
       SET valid_to = now() + make_interval(mins => 1) * CAST(m.metadata ->> 'ttl' AS float8)
      FROM memories AS m
     WHERE m.owner_id = :owner_id AND m.id = ANY (CAST(:ids AS text[])) AND m.metadata ? 'ttl'
       AND t.owner_id = :owner_id AND {which}
""")
    for table, which in (
        ("memory_versions", "t.memory_id = m.id AND t.version = m.version"),
        ("recall_items", "t.memory_id = m.id AND t.superseded_at IS NULL"),
        ("memories", "t.id = m.id"),
    )
)


async def at(connection: AsyncConnection, actor: Actor, addresses: Collection[Address]) -> Rows:
    """Return the records at these addresses; of several at one, the one in use first."""
    if not addresses:
        return []
    binds = viewer_binds(actor) | {"addresses": _json([list(one) for one in addresses])}
    rows: Rows = (await connection.execute(_AT, binds)).all()
    return rows


async def here(
    connection: AsyncConnection, actor: Actor, prefix: Address
) -> Sequence[tuple[str, Address]]:
    """Return id and address of the records at and under an address, in order of ids."""
    binds = viewer_binds(actor) | {"prefix": list(prefix)}
    return [(row.id, tuple(row.address)) for row in await connection.execute(_HERE, binds)]


async def listed(
    connection: AsyncConnection,
    actor: Actor,
    prefix: Address,
    limit: int | None = None,
    offset: int = 0,
) -> Rows:
    """Return the records under an address, the latest first."""
    binds = viewer_binds(actor) | {"prefix": list(prefix), "limit": limit, "offset": offset}
    rows: Rows = (await connection.execute(_LISTED, binds)).all()
    return rows


async def sizes(connection: AsyncConnection, actor: Actor, prefix: Address) -> dict[Address, int]:
    """Return how many bytes each record at and under an address has, in order."""
    binds = viewer_binds(actor) | {"prefix": list(prefix)}
    return {tuple(row.address): row.bytes for row in await connection.execute(_SIZES, binds)}


async def in_the_way(
    connection: AsyncConnection, actor: Actor, addresses: Collection[Address]
) -> Address | None:
    """Return a record above or below one of these addresses, if there is one."""
    if not addresses:
        return None
    binds = viewer_binds(actor) | {"addresses": _json([list(one) for one in addresses])}
    found = (await connection.execute(_IN_THE_WAY, binds)).scalar()
    return None if found is None else tuple(found)


async def hold(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Lock records until the transaction ends."""
    await connection.execute(_HOLD, {"owner_id": owner_id, "ids": list(ids)})


async def forget(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Forget records: they leave every list and recall."""
    binds = {"owner_id": owner_id, "ids": list(ids)}
    await connection.execute(_FORGET, binds)
    await connection.execute(_HIDE, binds)


async def forget_expired(connection: AsyncConnection, owner_id: UUID) -> list[str]:
    """Forget an owner's records whose time is over; return their ids."""
    gone = list((await connection.execute(_EXPIRED, {"owner_id": owner_id})).scalars())
    if gone:
        await connection.execute(_HIDE, {"owner_id": owner_id, "ids": gone})
    return gone


async def hide(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Keep records out of recall."""
    await connection.execute(_HIDE, {"owner_id": owner_id, "ids": list(ids)})


async def revive(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Take evicted records into use again."""
    binds = {"owner_id": owner_id, "ids": list(ids)}
    await connection.execute(_REVIVE, binds)
    await connection.execute(_SHOW, binds)


async def rename(
    connection: AsyncConnection, owner_id: UUID, renamed: Sequence[Mapping[str, Any]]
) -> None:
    """Give records new addresses: id, address and statement hash of each."""
    await connection.execute(_RENAME, {"owner_id": owner_id, "renamed": _json(renamed)})


async def extend(connection: AsyncConnection, owner_id: UUID, ids: Sequence[str]) -> None:
    """Let the time of records that have one begin anew."""
    for statement in _EXTEND:
        await connection.execute(statement, {"owner_id": owner_id, "ids": list(ids)})


def _json(value: Any) -> str:
    return json.dumps(value)
