"""The endpoints that other services call by name: facts of legacies, and known users."""

from typing import Any
from uuid import uuid4

import pytest
from entry_points import Door, refusals
from helpers import Api, person, rows

from remembrancer import (
    Agent,
    AgentCreate,
    ConversationCreate,
    Remembrancer,
    SpaceCreate,
    User,
    as_actor,
)


@pytest.fixture
async def legacy(memory: Remembrancer, ada: User, bob: User) -> str:
    """A legacy of which Ada and Bob are members."""
    made = SpaceCreate(name="Gran", member_ids=[bob.id])
    return str((await memory.spaces.create(as_actor(ada), made)).id)


async def _send(
    api: Api, method: str, path: str, key: dict[str, str], status: int, **request: Any
) -> Any:
    response = await api.client.request(method, path, headers=key, **request)
    assert response.status_code == status, response.text
    return response.json() if response.content else None


async def test_facts_of_a_legacy_live_at_their_paths(
    api: Api, memory: Remembrancer, legacy: str, ada: User, bob: User
) -> None:
    """Kept, listed, shared, hidden and deleted by user keys, each of which is its user."""
    mine, theirs = await api.key_of(ada), await api.key_of(bob)
    path = f"/api/ai/legacies/{legacy}/facts"
    opened = await memory.conversations.open(as_actor(ada), ConversationCreate())
    body = {
        "content": "Gran taught at the school.",
        "category": "occupation",
        "conversation_id": str(opened.id),
    }
    fact = await _send(api, "POST", path, mine, 201, json=body)
    assert fact["visibility"] == "private"
    assert fact["source_conversation_id"] == str(opened.id)
    assert fact["mine"] is True
    assert fact["extracted_at"]
    assert fact["updated_at"]
    again = await _send(api, "POST", path, mine, 200, json=body)
    assert again["id"] == fact["id"]
    one = f"/api/ai/facts/{fact['id']}"
    assert (await _send(api, "GET", path, theirs, 200))["items"] == []
    for visibility, seen in (("shared", [fact["id"]]), ("private", []), ("shared", [fact["id"]])):
        change = {"visibility": visibility}
        changed = await _send(api, "PATCH", f"{one}/visibility", mine, 200, json=change)
        assert changed["visibility"] == visibility
        listed = await _send(api, "GET", path, theirs, 200)
        assert [each["id"] for each in listed["items"]] == seen
        assert all(each["mine"] is False for each in listed["items"])
    refused = await _send(
        api, "PATCH", f"{one}/visibility", theirs, 404, json={"visibility": "private"}
    )
    assert refused["errors"][0]["field"] == "fact_id"
    await _send(api, "DELETE", one, theirs, 404)
    assert len((await _send(api, "GET", path, theirs, 200))["items"]) == 1
    await _send(api, "DELETE", one, mine, 204)
    assert (await _send(api, "GET", path, mine, 200))["items"] == []
    await _send(api, "DELETE", one, mine, 404)


async def test_a_service_names_the_user_and_a_stranger_finds_no_legacy(
    api: Api, memory: Remembrancer, legacy: str, ada: User
) -> None:
    """`user_id` in the query, as everywhere."""
    path = f"/api/ai/legacies/{legacy}/facts"
    asked = {"user_id": str(ada.id)}
    body = {"content": "Gran sang."}
    await _send(api, "POST", path, api.service, 201, params=asked, json=body)
    assert len((await _send(api, "GET", path, api.service, 200, params=asked))["items"]) == 1
    refused = await _send(api, "GET", path, api.service, 422)
    assert refused["errors"][0]["field"] == "user_id"
    stranger = {"user_id": str((await person(memory, "Cleo")).id)}
    for method in ("GET", "POST"):
        refused = await _send(api, method, path, api.service, 404, params=stranger, json=body)
        assert refused["errors"][0]["field"] == "legacy_id"


async def test_a_memory_outside_legacies_is_no_fact(
    api: Api, memory: Remembrancer, ada: User
) -> None:
    """Its own paths change it; here it does not exist."""
    made = await memory.remember("Ada likes tea.", user=ada)
    key = await api.key_of(ada)
    one = f"/api/ai/facts/{made.memory.id}"
    await _send(api, "PATCH", f"{one}/visibility", key, 404, json={"visibility": "private"})
    await _send(api, "DELETE", one, key, 404)
    assert rows("SELECT status FROM memories") == [("active",)]


