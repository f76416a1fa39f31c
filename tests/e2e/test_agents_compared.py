"""What each agent knows of a person, side by side, and what a switch would change."""

import re
from uuid import uuid4

import html_pages
import pytest
from helpers import ADMIN, rows
from pages import Browser, World, base

from remembrancer import MemoryCreate, SpaceCreate, as_actor
from remembrancer.access import Scope, Visibility
from remembrancer.agents.schemas import AgentUpdate
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.lookup.schemas import Part
from remembrancer.preferences.schemas import PolicyUpdate


def contents(part: Part) -> list[str]:
    """The memories of a part by their first words; its count is their number."""
    assert part.count == len(part.items)
    return sorted(" ".join(memory.content.split()[:3]) for memory in part.items)


async def written(world: World) -> None:
    """Scopes for both agents, and a memory in each place that there is."""
    pantry, quiet = world.agents["Pantry"].id, world.agents["Quiet Hour"].id
    rows("UPDATE memories SET status = 'forgotten' WHERE owner_id = %s", world.ada.id)
    for agent, scope in ((pantry, Scope.GLOBAL), (quiet, Scope.AGENT)):
        await world.memory.agents.update(ADMIN, agent, AgentUpdate(memory_scope=scope))
    ada, memories = as_actor(world.ada), world.memory.memories
    space = await world.memory.spaces.create(ada, SpaceCreate(name="The garden"))
    for actor, text, place in (
        (as_actor(world.ada, pantry), "Told to Pantry: Ada likes figs.", {}),
        (as_actor(world.ada, quiet), "Told to Quiet Hour: Ada sleeps badly.", {}),
        (ada, "Told to nobody: Ada rows at dawn.", {}),
        (ada, "In the garden: the pear blooms in April.", {"space_id": space.id}),
    ):
        await memories.remember(actor, MemoryCreate(content=text, allow_similar=True, **place))


async def test_two_agents_are_compared_by_what_each_may_read(world: World) -> None:
    """Only here, only there, both; counted as the access rule says for each."""
    await written(world)
    ada, look = as_actor(world.ada), world.memory.agent_memory
    pantry, quiet = world.agents["Pantry"].id, world.agents["Quiet Hour"].id
    both = await look.compare(ada, pantry, quiet)
    assert contents(both.only_left) == ["Told to Pantry:", "Told to nobody:"]
    assert contents(both.only_right) == ["Told to Quiet"]
    assert contents(both.both) == ["In the garden:"]
    one = await look.compare(ada, pantry, quiet, limit=1)
    assert (one.only_left.count, len(one.only_left.items)) == (2, 1)
    cards = {card.config.agent.name: card for card in (await look.cards(ada)).items}
    known = {name: (card.known, card.private) for name, card in cards.items()}
    assert known == {"Pantry": (3, 0), "Quiet Hour": (2, 1)}
    switched = {name: (card.vanish, card.appear) for name, card in cards.items()}
    assert switched == {"Pantry": (2, 0), "Quiet Hour": (1, 2)}
    for agent, card in ((pantry, cards["Pantry"]), (quiet, cards["Quiet Hour"])):
        listed = await world.memory.memories.list(as_actor(world.ada, agent))
        own = [memory for memory in listed.items if memory.user_id == world.ada.id]
        assert len(own) == card.known
        assert card.used_at is not None
    with pytest.raises(NotFound):
        await look.compare(ada, pantry, uuid4())
    with pytest.raises(InvalidInput):
        await look.compare(ada, pantry, quiet, limit=501)


async def test_what_expired_left_or_is_somebody_elses_counts_for_nobody(world: World) -> None:
    """Nor does what another member shares, nor a fact in a space that its author has left."""
    await written(world)
    look, ada = world.memory.agent_memory, as_actor(world.ada)
    pantry, quiet = world.agents["Pantry"].id, world.agents["Quiet Hour"].id
    rows("UPDATE memories SET expires_at = now() WHERE content LIKE 'Told to nobody%%'")
    rows("UPDATE memories SET status = 'forgotten' WHERE content LIKE 'Told to Pantry%%'")
    bobs = MemoryCreate(
        content="Bob shares: the gate is green.",
        space_id=world.space,
        visibility=Visibility.SHARED,
    )
    await world.memory.memories.remember(as_actor(world.bob), bobs)
    both = await look.compare(ada, pantry, quiet)
    assert contents(both.only_left) == []
    assert contents(both.only_right) == ["Told to Quiet"]
    assert contents(both.both) == ["In the garden:"]
    bob = await look.compare(as_actor(world.bob), pantry, quiet)
    assert not any("Ada" in m.content for p in (bob.only_left, bob.only_right, bob.both)
                   for m in p.items)  # fmt: skip


