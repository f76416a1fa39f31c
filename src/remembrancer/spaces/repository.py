"""Spaces and their members in the database."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.tables import space_members


async def is_member(connection: AsyncConnection, space_id: UUID, user_id: UUID) -> bool:
    """Say whether a user is a member of a space."""
    statement = select(space_members.c.user_id).filter_by(space_id=space_id, user_id=user_id)
    return (await connection.execute(statement)).first() is not None
