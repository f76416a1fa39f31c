"""Who is meant by ``--user`` and ``--agent``."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from remembrancer.access import Actor
from remembrancer.agents.schemas import Agent
from remembrancer.app import Remembrancer
from remembrancer.cli.runtime import SERVICE
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.users.schemas import User

SHOWN = 5
"""Most candidates that an error lists."""

UserOption = Annotated[
    str | None,
    typer.Option(help="A user: id, platform:platform_user_id, or a name that only one has."),
]
AgentOption = Annotated[str | None, typer.Option(help="An agent: id, or a name that only one has.")]


async def actor_for(app: Remembrancer, user: str | None, agent: str | None) -> Actor:
    """Return the actor for the user and agent named on the command line."""
    return SERVICE.acting_for(
        await find_user(app, user) if user is not None else None,
        await find_agent(app, agent) if agent is not None else None,
    )


async def find_user(app: Remembrancer, named: str) -> UUID:
    """Return the one user that is meant; ``InvalidInput`` lists who could be."""
    if user_id := as_id(named):
        return (await app.users.get(SERVICE, user_id)).id
    platform, colon, platform_user_id = named.partition(":")
    if colon:
        try:
            return (await app.users.find(SERVICE, platform, platform_user_id)).id
        except NotFound:
            pass
    found = await app.users.find_by_name(SERVICE, named, limit=SHOWN + 1)
    if len(found) == 1:
        return found[0].id
    if not found:
        return await _nobody(app)
    raise InvalidInput(
        f"several people have this name: {_listed([_who(user) for user in found])}", field="user"
    )


async def _nobody(app: Remembrancer) -> UUID:
    page = await app.users.list(SERVICE, limit=SHOWN + 1)
    known = _listed([_who(user) for user in page.items])
    raise InvalidInput(
        f"nobody has this name; known are {known}" if known else "nobody is known yet",
        field="user",
    )


async def find_agent(app: Remembrancer, named: str) -> UUID:
    """Return the one agent that is meant; ``InvalidInput`` lists which could be."""
    if agent_id := as_id(named):
        return (await app.agents.get(SERVICE, agent_id)).id
    agents = await all_agents(app)
    found = [agent for agent in agents if agent.name.casefold() == named.casefold()]
    if len(found) == 1:
        return found[0].id
    candidates = _listed([f"{agent.name} ({agent.id})" for agent in found or agents])
    if found:
        reason = f"several agents have this name: {candidates}"
    else:
        reason = f"no agent has this name; there are {candidates}" if agents else "there are none"
    raise InvalidInput(reason, field="agent")


async def all_agents(app: Remembrancer) -> list[Agent]:
    """Return every agent."""
    found: list[Agent] = []
    cursor = None
    while True:
        page = await app.agents.list(SERVICE, limit=200, cursor=cursor)
        found += page.items
        if (cursor := page.next_cursor) is None:
            return found


def as_id(named: str) -> UUID | None:
    """Return the id that ``named`` is, if it is one."""
    try:
        return UUID(named)
    except ValueError:
        return None


def _who(user: User) -> str:
    link = user.platform_links[0] if user.platform_links else None
    also = f"{link.platform}:{link.platform_user_id}" if link else str(user.id)
    return f"{user.display_name} ({also})"


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
