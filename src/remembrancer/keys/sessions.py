"""The only writer of sessions and sign-in links."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.plans import PLANNED_ONCE
from remembrancer.db.rows import CountRow, first_row, one_row
from remembrancer.db.sql import Statement, numbered, statement

_sql = partial(statement, "remembrancer.keys", "sessions")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session with who signed in. ``notices`` are JSON, the oldest first."""

    hash: bytes
    key_id: UUID | None
    theme: str
    notices: Sequence[str]
    role: str
    user_id: UUID | None
    merged_ids: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A used sign-in link; without a user it is for an admin."""

    user_id: UUID | None
    is_valid: bool


def find_statement(hash_: bytes) -> Statement:
    """Return the statement that finds a session with who signed in."""
    return Statement(numbered(_sql("find").text), {"hash": hash_}, PLANNED_ONCE, SessionRow)


async def refusals(connection: AsyncConnection, owner_id: UUID) -> int:
    """Return how many sign-ins with keys of an owner were refused in the last minute."""
    return (await one_row(connection, CountRow, _sql("refusals"), {"owner_id": owner_id})).count


async def add(
    connection: AsyncConnection,
    hash_: bytes,
    *,
    key_id: UUID | None,
    user_id: UUID | None,
    seconds: int,
) -> None:
    """Add a session, and delete those that have expired."""
    await delete_expired(connection)
    values = {"hash": hash_, "key_id": key_id, "user_id": user_id, "seconds": seconds}
    await connection.execute(_sql("add"), values)


async def store(
    connection: AsyncConnection, hash_: bytes, *, theme: str, shown: int, added: Sequence[str]
) -> None:
    """Set the theme, remove the first ``shown`` notices, and add others."""
    values = {"hash": hash_, "theme": theme, "shown": shown, "added": list(added)}
    await connection.execute(_sql("store"), values)


async def end(connection: AsyncConnection, hash_: bytes) -> None:
    """End one session."""
    await connection.execute(_sql("end"), {"hash": hash_})


async def end_all(
    connection: AsyncConnection, user_id: UUID | None, key_id: UUID | None = None
) -> int:
    """End the sessions of a user; without one those of a key, or of links for admins."""
    binds = {"user_id": user_id, "key_id": key_id}
    return (await connection.execute(_sql("end_all"), binds)).rowcount


async def delete_expired(connection: AsyncConnection, most: int | None = None) -> int:
    """Delete sessions and links whose time is over, up to ``most`` of each; return how many."""
    return int((await connection.execute(_sql("delete_expired"), {"most": most})).scalar_one())


async def add_link(
    connection: AsyncConnection, hash_: bytes, user_id: UUID | None, seconds: int
) -> None:
    """Add a link; without a user it is for an admin."""
    values = {"hash": hash_, "user_id": user_id, "seconds": seconds}
    await connection.execute(_sql("add_link"), values)


async def use_link(connection: AsyncConnection, hash_: bytes) -> LinkRow | None:
    """Delete a link and return it."""
    return await first_row(connection, LinkRow, _sql("use_link"), {"hash": hash_})


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """End the sessions of a user and delete their links; return the rows deleted by table."""
    await connection.execute(_sql("clear_notices"))
    links = await connection.execute(_sql("erase_links"), {"user_id": user_id})
    return Counter(sessions=await end_all(connection, user_id), sign_in_links=links.rowcount)
