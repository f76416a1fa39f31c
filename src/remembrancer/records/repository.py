"""Records in the database: memories with an address in one namespace."""

import json
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import NAMESPACE, Actor, viewer_binds
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.memories.metadata import Condition, binds_of, matching
from remembrancer.memories.rows import MemoryRow
from remembrancer.records.schemas import Address

_STORED: Final = f"""
    m.owner_id = :user_id
    AND m.space_id IS NULL
    AND m.agent_id IS NOT DISTINCT FROM {NAMESPACE}
    AND m.address IS NOT NULL
    AND m.status IN ('active', 'evicted')
    AND (m.valid_to IS NULL OR m.valid_to > now())
"""
_statement = partial(statement, "remembrancer.records", "records", stored=_STORED)
_AT = _statement("at")
_UNDER = _statement("under")
_SIZES = _statement("sizes")
_OBSTACLE = _statement("obstacle")
_EXPIRED = _statement("expired")


async def at(
    connection: AsyncConnection, actor: Actor, addresses: Collection[Address]
) -> Sequence[MemoryRow]:
    """Return the records at these addresses; of several at one address, the active one first."""
    if not addresses:
        return []
    binds = viewer_binds(actor) | {"addresses": json.dumps([list(a) for a in addresses])}
    return await all_rows(connection, MemoryRow, _AT, binds)


async def under(
    connection: AsyncConnection, actor: Actor, prefix: Address
) -> Sequence[tuple[str, Address]]:
    """Return id and address of the records at and under an address, by id."""
    binds = viewer_binds(actor) | {"prefix": list(prefix)}
    return [(row.id, tuple(row.address)) for row in await connection.execute(_UNDER, binds)]


async def page(
    connection: AsyncConnection,
    actor: Actor,
    prefix: Address,
    conditions: Collection[Condition],
    limit: int | None = None,
    offset: int = 0,
) -> Sequence[MemoryRow]:
    """Return the records under an address that meet conditions, the latest first."""
    values = binds_of(conditions)
    page = _statement("page", matching=matching(values))
    binds = viewer_binds(actor) | {"prefix": list(prefix), "limit": limit, "offset": offset}
    return await all_rows(connection, MemoryRow, page, binds | values)


async def sizes(connection: AsyncConnection, actor: Actor, prefix: Address) -> dict[Address, int]:
    """Return the bytes of each record at and under an address, by address."""
    binds = viewer_binds(actor) | {"prefix": list(prefix)}
    return {tuple(row.address): row.bytes for row in await connection.execute(_SIZES, binds)}


async def obstacle(
    connection: AsyncConnection, actor: Actor, addresses: Collection[Address]
) -> Address | None:
    """Return the address of a record above or below one of these."""
    if not addresses:
        return None
    binds = viewer_binds(actor) | {"addresses": json.dumps([list(a) for a in addresses])}
    address = (await connection.execute(_OBSTACLE, binds)).scalar()
    return None if address is None else tuple(address)


async def expired(connection: AsyncConnection, owner_id: UUID) -> list[str]:
    return list((await connection.execute(_EXPIRED, {"owner_id": owner_id})).scalars())
