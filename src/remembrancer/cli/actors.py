"""Finds the users and agents that commands name."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.agents.schemas import Agent
from remembrancer.cli.runtime import SERVICE
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.paging import all_items
from remembrancer.users.schemas import User

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer

MAX_CANDIDATES = 5
"""Candidates that an error lists."""


class HasName(Protocol):
    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=HasName)


async def actor_for(app: "Remembrancer", user: str | None, agent: str | None = None) -> Actor:
    return SERVICE.acting_for(
        await find_user(app, user) if user is not None else None,
        await find_agent(app, agent) if agent is not None else None,
    )


async def find_user(app: "Remembrancer", name: str) -> UUID:
    """Return the id of a user by id, platform id or name; raise ``InvalidInput`` if ambiguous."""
    if user_id := parse_id(name):
        return (await app.users.get(SERVICE, user_id)).id
    platform, colon, platform_user_id = name.partition(":")
    if colon:
        try:
            return (await app.users.find(SERVICE, platform, platform_user_id)).id
        except NotFound:
            pass
    users = await app.users.find_by_name(SERVICE, name, limit=MAX_CANDIDATES + 1)
    if len(users) == 1:
        return users[0].id
    if users:
        reason = f"several users have this name: {_candidates(users)}"
    else:
        page = await app.users.list(SERVICE, limit=MAX_CANDIDATES + 1)
        known = _candidates(page.items)
        reason = f"no user has this name; users are {known}" if known else "there are no users yet"
    raise InvalidInput(reason, field="user")


def _candidates(users: Sequence[User]) -> str:
    return _join([_describe(user) for user in users])


async def find_agent(app: "Remembrancer", name: str) -> UUID:
    """Return the id of an agent by id or name; raise ``InvalidInput`` if ambiguous."""
    if agent_id := parse_id(name):
        return (await app.agents.get(SERVICE, agent_id)).id
    agents = await all_agents(app)
    matches = with_name(agents, name)
    if len(matches) == 1:
        return matches[0].id
    candidates = _join([f"{agent.name} ({agent.id})" for agent in matches or agents])
    if matches:
        reason = f"several agents have this name: {candidates}"
    elif agents:
        reason = f"no agent has this name; agents are {candidates}"
    else:
        reason = "there are no agents yet"
    raise InvalidInput(reason, field="agent")


async def all_agents(app: "Remembrancer") -> list[Agent]:
    return await all_items(partial(app.agents.list, SERVICE))


def with_name(items: Sequence[Item], name: str) -> list[Item]:
    return [item for item in items if item.name.casefold() == name.casefold()]


def only_id(items: Sequence[HasName], name: str, noun: str) -> UUID:
    """Return the id of the only item with a name; raise ``InvalidInput`` if there is none."""
    matches = with_name(items, name)
    if len(matches) == 1:
        return matches[0].id
    reason = (
        f"several {noun}s have this name; give an id" if matches else f"no {noun} has this name"
    )
    raise InvalidInput(reason, field=noun)


def parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _describe(user: User) -> str:
    link = user.platform_links[0] if user.platform_links else None
    identifier = f"{link.platform}:{link.platform_user_id}" if link else str(user.id)
    return f"{user.display_name} ({identifier})"


def _join(names: Sequence[str]) -> str:
    more = ", …" if len(names) > MAX_CANDIDATES else ""
    return ", ".join(names[:MAX_CANDIDATES]) + more
