"""Checks that many services make: the user and the agent exist."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.errors import Conflict
from remembrancer.users import repository as users
from remembrancer.users.rows import UserRow


async def hold_user(connection: AsyncConnection, actor: Actor) -> UUID:
    """Lock the actor's user against a merge or an erasure, and return their id.

    Raises ``InvalidInput`` without a user, ``NotFound`` for an unknown one, and ``Conflict``
    for one who was merged into another user at this moment.
    """
    user_id = actor.require_user()
    if await users.hold_current(connection, user_id) != user_id:
        raise Conflict("the user was merged into another at the same moment; try again")
    return user_id


async def find_user(connection: AsyncConnection, actor: Actor) -> UserRow:
    """Raises ``NotFound`` for an unknown user, and ``InvalidInput`` without one."""
    return await users.get(connection, actor.require_user())


async def check_agent(
    connection: AsyncConnection, agent_id: UUID | None, *, retired: bool = False
) -> None:
    """Raise ``NotFound`` unless the agent exists. With ``retired``, a deleted one exists too."""
    if agent_id is not None:
        await agents.get(connection, agent_id, retired=retired)


async def check_exist(connection: AsyncConnection, actor: Actor) -> None:
    """Raise ``NotFound`` for an unknown user or agent, whose lists would look empty."""
    if actor.user_id is not None:
        await users.get(connection, actor.user_id)
    await check_agent(connection, actor.agent_id)
