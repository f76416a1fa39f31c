"""Forget many memories at once, and undo it."""

from typing import Any
from uuid import uuid4

import pytest
from entry_points import Door, refusals
from helpers import audit_lines, rows

from remembrancer import Agent, Remembrancer, User, as_actor

TRIPS = [f"Ada takes the train to {city}." for city in ("Oslo", "Bergen", "Voss")]


@pytest.fixture
async def trips(door: Door, ada: User) -> list[str]:
    """Ids of three memories; a fourth one stays."""
    statements = [
        {"content": text, "kind": "event", "external_id": f"trip-{n}", "metadata": {"trip": n}}
        for n, text in enumerate(TRIPS)
    ]
    stays = {"content": "Ada has a red boat."}
    stored = await door.remember_many([*statements, stays], user=ada)
    return [result["memory"]["id"] for result in stored[:3]]


async def contents(door: Door, user: User) -> set[str]:
    return {memory["content"] for memory in (await door.listed(user=user))["memories"]}


async def test_memories_are_forgotten_by_id_and_come_back_at_once(
    door: Door, ada: User, trips: list[str]
) -> None:
    """Ids of both kinds, one twice; a dry run counts and changes nothing."""
    before = await contents(door, ada)
    named = [trips[0], "external:trip-1", trips[0], trips[1]]
    dry = await door.forget_many(named, user=ada, dry_run=True)
    assert (dry["memories"], dry["undo_id"], dry["not_found"]) == (2, None, [])
    assert await contents(door, ada) == before
    done = await door.forget_many(named, user=ada)
    assert done == {**dry, "dry_run": False, "undo_id": done["undo_id"]}
    assert await contents(door, ada) == {TRIPS[2], "Ada has a red boat."}
    assert set(await door.contents("train", user=ada)) == {TRIPS[2], "Ada has a red boat."}
    lines = [line for line in audit_lines() if "memory.forget" in str(line)]
    assert len(lines) == 1
    assert all(memory_id in str(lines) for memory_id in trips[:2])
    back = await door.undo_forget(done["undo_id"], user=ada)
    assert back == {"returned": 2, "stayed": 0}
    assert await contents(door, ada) == before
    assert set(TRIPS) <= set(await door.contents("train", user=ada))
    [again] = await refusals(door.undo_forget(done["undo_id"], user=ada))
    assert (again.status, again.fields) == (409, ["undo_id"])


@pytest.mark.parametrize(
    ("filters", "gone"),
    [
        ({"metadata": {"trip": {"gte": 1}}}, set(TRIPS[1:])),
        ({"kinds": ["event"]}, set(TRIPS)),
        ({"external_ids": ["trip-0", "trip-9"]}, {TRIPS[0]}),
        ({"text": "boat", "categories": ["other"]}, {"Ada has a red boat."}),
        ({"until": "2020-01-01T00:00:00Z"}, set()),
        ({"since": "2020-01-01T00:00:00Z"}, {*TRIPS, "Ada has a red boat."}),
    ],
)
async def test_memories_are_forgotten_by_filters(
    door: Door, ada: User, trips: list[str], filters: dict[str, Any], gone: set[str]
) -> None:
    """What matches, and nothing else."""
    before = await contents(door, ada)
    assert (await door.forget_many(user=ada, dry_run=True, **filters))["memories"] == len(gone)
    result = await door.forget_many(user=ada, **filters)
    assert (result["memories"], result["remaining"]) == (len(gone), 0)
    assert await contents(door, ada) == before - gone


async def test_messages_that_say_it_go_along_and_come_back(
    door: Door, ada: User, trips: list[str]
) -> None:
    """As with one memory: of two that rest on a message, both must be back."""
    talk = await door.open(user=ada)
    said = [{"content": TRIPS[0]}, {"content": TRIPS[1]}, {"content": "Ada has a red boat."}]
    await door.say(talk["id"], said, user=ada)
    result = await door.forget_many(trips, user=ada)
    assert (result["memories"], result["messages"]) == (3, 2)
    recalled = await door.recall("train", user=ada, sources=["message"])
    assert {hit["content"] for hit in recalled["hits"]} == {"Ada has a red boat."}
    await door.undo_forget(result["undo_id"], user=ada)
    recalled = await door.recall("train", user=ada, sources=["message"])
    assert set(TRIPS[:2]) <= {hit["content"] for hit in recalled["hits"]}
    assert rows("SELECT count(*) FROM withheld_messages") == [(0,)]


async def test_ids_of_others_are_unknown_and_nothing_of_theirs_changes(
    door: Door, ada: User, bob: User, trips: list[str]
) -> None:
    """Bob's request answers for Ada's ids as for none; the log has the attempt."""
    own = await door.remember("Bob rows.", user=bob)
    unknown = [trips[0], "zzzzzzzz", "external:trip-1", "no id!", ""]
    result = await door.forget_many([own["memory"]["id"], *unknown], user=bob)
    assert (result["memories"], result["not_found"]) == (1, unknown)
    assert len(await contents(door, ada)) == 4
    refused = [line for line in audit_lines() if "refused" in str(line)]
    assert [line.target_ids for line in refused] == [[trips[0], "zzzzzzzz"]]
    undone = await refusals(
        door.undo_forget(result["undo_id"], user=ada), door.undo_forget(uuid4(), user=ada)
    )
    assert {(one.status, *one.fields) for one in undone} == {(404, "undo_id")}
    theirs = await door.of(bob)
    everything = await theirs.forget_many(since="2020-01-01T00:00:00Z")
    assert everything["memories"] == 0
    assert len(await contents(door, ada)) == 4