async def test_known_users_come_with_links_and_counts(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """In the order they were first seen, each with the memories that the agent reads: in agent
    scope its own, in global scope those for every agent."""
    other = await memory.agents.create(as_actor(), AgentCreate(name="Other"))
    await memory.remember("For every agent.", user=ada)
    await memory.remember("For the helper.", user=ada, agent=agent)
    await memory.remember("For the other one.", user=ada, agent=other)
    gone = await memory.remember("Forgotten.", user=ada)
    await memory.memories.forget(as_actor(ada), gone.memory.id)
    await memory.remember("Shared knowledge.", shared=True)
    everybody = await door.known_users()
    assert everybody["total"] == 2
    assert [(one["display_name"], one["memory_count"]) for one in everybody["users"]] == [
        ("Ada", 3),
        ("Bob", 0),
    ]
    assert everybody["users"][0]["platform_links"] == [
        {"platform": "discord", "platform_user_id": "Ada-1"}
    ]
    assert everybody["users"][0].keys() == {
        "id", "display_name", "created_at", "platform_links", "memory_count"
    }  # fmt: skip

    async def counted() -> list[int]:
        return [one["memory_count"] for one in (await door.known_users(agent))["users"]]

    assert await counted() == [1, 0]
    await door.prefer(ada, agent, False)
    await memory.remember("For every agent, too.", user=ada)
    assert await counted() == [2, 0]
    assert await counted() == [(await door.listed(user=ada, agent=agent, shared=False))["total"], 0]
    page = await door.known_users(agent, limit=1, offset=1)
    assert [one["id"] for one in page["users"]] == [str(bob.id)]
    assert page["total"] == 2
    assert (await door.known_users(offset=5))["users"] == []


async def test_known_users_are_for_staff_and_merged_ones_are_one(
    door: Door, ada: User, bob: User
) -> None:
    """403 for a user; 404 for an unknown agent; 422 for a page that cannot be."""
    [forbidden, unknown, large, negative] = await refusals(
        (await door.of(ada)).known_users(),
        door.known_users(uuid4()),
        door.known_users(limit=201),
        door.known_users(offset=-1),
    )
    assert forbidden.status == 403
    assert (unknown.status, unknown.fields) == (404, ["agent_id"])
    assert (large.fields, negative.fields) == (["limit"], ["offset"])
    await door.merge(ada, bob)
    [one] = (await door.known_users())["users"]
    assert len(one["platform_links"]) == 2


async def test_memories_of_an_agent_and_a_user_are_listed_and_searched(
    api: Api, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """The user's with this agent and shared knowledge; without a user, shared knowledge alone."""
    told, shared = "Ada moves the auth system to JWT.", "The auth system of the house is old."
    await memory.remember(told, user=ada, agent=agent)
    await memory.remember("Ada's auth token for the door is blue.", user=ada)
    await memory.remember("Bob runs another auth system.", user=bob, agent=agent)
    await memory.remember(shared, shared=True)
    whom = {"agent_id": str(agent.id), "user_id": str(ada.id)}

    async def listed(**query: Any) -> Any:
        return await _send(api, "GET", "/api/agents/memories", api.service, 200, params=query)

    async def found(**query: Any) -> set[str]:
        path = "/api/agents/memories/search"
        answer = await _send(api, "GET", path, api.service, 200, params=query)
        return {hit["content"] for hit in answer["hits"]}

    assert {one["content"] for one in (await listed(**whom, limit=50))["memories"]} == {
        told,
        shared,
    }
    page = await listed(**whom, limit=1)
    assert (len(page["memories"]), page["total"]) == (1, 2)
    assert await found(**whom, q="auth system") == {told, shared}
    assert len(await found(**whom, q="auth system", limit=1)) == 1
    alone = {"agent_id": str(agent.id)}
    assert [one["content"] for one in (await listed(**alone))["memories"]] == [shared]
    assert await found(**alone, q="auth system") == {shared}
