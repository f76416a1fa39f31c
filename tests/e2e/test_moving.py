"""An agent's memories go from one scope to the other when asked to, and come back."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from entry_points import Door, refusals
from helpers import audit_lines, rows

from remembrancer import Agent, AgentCreate, Remembrancer, SpaceCreate, User, as_actor

TABLES = ("memories", "memory_versions", "mentions", "recall_items", "postings")


@pytest.fixture
async def other(memory: Remembrancer) -> Agent:
    return await memory.agents.create(as_actor(), AgentCreate(name="Other"))


def everything() -> dict[str, list[Any]]:
    """All that is stored of memories, for a comparison."""
    unlike = {"memories": "'access_count', 'last_accessed_at'", "recall_items": "'embedding'"}
    return {
        table: rows(
            f"SELECT to_jsonb(t) - ARRAY[{unlike.get(table, chr(39) * 2)}]::text[] AS row"
            f" FROM {table} AS t ORDER BY 1"
        )
        for table in TABLES
    }


async def under(door: Door, user: User, agent: Agent, allow: bool, query: str) -> list[str]:
    """What the agent recalls of the user in one of the scopes."""
    await door.prefer(user, agent, allow)
    return sorted(await door.contents(query, user=user, agent=agent))


async def test_a_changed_preference_moves_nothing(door: Door, ada: User, agent: Agent) -> None:
    """What was remembered stays where it was written, row for row."""
    await door.remember("Ada grows dill.", user=ada, agent=agent)
    await door.remember("Ada grows mint.", user=ada)
    before = everything()
    for allow in (False, True, False):
        await door.prefer(ada, agent, allow)
    await door.reset_preference(ada, agent)
    await (await door.as_admin()).set_policy(False)
    assert everything() == before


async def test_an_agents_own_memories_become_global_and_come_back(
    door: Door, ada: User, bob: User, agent: Agent, other: Agent
) -> None:
    """A preview counts, the move moves with one's own alone, undo restores every row."""
    mine = [
        await door.remember(f"Ada likes herb {n}.", user=ada, agent=agent, allow_similar=True)
        for n in range(3)
    ]
    await door.update(mine[0]["memory"]["id"], user=ada, content="Ada likes lovage.")
    await door.remember("Ada likes her other herb.", user=ada, agent=other)
    await door.remember("Bob likes herbs.", user=bob, agent=agent)
    forgotten = await door.remember("Ada likes no herb.", user=ada, agent=agent)
    await door.forget(forgotten["memory"]["id"], user=ada)
    before = everything()
    preview = await door.move(ada, agent, to="global")
    assert preview == {
        "to": "global",
        "copied": False,
        "dry_run": True,
        "moved": 3,
        "merged": 0,
        "undo_id": None,
        "effective_scope": "agent",
    }
    assert everything() == before

    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (moved["moved"], moved["merged"], moved["dry_run"]) == (3, 0, False)
    wanted = ["Ada likes herb 1.", "Ada likes herb 2.", "Ada likes lovage."]
    assert await under(door, ada, agent, True, "herbs") == []
    assert await under(door, ada, agent, False, "herbs") == wanted
    assert await under(door, ada, other, False, "herbs") == wanted
    assert await door.contents("herbs", user=bob, agent=agent) == ["Bob likes herbs."]
    assert (await door.move(ada, agent, to="global", dry_run=False))["undo_id"] is None

    undone = await door.undo_move(ada, moved["undo_id"])
    assert undone == {"returned": 3, "stayed": 0}
    assert everything() == before
    [again] = await refusals(door.undo_move(ada, moved["undo_id"]))
    assert again.status == 409
    actions = [(line.action, line.owner_id) for line in audit_lines() if "move" in line.action]
    assert actions == [("memory.move", ada.id), ("memory.move.undo", ada.id)]


async def test_global_memories_that_an_agent_wrote_become_its_own(
    door: Door, ada: User, agent: Agent, other: Agent
) -> None:
    """First told to this agent: others' stay, even if it heard them later."""
    for one in (agent, other):
        await door.prefer(ada, one, False)
    await door.remember("Ada keeps bees.", user=ada, agent=agent)
    await door.remember("Ada keeps hens.", user=ada, agent=other)
    await door.remember("Ada keeps goats.", user=ada)
    await door.remember("Ada keeps bees.", user=ada, agent=other)
    await door.remember("Ada keeps hens.", user=ada, agent=agent)
    before = everything()
    moved = await door.move(ada, agent, to="agent", dry_run=False)
    assert (moved["moved"], moved["merged"], moved["effective_scope"]) == (1, 0, "global")
    assert await under(door, ada, agent, True, "keeps") == ["Ada keeps bees."]
    assert await under(door, ada, other, False, "keeps") == ["Ada keeps goats.", "Ada keeps hens."]
    await door.undo_move(ada, moved["undo_id"])
    assert everything() == before


