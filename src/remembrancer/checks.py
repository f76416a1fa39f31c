"""Checks of the user and the agent that many services make."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.errors import Deadlock
from remembrancer.users import repository as users
from remembrancer.users.rows import UserRow


async def hold_user(connection: AsyncConnection, actor: Actor) -> UUID:
    """Hold the actor's user against a merge or an erasure, and return their id.

    Raises ``InvalidInput`` without a user, ``NotFound`` for an unknown one, and ``Deadlock`` for a
    user who was merged into another at this moment: the next try acts for the survivor.
    """
    user_id = actor.require_user()
    if await users.hold_current(connection, user_id) != user_id:
        raise Deadlock(Deadlock.AGAIN)
    return user_id


async def find_user(connection: AsyncConnection, actor: Actor) -> UserRow:
    """Raise ``InvalidInput`` without a user, ``NotFound`` for an unknown one."""
    return await users.get(connection, actor.require_user())


async def check_agent(
    connection: AsyncConnection, agent_id: UUID | None, *, retired: bool = False
) -> None:
    """Raise ``NotFound`` for an unknown agent, and for a retired one unless ``retired``."""
    if agent_id is not None:
        await agents.get(connection, agent_id, retired=retired)


async def check_exist(connection: AsyncConnection, actor: Actor) -> None:
    """Raise ``NotFound`` for an unknown user or agent: their lists would look empty."""
    if actor.user_id is not None:
        await users.get(connection, actor.user_id)
    await check_agent(connection, actor.agent_id)
