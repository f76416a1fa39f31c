"""Helpers of the tests: people, clients, an empty store."""

from dataclasses import dataclass

import httpx2
import psycopg

from remembrancer import Actor, Remembrancer, ResolveUser, Role, User, as_actor
from remembrancer.keys.schemas import KeyCreate

ADMIN = Actor(Role.ADMIN)


def empty(database_url: str) -> None:
    """Remove every row but those that the first start writes."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN "
            "('alembic_version', 'memory_policy', 'embedding_model')"
        ).fetchall()
        tables = ", ".join(row[0] for row in rows)
        connection.execute(f"TRUNCATE {tables}")
        connection.execute("UPDATE memory_policy SET allow_agent_specific_memory = true")


async def person(memory: Remembrancer, name: str, platform: str = "discord") -> User:
    """A user of this name."""
    who = ResolveUser(platform=platform, platform_user_id=f"{name}-1", display_name=name)
    return await memory.users.resolve(as_actor(), who)


@dataclass(frozen=True)
class Api:
    """A client of the REST API, and keys to send."""

    client: httpx2.AsyncClient
    memory: Remembrancer
    service: dict[str, str]
    admin: dict[str, str]

    async def key_of(self, user: User) -> dict[str, str]:
        """Headers of a key that can only be ``user``."""
        return await headers_of(self.memory, KeyCreate(name="own", role=Role.USER, user_id=user.id))


async def headers_of(memory: Remembrancer, key: KeyCreate) -> dict[str, str]:
    made = await memory.keys.create(ADMIN, key)
    return {"Authorization": f"Bearer {made.secret}"}
