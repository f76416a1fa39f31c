"""Checks that every writer makes: hold the user, find the agent."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.errors import Conflict, NotFound
from remembrancer.users import repository as users


async def hold_user(connection: AsyncConnection, actor: Actor) -> UUID:
    """Lock the actor's user against a merge or an erasure, and return their id.

    Raises ``InvalidInput`` without a user, ``NotFound`` for an unknown one, and ``Conflict``
    for one who was merged into another user at this moment.
    """
    user_id = actor.require_user()
    now = (await users.hold(connection, [user_id])).get(user_id)
    if now is None:
        raise NotFound("no such user", field="user_id")
    if now != user_id:
        raise Conflict("the user was merged into another at the same moment; try again")
    return user_id


async def check_agent(
    connection: AsyncConnection, agent_id: UUID | None, *, retired: bool = False
) -> None:
    """Raise ``NotFound`` unless the agent exists. With ``retired``, a deleted one exists too."""
    if agent_id is not None and await agents.find(connection, agent_id, retired=retired) is None:
        raise NotFound("no such agent", field="agent_id")