async def test_a_preview_is_what_the_switch_then_does(world: World) -> None:
    """Each way, with counts and lists; and it changes nothing itself."""
    await written(world)
    look, ada = world.memory.agent_memory, as_actor(world.ada)
    quiet = world.agents["Quiet Hour"].id
    before = rows("SELECT * FROM memories ORDER BY id"), rows("SELECT * FROM memory_preferences")
    change = await look.preview(ada, quiet, Scope.GLOBAL)
    assert (rows("SELECT * FROM memories ORDER BY id"),
            rows("SELECT * FROM memory_preferences")) == before  # fmt: skip
    assert contents(change.vanish) == ["Told to Quiet"]
    assert contents(change.appear) == ["Told to Pantry:", "Told to nobody:"]
    assert (change.stay, change.copies) == (1, 1)
    await look.set_scope(ada, quiet, Scope.GLOBAL)
    card = await look.card(ada, quiet)
    assert (card.known, card.vanish, card.appear) == (3, 2, 1)
    back = await look.preview(ada, quiet, Scope.AGENT)
    assert contents(back.appear) == ["Told to Quiet"]
    same = await look.preview(ada, quiet, Scope.GLOBAL)
    assert (same.vanish.count, same.appear.count, same.copies) == (0, 0, 0)


async def test_where_the_policy_decides_no_switch_changes_anything(world: World) -> None:
    """The preview says so, instead of what a preference alone would do."""
    await written(world)
    policy = PolicyUpdate(allow_agent_specific_memory_globally=False)
    await world.memory.policies.set(ADMIN, policy)
    look, ada = world.memory.agent_memory, as_actor(world.ada)
    change = await look.preview(ada, world.agents["Quiet Hour"].id, Scope.AGENT)
    assert (change.vanish.count, change.appear.count) == (0, 0)
    assert [(c.vanish, c.appear) for c in (await look.cards(ada)).items] == [(0, 0), (0, 0)]


async def test_a_switch_asks_first_and_takes_copies_along(world: World, ada_there: Browser) -> None:
    """On the page: the preview, the switch with a copy, and the undo of each."""
    await written(world)
    quiet = world.agents["Quiet Hour"].id
    agents = f"{base(world)}/agents"
    page = await ada_there.get(agents)
    assert "If you switch it, 1 vanishes and 2 appear." in page
    page = await ada_there.get(f"{agents}/{quiet}/scope?to=global")
    assert "Ada sleeps badly" in page
    assert "Ada rows at dawn" in page
    assert "Switch and copy 1" in page
    html_pages.check(ada_there.page)
    page = await ada_there.post(f"{agents}/{quiet}/scope", scope="global", copy="1")
    assert "Quiet Hour will now use global memories." in page
    assert "1 memory copied." in page
    undos = re.findall(r'action="([^"]+/(?:reset|undo))"', page)
    assert any(one.endswith("/undo") for one in undos)
    assert f"{agents}/{quiet}/reset" in undos
    [undo] = [one for one in undos if one.endswith("/undo")]
    copies = "SELECT count(*) FROM memories WHERE content LIKE 'Told to Quiet%%'"
    assert rows(copies) == [(2,)]
    assert "Undone: 1 memory" in await ada_there.post(undo)
    assert rows(copies) == [(1,)]
    page = await ada_there.post(f"{agents}/{quiet}/reset")
    assert "is back at its default." in page
    await ada_there.get(f"{agents}/{quiet}/scope?to=both", 422)
    part = await ada_there.client.get(
        f"{agents}/{quiet}/scope?to=global", headers={"HX-Request": "true"}
    )
    assert "<h1" not in part.text
    assert "Not changed yet." in part.text


async def test_the_page_lists_both_agents_side_by_side(world: World, ada_there: Browser) -> None:
    """Any two of them; without a choice the first two."""
    await written(world)
    pantry, quiet = world.agents["Pantry"].id, world.agents["Quiet Hour"].id
    where = f"{base(world)}/agents/compare"
    assert "What they know about you" in await ada_there.get(where)
    page = await ada_there.get(f"{where}?left={quiet}&right={pantry}")
    assert page.index("Ada sleeps badly") < page.index("Ada likes figs") < page.index("pear")
    html_pages.check(ada_there.page)
    await ada_there.get(f"{where}?left={uuid4()}", 404)
    await ada_there.get(f"{where}?left=x", 422)
