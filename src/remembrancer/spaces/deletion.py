"""Delete and restore a space. Its facts stay with their authors."""

from dataclasses import asdict
from typing import Final
from uuid import UUID

from pydantic_core import to_jsonable_python
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import undo
from remembrancer.db.tables import undo_records
from remembrancer.errors import Conflict, NotFound
from remembrancer.spaces import repository
from remembrancer.spaces.rows import SpaceRow
from remembrancer.users import repository as users

ACTION: Final = "space.delete"


async def delete_space(connection: AsyncConnection, space: SpaceRow, user_id: UUID) -> None:
    """Delete a locked space, and record it so that the user can restore it.

    Without members, nobody sees the shared facts; each author keeps their own.
    """
    members = await repository.remove(connection, space.id)
    record = {"space": asdict(space), "members": [asdict(row) for row in members]}
    await undo.add(connection, user_id, ACTION, to_jsonable_python(record))


async def restore(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> None:
    """Restore a space with its members; raise ``NotFound`` unless the user deleted it."""
    same_space = undo_records.c.record["space"]["id"].astext == str(space_id)
    record_id = await undo.latest(connection, user_id, ACTION, same_space)
    if record_id is None:
        raise NotFound("you have no deleted space with this id", field="space_id")
    if await repository.find(connection, space_id) is not None:
        raise Conflict("the space is not deleted", field="space_id")
    record = await undo.take(connection, user_id, record_id, ACTION)
    space, members = record["space"], record["members"]
    creator = UUID(space["created_by"])
    user_ids = {UUID(member["user_id"]) for member in members} | {creator}
    current_ids = await users.hold(connection, user_ids)
    values = {name: space[name] for name in ("name", "description", "created_at")}
    values |= {"id": space_id, "created_by": current_ids.get(creator, creator)}
    await repository.restore(connection, values, members)
