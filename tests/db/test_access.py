"""The visibility rule in SQL and the one in Python are one rule."""

from dataclasses import dataclass
from itertools import product
from uuid import UUID, uuid4

import pytest
from helpers import person, rows
from sqlalchemy import text

from remembrancer import Actor, AgentCreate, Remembrancer, Role, SpaceCreate, as_actor
from remembrancer.access import (
    NAMESPACE,
    Placement,
    Scope,
    Viewer,
    Visibility,
    can_see,
    effective_scope,
    is_told,
    told_in,
    viewer_binds,
    visible,
)
from remembrancer.ids import SHARED_OWNER, short_id


@dataclass(frozen=True)
class World:
    """Two people, two agents, a space of mine and one of somebody else's, rows everywhere."""

    memory: Remembrancer
    me: UUID
    other: UUID
    a: UUID
    b: UUID
    mine: UUID
    theirs: UUID
    placed: dict[str, Placement]

    async def seen_by(self, user: UUID | None, agent: UUID | None) -> set[str]:
        """Ids that the SQL rule lets through, behind row-level security."""
        actor = Actor(Role.SERVICE, user_id=user, agent_id=agent)
        query = text(f"SELECT id FROM memories AS m WHERE {visible('m')}")
        async with self.memory.database.transaction(actor) as (connection, _):
            return set((await connection.execute(query, viewer_binds(actor))).scalars())

    def expected(self, viewer: Viewer) -> set[str]:
        """Ids that the Python rule lets through."""
        return {id_ for id_, place in self.placed.items() if can_see(viewer, place)}


@pytest.fixture
async def world(memory: Remembrancer) -> World:
    me, other = [(await person(memory, name)).id for name in ("Me", "Other")]
    a, b = [
        (await memory.agents.create(as_actor(), AgentCreate(name=name))).id for name in ("A", "B")
    ]
    ours = SpaceCreate(name="ours", member_ids=[other])
    mine = (await memory.spaces.create(as_actor(me), ours)).id
    theirs = (await memory.spaces.create(as_actor(other), SpaceCreate(name="theirs"))).id
    placed = {
        short_id(): Placement(*place)
        for place in product(
            (me, other, SHARED_OWNER), (None, a, b), (None, mine, theirs), Visibility
        )
    }
    for id_, place in placed.items():
        rows(
            "INSERT INTO memories (id, owner_id, agent_id, space_id, visibility, kind, category,"
            " content, content_hash, tokens, importance)"
            " VALUES (%s, %s, %s, %s, %s, 'fact', 'other', %s, %s, 1, 0.5)",
            *(id_, place.owner_id, place.agent_id, place.space_id, place.visibility),
            *(id_, id_.encode()),
        )
    return World(memory, me, other, a, b, mine, theirs, placed)


FACTS = list(product((True, False), (None, True, False), (None, True, False), Scope))


async def _decide(
    world: World, policy: bool, preference: bool | None, toggle: bool | None, default: Scope
) -> None:
    rows("UPDATE memory_policy SET allow_agent_specific_memory = %s", policy)
    rows("UPDATE users SET allow_agent_specific_memory = %s WHERE id = %s", toggle, world.me)
    rows("UPDATE agents SET memory_scope = %s WHERE id = %s", default, world.a)
    rows("DELETE FROM memory_preferences")
    if preference is not None:
        rows(
            "INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory)"
            " VALUES (%s, %s, %s, %s)",
            *(world.me, world.a, uuid4(), preference),
        )