async def test_what_is_known_there_becomes_a_mention_of_it(
    door: Door, ada: User, agent: Agent
) -> None:
    """In the same words, or of another kind; the moved one is inactive until undone."""
    there = await door.remember("Ada sings alto.", user=ada)
    kind = await door.remember("Ada was born in May.", user=ada, kind="identity")
    own = await door.remember("ada  sings alto", user=ada, agent=agent)
    await door.remember("Ada sings alto", user=ada, agent=agent)
    await door.remember("Ada was born in May.", user=ada, agent=agent, kind="fact")
    await door.remember("Ada plays chess.", user=ada, agent=agent)
    before = everything()
    preview = await door.move(ada, agent, to="global")
    assert (preview["moved"], preview["merged"]) == (1, 2)
    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (moved["moved"], moved["merged"]) == (1, 2)
    kept = await door.read(there["memory"]["id"], user=ada)
    assert kept["mention_count"] == 3
    assert {m["wording"] for m in kept["mentions"]} == {
        None, "ada  sings alto", "Ada sings alto",
    }  # fmt: skip
    assert {m["agent_id"] for m in kept["mentions"]} == {None, str(agent.id)}
    assert (await door.read(kind["memory"]["id"], user=ada))["mention_count"] == 2
    assert (await door.read(own["memory"]["id"], user=ada))["status"] == "inactive"
    assert await under(door, ada, agent, False, "sings alto") == sorted(
        ["Ada plays chess.", "Ada sings alto.", "Ada was born in May."]
    )
    assert await door.undo_move(ada, moved["undo_id"]) == {"returned": 3, "stayed": 0}
    assert everything() == before


async def test_a_copy_is_a_memory_of_its_own(door: Door, ada: User, agent: Agent) -> None:
    """New id, all versions and mentions; found by both arms; copying again adds nothing."""
    first = await door.remember("Ada lives in Rouen.", user=ada, agent=agent)
    memory_id = first["memory"]["id"]
    await door.remember("ada lives in Rouen", user=ada, agent=agent)
    await door.update(memory_id, user=ada, content="Ada lives in Lille.")
    copied = await door.move(ada, agent, to="global", copy=True, dry_run=False)
    assert (copied["moved"], copied["merged"], copied["copied"]) == (1, 0, True)
    assert await under(door, ada, agent, True, "where does Ada live") == ["Ada lives in Lille."]
    await door.prefer(ada, agent, False)
    [hit] = (await door.recall("Ada lives in Lille.", user=ada, agent=agent))["hits"]
    assert hit["id"] != memory_id
    assert hit["reasons"]["arms"].keys() >= {"dense", "keyword"}
    told = await door.read(hit["id"], user=ada)
    same = await door.read(memory_id, user=ada)
    for field in ("content", "version", "mention_count", "created_at", "importance", "kind"):
        assert told[field] == same[field]
    assert [v["content"] for v in told["versions"]] == [
        "Ada lives in Rouen.",
        "Ada lives in Lille.",
    ]
    assert len(told["mentions"]) == len(same["mentions"]) == 2
    await door.update(memory_id, user=ada, content="Ada lives in Metz.")
    assert (await door.read(hit["id"], user=ada))["content"] == "Ada lives in Lille."

    await door.prefer(ada, agent, True)
    repeated = await door.remember("Ada lives in Lille.", user=ada, agent=agent)
    assert repeated["outcome"] == "created"
    twice = await door.move(ada, agent, to="global", copy=True, dry_run=False)
    assert (twice["moved"], twice["merged"]) == (1, 1)
    assert (await door.read(hit["id"], user=ada))["mention_count"] == 3
    await door.move(ada, agent, to="global", copy=True, dry_run=False)
    assert (await door.read(hit["id"], user=ada))["mention_count"] == 3
    assert (await door.listed(user=ada, agent=agent))["total"] == 2


async def test_a_copy_is_undone_unless_it_has_changed_since(
    door: Door, ada: User, agent: Agent
) -> None:
    """Nothing of an unchanged copy is left; one that was edited is somebody's work and stays."""
    await door.remember("Ada owns a kayak.", user=ada, agent=agent)
    await door.remember("Ada owns a sledge.", user=ada, agent=agent)
    before = everything()
    copied = await door.move(ada, agent, to="global", copy=True, dry_run=False)
    assert await door.undo_move(ada, copied["undo_id"]) == {"returned": 2, "stayed": 0}
    assert everything() == before

    copied = await door.move(ada, agent, to="global", copy=True, dry_run=False)
    await door.prefer(ada, agent, False)
    [hit, *_] = (await door.recall("kayak", user=ada, agent=agent))["hits"]
    await door.update(hit["id"], user=ada, content="Ada sold her kayak.")
    assert await door.undo_move(ada, copied["undo_id"]) == {"returned": 1, "stayed": 1}
    assert await door.contents("kayak", user=ada, agent=agent) == ["Ada sold her kayak."]


