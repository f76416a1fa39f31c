"""A space is deleted and brought back: its facts stay with their authors all the while."""

from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import undo
from remembrancer.errors import Conflict, NotFound
from remembrancer.spaces import repository
from remembrancer.users import repository as users

ACTION: Final = "space.delete"


async def close(connection: AsyncConnection, space: Row[Any], who: UUID) -> None:
    """Delete a locked space; ``who`` can bring it back.

    Without members nobody sees what was shared there, and every author keeps their own.
    """
    members = await repository.remove(connection, space.id)
    record = {
        "space": {
            "id": str(space.id),
            "name": space.name,
            "description": space.description,
            "created_by": str(space.created_by),
            "created_at": space.created_at.isoformat(),
        },
        "members": [
            {
                "user_id": str(row.user_id),
                "role": row.role,
                "joined_at": row.joined_at.isoformat(),
            }
            for row in members
        ],
    }
    await undo.keep(connection, who, ACTION, record)


async def reopen(connection: AsyncConnection, space_id: UUID, who: UUID) -> None:
    """Bring back a space that ``who`` deleted, with the members it had.

    Raises ``NotFound`` if they deleted none of this id.
    """
    record_id = await repository.deletion(connection, who, ACTION, space_id)
    if record_id is None:
        raise NotFound("there is no deleted space of yours by this id", field="space_id")
    if await repository.find(connection, space_id) is not None:
        raise Conflict("the space is there", field="space_id")
    record = await undo.take(connection, who, record_id, ACTION)
    space, members = record["space"], record["members"]
    made_by = UUID(space["created_by"])
    people = {UUID(member["user_id"]) for member in members} | {made_by}
    now = await users.hold(connection, people)
    values = space | {"id": space_id, "created_by": now.get(made_by, made_by)}
    await repository.put_back(connection, values, members)
