"""Places and their mentions in the database."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Uuid, bindparam, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Text

from remembrancer.access import Actor, viewer_binds
from remembrancer.db.tables import memories
from remembrancer.memories.repository import VISIBLE, Rows
from remembrancer.memories.schemas import Status

ORDER = (memories.c.created_at, memories.c.owner_id, memories.c.id)

# Mentions are numbered by time, since their id is drawn before the lock that orders writers.
_MENTIONS = text("""
    SELECT s.owner_id, s.id AS place, m.conversation_id, m.message_id, m.mentioned_at
      FROM unnest(:owners, :ids) AS s (owner_id, id)
     CROSS JOIN LATERAL (
           SELECT *
             FROM mentions
            WHERE owner_id = s.owner_id AND memory_id = s.id
            ORDER BY mentioned_at DESC, mentions.id DESC
            LIMIT :most
     ) AS m
     ORDER BY s.owner_id, s.id, m.mentioned_at, m.id
""").bindparams(
    bindparam("owners", type_=ARRAY(Uuid)),
    bindparam("ids", type_=ARRAY(Text)),
)


async def find(
    connection: AsyncConnection, actor: Actor, place_id: str, *, lock: bool = False
) -> Row[Any] | None:
    """Return the active place by this id that the actor sees; their own, outside spaces, first."""
    column = memories.c
    statement = (
        _visible(actor)
        .where(column.place_id == place_id)
        .order_by(
            (column.owner_id == actor.user_id).desc(),
            column.space_id.is_not(None),
            column.created_at,
            column.id,
        )
        .limit(1)
    )
    if lock:
        statement = statement.with_for_update()
    return (await connection.execute(statement)).first()


async def page(
    connection: AsyncConnection, actor: Actor, limit: int, after: Sequence[Any] | None
) -> Rows:
    """Return active places that the actor sees, oldest first, one more than ``limit``."""
    statement = _visible(actor).order_by(*ORDER).limit(limit + 1)
    if after is not None:
        statement = statement.where(tuple_(*ORDER) > tuple_(*after))
    rows: Rows = (await connection.execute(statement)).all()
    return rows


async def mentions(
    connection: AsyncConnection, places: Sequence[tuple[UUID, str]], most: int | None
) -> Rows:
    """Return the latest ``most`` mentions of each memory, by owner and id, oldest first."""
    owners, ids = [owner for owner, _ in places], [memory_id for _, memory_id in places]
    binds = {"owners": owners, "ids": ids, "most": most}
    rows: Rows = (await connection.execute(_MENTIONS, binds)).all()
    return rows


def _visible(actor: Actor) -> Any:
    return (
        select(memories)
        .where(memories.c.status == Status.ACTIVE, memories.c.place_id.is_not(None))
        .where(text(VISIBLE).bindparams(**viewer_binds(actor)))
    )
