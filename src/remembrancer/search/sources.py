"""Search items of messages and summaries, by their owner and id."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.sql import statement

_statement = partial(statement, "remembrancer.search", "sources")
_ERASE = _statement("erase")
_COPY = _statement("copy")


async def erase(connection: AsyncConnection, sources: Iterable[tuple[UUID, UUID]]) -> Counter[str]:
    """Delete the items of sources (owner and id); return the deleted rows by table."""
    keys = list(sources)
    if not keys:
        return Counter()
    binds = {"owners": [owner for owner, _ in keys], "ids": [source_id for _, source_id in keys]}
    return Counter(dict((await connection.execute(_ERASE, binds)).mappings().one()))


async def copy(
    connection: AsyncConnection, giver: UUID, taker: UUID, new_ids: Mapping[UUID, UUID]
) -> None:
    """Copy the giver's items to the taker. ``new_ids`` are the new sources, by id."""
    if new_ids:
        ids = {"ids": list(new_ids), "new_ids": list(new_ids.values())}
        await connection.execute(_COPY, {"giver": giver, "taker": taker, **ids})