async def test_shared_knowledge_is_for_who_acts_for_nobody(
    door: Door, ada: User, trips: list[str]
) -> None:
    """A user's filters do not reach it; a service without a user forgets it and undoes that."""
    stored = await door.remember("The kitchen closes at nine.", shared=True)
    mine = await door.forget_many([stored["memory"]["id"]], user=ada)
    assert (mine["memories"], mine["not_found"]) == (0, [stored["memory"]["id"]])
    unseen = await door.forget_many(user=ada, text="kitchen")
    assert (unseen["memories"], unseen["remaining"]) == (0, 0)
    result = await door.forget_many(text="kitchen")
    assert result["memories"] == 1
    assert (await door.undo_forget(result["undo_id"]))["returned"] == 1


async def test_an_undo_leaves_what_changed_since(
    door: Door, ada: User, memory: Remembrancer, trips: list[str]
) -> None:
    """Restored and forgotten again, erased, or said again: these stay as they are."""
    result = await door.forget_many(trips, user=ada)
    await door.restore(trips[0], user=ada)
    await door.forget(trips[0], user=ada)
    await door.erase_memory(trips[1], user=ada, dry_run=False)
    await door.remember(TRIPS[2], user=ada, external_id="trip-2")
    assert await door.undo_forget(result["undo_id"], user=ada) == {"returned": 0, "stayed": 3}
    assert await contents(door, ada) == {TRIPS[2], "Ada has a red boat."}


async def test_a_pending_one_is_pending_again(door: Door, ada: User, memory: Remembrancer) -> None:
    """An undo confirms nothing."""
    made = await door.remember("Ada moves to Rome.", user=ada, pending=True)
    result = await door.forget_many([made["memory"]["id"]], user=ada)
    await door.undo_forget(result["undo_id"], user=ada)
    [pending] = (await memory.review.list(as_actor(ada))).items
    assert (pending.id, pending.status) == (made["memory"]["id"], "pending")


async def test_an_agent_reaches_what_it_sees(
    door: Door, ada: User, agent: Agent, trips: list[str]
) -> None:
    """With its own scope, that alone."""
    await door.prefer(ada, agent, True)
    await door.remember("Ada told the agent.", user=ada, agent=agent)
    everything = {"since": "2020-01-01T00:00:00Z"}
    assert (await door.forget_many(user=ada, agent=agent, **everything))["memories"] == 1
    unseen = await door.forget_many(trips, user=ada, agent=agent)
    assert unseen["not_found"] == trips
    await door.remember("Ada told it again.", user=ada, agent=agent)
    kept = await door.forget_many(user=ada, kept_for=str(agent.id))
    assert kept["memories"] == 1
    assert len(await contents(door, ada)) == 4


async def test_a_repeat_with_its_key_returns_the_first_answer(
    door: Door, ada: User, trips: list[str]
) -> None:
    """So the way back is not lost with a connection."""
    first = await door.forget_many(trips, user=ada, key="once")
    assert await door.forget_many(trips, user=ada, key="once") == first


async def test_a_merge_takes_the_undo_along(
    door: Door, ada: User, bob: User, memory: Remembrancer, trips: list[str]
) -> None:
    """It is the survivor's then."""
    result = await door.forget_many(trips, user=ada)
    await memory.users.merge(as_actor(), bob.id, ada.id)
    assert (await door.undo_forget(result["undo_id"], user=bob))["returned"] == 3


async def test_a_request_is_bounded_and_says_what_is_left(
    memory: Remembrancer, door: Door, ada: User, trips: list[str], monkeypatch: Any
) -> None:
    """The oldest first; too many ids are refused."""
    monkeypatch.setattr(memory.backend.limits, "batch", 2)
    [refused] = await refusals(door.forget_many(trips, user=ada))
    assert (refused.status, refused.fields) == (422, ["memory_ids"])
    result = await door.forget_many(user=ada, kinds=["event"])
    assert (result["memories"], result["remaining"]) == (2, 1)
    assert (await door.forget_many(user=ada, kinds=["event"]))["remaining"] == 0


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "memory_ids"),
        ({"memory_ids": ["a"], "kinds": ["event"]}, "memory_ids"),
        ({"statuses": ["inactive"]}, "filters.statuses"),
        ({"kinds": ["nonsense"]}, "filters.kinds.0"),
        ({"metadata": {"a": {"near": 1}}}, "filters.metadata"),
    ],
)
async def test_what_names_nothing_is_refused(
    door: Door, ada: User, trips: list[str], wrong: dict[str, Any], field: str
) -> None:
    """An empty request forgets nothing."""
    [refused] = await refusals(door.forget_many(user=ada, **wrong))
    assert refused.status == 422
    assert refused.fields[0].startswith(field)
    assert len(await contents(door, ada)) == 4
