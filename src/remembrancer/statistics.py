"""Numbers of users, agents, memories and messages."""

from pydantic import BaseModel
from sqlalchemy import text

from remembrancer.db.engine import Database
from remembrancer.db.replica import may_use_replica


class Counts(BaseModel):
    """Numbers across all owners."""

    users: int
    agents: int
    memories: int
    messages: int


_COUNT = text("""
    SELECT (SELECT count(*) FROM users WHERE merged_into IS NULL) AS users,
           (SELECT count(*) FROM agents WHERE deleted_at IS NULL) AS agents,
           (SELECT count(*) FROM memories WHERE status = 'active') AS memories,
           (SELECT count(*) FROM messages) AS messages
""")


_HAS_USERS = text("SELECT EXISTS (SELECT FROM users WHERE merged_into IS NULL)")


async def has_users(database: Database) -> bool:
    """Say whether there is anybody: to count them all takes long in a large store."""
    async with database.system() as connection:
        return bool((await connection.execute(_HAS_USERS)).scalar_one())


@may_use_replica
async def counts(database: Database) -> Counts:
    """Memories are the active ones. For admins only."""
    async with database.system() as connection:
        row = (await connection.execute(_COUNT)).one()
    return Counts(**row._mapping)
