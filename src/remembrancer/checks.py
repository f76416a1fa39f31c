"""Checks that many services make: the user and the agent exist."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.agents.repository import AgentRow
from remembrancer.errors import Conflict, NotFound
from remembrancer.users import repository as users
from remembrancer.users.rows import UserRow


async def hold_user(connection: AsyncConnection, actor: Actor) -> UUID:
    """Lock the actor's user against a merge or an erasure, and return their id.

    Raises ``InvalidInput`` without a user, ``NotFound`` for an unknown one, and ``Conflict``
    for one who was merged into another user at this moment.
    """
    user_id = actor.require_user()
    current_id = (await users.hold(connection, [user_id])).get(user_id)
    if current_id is None:
        raise NotFound("no such user", field="user_id")
    if current_id != user_id:
        raise Conflict("the user was merged into another at the same moment; try again")
    return user_id


async def find_user(connection: AsyncConnection, actor: Actor) -> UserRow:
    """Return the actor's user. Raises ``NotFound`` for an unknown one."""
    row = await users.find(connection, actor.require_user())
    if row is None:
        raise NotFound("no such user", field="user_id")
    return row


async def find_agent(
    connection: AsyncConnection, agent_id: UUID, *, retired: bool = False
) -> AgentRow:
    """Return an agent or raise ``NotFound``. With ``retired``, a deleted one exists too."""
    row = await agents.find(connection, agent_id, retired=retired)
    if row is None:
        raise NotFound("no such agent", field="agent_id")
    return row


async def check_agent(
    connection: AsyncConnection, agent_id: UUID | None, *, retired: bool = False
) -> None:
    """Raise ``NotFound`` unless the agent exists. With ``retired``, a deleted one exists too."""
    if agent_id is not None:
        await find_agent(connection, agent_id, retired=retired)
