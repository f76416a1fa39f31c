"""Agents by name, on the library and over REST."""

import asyncio

from entry_points import Door, refusals

from remembrancer import User


async def test_a_new_name_asked_for_ten_times_at_once_is_one_agent(door: Door) -> None:
    """A bot may resolve its agent whenever it starts, and several of it at the same moment."""
    agents = await asyncio.gather(*(door.resolve_agent(name="Helper") for _ in range(10)))
    assert len({agent["id"] for agent in agents}) == 1
    again = await door.resolve_agent(name="Helper")
    assert (again["id"], again["version"]) == (agents[0]["id"], 1)


async def test_an_existing_agent_stays_as_it_is(door: Door) -> None:
    """Details are for a new agent. A deleted agent has no name; another case is another name."""
    first = await door.resolve_agent(name="Helper", description="Cooks", memory_scope="global")
    assert (first["description"], first["memory_scope"]) == ("Cooks", "global")
    again = await door.resolve_agent(name="Helper", description="Sings")
    assert again == first
    assert (await door.resolve_agent(name="helper"))["id"] != first["id"]


async def test_a_name_of_several_agents_is_refused_with_their_ids(door: Door, ada: User) -> None:
    """Nobody guesses which is meant, and a user's own key makes no agent."""
    ids = {(await door.create_agent(name="Helper"))["id"] for _ in range(2)}
    [refused] = await refusals(door.resolve_agent(name="Helper"))
    assert (refused.status, refused.fields) == (409, ["name"])
    own = await door.of(ada)
    wrong = await refusals(
        own.resolve_agent(name="Own"),
        door.resolve_agent(name=""),
        door.resolve_agent(name="New", memory_scope="both"),
    )
    assert [one.status for one in wrong] == [403, 422, 422]
    assert ids.isdisjoint({(await door.resolve_agent(name="Other"))["id"]})