async def test_what_was_remembered_anew_meanwhile_is_not_doubled_by_an_undo(
    door: Door, ada: User, agent: Agent
) -> None:
    """A memory whose statement is in its old place again stays; a forgotten one goes back."""
    await door.remember("Ada skis.", user=ada, agent=agent)
    swims = await door.remember("Ada swims.", user=ada, agent=agent)
    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (await door.remember("Ada skis.", user=ada, agent=agent))["outcome"] == "created"
    await door.forget(swims["memory"]["id"], user=ada)
    assert await door.undo_move(ada, moved["undo_id"]) == {"returned": 1, "stayed": 1}
    assert await under(door, ada, agent, True, "sports") == ["Ada skis."]
    assert await under(door, ada, agent, False, "sports") == ["Ada skis."]
    restored = await door.restore(swims["memory"]["id"], user=ada)
    assert restored["agent_id"] == str(agent.id)


async def test_facts_in_spaces_and_shared_knowledge_do_not_move(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Only a user's own memories outside spaces lie in a scope."""
    space = await memory.spaces.create(as_actor(ada), SpaceCreate(name="boat"))
    about = {"space_id": str(space.id), "scope": "agent"}
    await door.remember("The boat leaks.", user=ada, agent=agent, **about)
    await door.remember("Boats float.", user=ada, agent=agent, shared=True, scope="agent")
    preview = await door.move(ada, agent, to="global")
    assert (preview["moved"], preview["merged"]) == (0, 0)


async def test_a_retired_agent_can_give_and_not_take(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Its memories stay with their people, who may want them for the others."""
    await door.remember("Ada knits.", user=ada, agent=agent)
    await memory.agents.delete(as_actor(), agent.id)
    [refusal] = await refusals(door.move(ada, agent, to="agent"))
    assert (refusal.status, refusal.fields) == (404, ["agent_id"])
    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (moved["moved"], moved["effective_scope"]) == (1, None)
    assert (await door.listed(user=ada))["memories"][0]["agent_id"] is None


async def test_a_move_sent_twice_is_carried_out_once(door: Door, ada: User, agent: Agent) -> None:
    """The same key gives the same answer, with the same id to undo it by."""
    await door.remember("Ada paints.", user=ada, agent=agent)
    wanted: dict[str, Any] = {"to": "global", "dry_run": False, "key": "once"}
    moved = await door.move(ada, agent, **wanted)
    await door.remember("Ada draws.", user=ada, agent=agent)
    assert await door.move(ada, agent, **wanted) == moved
    [other] = await refusals(door.move(ada, agent, to="agent", dry_run=False, key="once"))
    assert other.status == 409


async def test_only_ones_own_moves_are_undone(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Somebody else's id of a move is no move, and neither is that of a merge."""
    await door.remember("Ada paints.", user=ada, agent=agent)
    moved = await door.move(ada, agent, to="global", dry_run=False)
    found = await refusals(
        door.undo_move(bob, moved["undo_id"]),
        door.undo_move(ada, uuid4()),
        door.move(ada, agent, to="nowhere"),
        door.move(ada, agent),
    )
    assert [(r.status, r.fields) for r in found] == [
        (404, ["undo_id"]),
        (404, ["undo_id"]),
        (422, ["to"]),
        (422, ["to"]),
    ]
    assert (await door.undo_move(ada, moved["undo_id"]))["returned"] == 1


async def test_a_move_is_undone_for_whom_its_owner_has_become(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """A merge takes the record of the move along."""
    await door.remember("Bob paints.", user=bob, agent=agent)
    moved = await door.move(bob, agent, to="global", dry_run=False)
    await door.merge(ada, bob)
    assert (await door.undo_move(bob, moved["undo_id"]))["returned"] == 1
    [memory] = (await door.listed(user=ada))["memories"]
    assert memory["agent_id"] == str(agent.id)


async def test_moves_and_writes_at_the_same_moment_lose_and_double_nothing(
    door: Door, ada: User, agent: Agent
) -> None:
    """Whoever comes second finds what the first has done."""
    for n in range(4):
        await door.remember(f"Ada saw film {n}.", user=ada, agent=agent)
    answers = await asyncio.gather(
        *(door.move(ada, agent, to="global", dry_run=False) for _ in range(3)),
        *(door.remember(f"Ada saw film {n}.", user=ada, agent=agent) for n in range(4)),
        *(door.remember(f"Ada saw film {n}.", user=ada) for n in range(4)),
    )
    assert all(answers)
    await door.move(ada, agent, to="global", dry_run=False)
    listed = (await door.listed(user=ada))["memories"]
    assert sorted(m["content"] for m in listed) == [f"Ada saw film {n}." for n in range(4)]
    assert {m["agent_id"] for m in listed} == {None}
    assert {m["mention_count"] for m in listed} == {3}
