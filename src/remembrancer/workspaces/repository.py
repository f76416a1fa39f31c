"""The only writer of the registry of workspaces."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy import Text, column
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows, first_row
from remembrancer.db.sql import statement
from remembrancer.paging import Page
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import (
    Workspace,
    WorkspaceLimits,
    WorkspaceMove,
    WorkspaceState,
)

HOLD_SECONDS: Final = 20
"""Seconds after which a hold ends that nobody renews."""

_sql = partial(statement, "remembrancer.workspaces", "registry")
_PAGES: Final = Keyset("workspaces", column("name", Text))


async def add(
    connection: AsyncConnection, row: WorkspaceRow, limits: WorkspaceLimits, holder: UUID
) -> WorkspaceRow | None:
    """Add a workspace that is being created; null if there is one with its name."""
    binds = {
        "id": row.id,
        "name": row.name,
        "server": row.server,
        "database": row.database,
        "revision": row.revision,
        "limits": limits.model_dump_json(),
        "holder": holder,
        "seconds": HOLD_SECONDS,
    }
    return await first_row(connection, WorkspaceRow, _sql("add"), binds)


async def get(connection: AsyncConnection, name: str) -> WorkspaceRow | None:
    return await first_row(connection, WorkspaceRow, _sql("get"), {"name": name})


async def page(connection: AsyncConnection, limit: int, cursor: str | None) -> Page[Workspace]:
    """Return a page of workspaces by name."""
    position = _PAGES.position(cursor)
    binds = {"after": position[0] if position else None, "count": limit + 1}
    rows = await all_rows(connection, WorkspaceRow, _sql("page"), binds)
    return _PAGES.cut([row.shown() for row in rows], limit)


async def with_names(connection: AsyncConnection, names: Collection[str]) -> list[WorkspaceRow]:
    return await all_rows(connection, WorkspaceRow, _sql("with_names"), {"names": list(names)})


async def used(connection: AsyncConnection, since: datetime | None) -> Sequence[str]:
    """Return the names of the active ones that somebody used since a time; without one, of all."""
    return list((await connection.execute(_sql("used"), {"since": since})).scalars())


async def to_migrate(connection: AsyncConnection, revision: str) -> list[WorkspaceRow]:
    """Return those that may be used and have an older schema, by name."""
    return await all_rows(connection, WorkspaceRow, _sql("to_migrate"), {"revision": revision})


async def note_uses(connection: AsyncConnection, names: Collection[str]) -> None:
    await connection.execute(_sql("note_uses"), {"names": list(names)})


async def hold(
    connection: AsyncConnection, name: str, holder: UUID, *, takes_copy: bool = False
) -> WorkspaceRow | None:
    """Hold a workspace, or renew the hold; null if there is none, or somebody else holds it.

    With ``takes_copy`` it is taken from whoever copies it to another server.
    """
    binds = {
        "name": name, "holder": holder, "seconds": HOLD_SECONDS, "takes_copy": takes_copy
    }  # fmt: skip
    return await first_row(connection, WorkspaceRow, _sql("hold"), binds)


async def release(connection: AsyncConnection, name: str, holder: UUID) -> None:
    await connection.execute(_sql("release"), {"name": name, "holder": holder})


async def change(
    connection: AsyncConnection,
    name: str,
    *,
    holder: UUID | None = None,
    state: WorkspaceState | None = None,
    limits: WorkspaceLimits | None = None,
) -> WorkspaceRow | None:
    """Change a workspace; null if there is none, or somebody else than ``holder`` holds it.

    Whoever moves it to another server may hold it while ``holder`` is null, except in the steps
    that last for seconds.
    """
    binds = {
        "name": name,
        "holder": holder,
        "state": state,
        "limits": None if limits is None else limits.model_dump_json(),
    }
    return await first_row(connection, WorkspaceRow, _sql("change"), binds)


async def note_revision(connection: AsyncConnection, name: str, revision: str) -> None:
    await connection.execute(_sql("note_revision"), {"name": name, "revision": revision})


async def remove(connection: AsyncConnection, name: str, holder: UUID) -> None:
    await connection.execute(_sql("remove"), {"name": name, "holder": holder})


async def abandoned(connection: AsyncConnection) -> Sequence[str]:
    """Return the names of those whose creation or drop was left behind."""
    return list((await connection.execute(_sql("abandoned"))).scalars())


async def relocate(
    connection: AsyncConnection,
    name: str,
    holder: UUID,
    move: WorkspaceMove | None,
    place: tuple[str, str] | None = None,
) -> WorkspaceRow | None:
    """Note how far a move is, and where the workspace is now; null if ``holder`` does not hold it.

    ``place`` is a server and a database.
    """
    server, database = place or (None, None)
    binds = {
        "name": name,
        "holder": holder,
        "move": None if move is None else move.model_dump_json(),
        "server": server,
        "database": database,
    }
    return await first_row(connection, WorkspaceRow, _sql("relocate"), binds)


async def halted(connection: AsyncConnection) -> Sequence[str]:
    """Return the names of those whose move stopped amid a step."""
    return list((await connection.execute(_sql("halted"))).scalars())