async def test_sql_and_python_agree_for_every_policy_preference_toggle_and_default(
    world: World,
) -> None:
    """Whatever decides the scope, both rules name one namespace and show the same memories."""
    for policy, preference, toggle, default in FACTS:
        await _decide(world, policy, preference, toggle, default)
        scope = effective_scope(
            policy_allows=policy, preference=preference, toggle=toggle, agent_default=default
        ).scope
        actor = Actor(Role.SERVICE, user_id=world.me, agent_id=world.a)
        async with world.memory.database.transaction(actor) as (connection, _):
            query = text(f"SELECT {NAMESPACE}")
            namespace = (await connection.execute(query, viewer_binds(actor))).scalar()
        assert namespace == (world.a if scope is Scope.AGENT else None)
        viewer = Viewer(world.me, world.a, scope, frozenset({world.mine}))
        assert await world.seen_by(world.me, world.a) == world.expected(viewer)


@pytest.mark.parametrize("agent", [None, "a", "b"])
@pytest.mark.parametrize("user", [None, "me", "other", "stranger"])
async def test_sql_and_python_agree_for_every_user_and_agent(
    world: World, user: str | None, agent: str | None
) -> None:
    """For anybody through any agent, both rules show the same memories."""
    user_id = {"me": world.me, "other": world.other, "stranger": uuid4()}.get(user or "")
    agent_id = {"a": world.a, "b": world.b}.get(agent or "")
    spaces = {"me": {world.mine}, "other": {world.mine, world.theirs}}.get(user or "", set())
    viewer = Viewer(user_id, agent_id, Scope.AGENT if agent else None, frozenset(spaces))
    if user == "stranger":
        # The store knows nothing of a stranger; all that is left to see is nobody's.
        assert {world.placed[i].owner_id for i in world.expected(viewer)} == {SHARED_OWNER}
    assert await world.seen_by(user_id, agent_id) == world.expected(viewer)


async def test_the_two_namespaces_never_mix(world: World) -> None:
    """With agent scope only the agent's memories are read, with global scope only the others."""
    own = {
        id_: place
        for id_, place in world.placed.items()
        if place.owner_id == world.me and place.space_id is None
    }
    for default, agents in ((Scope.AGENT, {world.a}), (Scope.GLOBAL, {None})):
        await _decide(world, True, None, None, default)
        seen = await world.seen_by(world.me, world.a)
        assert {own[i].agent_id for i in seen if i in own} == agents


async def test_what_is_private_in_a_space_obeys_the_effective_scope(world: World) -> None:
    """Of an author's private facts, those of the agent in agent scope, and those of no agent."""
    own = {
        id_: place
        for id_, place in world.placed.items()
        if place.owner_id == world.me
        and place.space_id == world.mine
        and place.visibility is Visibility.PRIVATE
    }
    for default, agents in ((Scope.AGENT, {None, world.a}), (Scope.GLOBAL, {None})):
        await _decide(world, True, None, None, default)
        seen = await world.seen_by(world.me, world.a)
        assert {own[i].agent_id for i in seen if i in own} == agents


async def test_sql_and_python_agree_on_what_is_told_in_a_conversation(world: World) -> None:
    """Of a space, of another one, of none: what lies outside of spaces, and in this one."""
    for space in (None, world.mine, world.theirs):
        query = text(f"SELECT id FROM memories AS m WHERE {told_in('m', 'CAST(:space AS uuid)')}")
        async with world.memory.database.system() as connection:
            ids = set((await connection.execute(query, {"space": space})).scalars())
        assert ids == {id_ for id_, place in world.placed.items() if is_told(place, space)}
        assert {world.placed[i].space_id for i in ids} == {None, space}


async def test_a_private_fact_of_a_space_is_for_its_author_alone(world: World) -> None:
    """Membership shows what is shared in a space, and no more."""
    seen = await world.seen_by(world.me, None)
    foreign = [world.placed[i] for i in seen if world.placed[i].owner_id == world.other]
    assert foreign
    for place in foreign:
        assert place.space_id == world.mine
        assert place.visibility is Visibility.SHARED


async def test_nobody_sees_only_shared_knowledge(world: World) -> None:
    """Default deny: without a user, nothing but what is nobody's in particular."""
    for agent in (None, world.a):
        seen = await world.seen_by(None, agent)
        assert {world.placed[i].owner_id for i in seen} == {SHARED_OWNER}
