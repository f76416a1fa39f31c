"""What somebody who left a space can no longer do with the facts they shared there."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Visibility
from remembrancer.db.tables import memories, space_members
from remembrancer.errors import Conflict


async def check_may_add(connection: AsyncConnection, owner_id: UUID, ids: Collection[str]) -> None:
    """Raise ``Conflict`` if one of an owner's memories is shared in a space they have left.

    Nobody puts anything new before the members of a space who is not one of them.
    """
    column = memories.c
    mine = select(space_members.c.space_id).where(space_members.c.user_id == owner_id)
    left = select(column.id).where(
        column.owner_id == owner_id,
        column.id.in_(ids),
        column.visibility == Visibility.SHARED,
        column.space_id.not_in(mine),
    )
    if (await connection.execute(left.limit(1))).first() is not None:
        raise Conflict(
            "this is shared in a space that its author is no member of; make it private first",
            field="visibility",
        )
