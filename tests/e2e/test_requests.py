"""Requests mean what they say: parameters, ids in query and body, names, senders, sources."""

import re
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from entry_points import Door, Refused
from entry_points.base import refusals
from entry_points.rest.base import whom
from fastapi import FastAPI
from helpers import Api, rows
from pages import Browser, World

from remembrancer import (
    Agent,
    ConversationCreate,
    InvalidInput,
    MemberAdd,
    MessageCreate,
    NotFound,
    RecallQuery,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.access import Actor
from remembrancer.client import AsyncClient
from remembrancer.user_names import UNRESOLVED, UserName, parse_user


def name_of(user: User) -> str:
    [link] = user.platform_links
    return f"{link.platform}:{link.platform_user_id}"


# Parameters (case 29) ------------------------------------------------------------------


async def test_every_route_refuses_a_parameter_that_it_does_not_have(
    api: Api, ada: User, application: FastAPI
) -> None:
    """Named, before anything happens; so is one that is given twice."""
    paths = application.openapi()["paths"]
    ids = {"user_id": str(ada.id), "memory_id": "a1B2c3D4", "fact_id": "a1B2c3D4", "job_id": "1"}
    tried = 0
    for path, operations in paths.items():
        for method in operations:
            names = re.findall(r"{(\w+)}", path)
            url = path.format(**{name: ids.get(name, str(uuid4())) for name in names})
            response = await api.client.request(
                method, url, params={"surprise": "1"}, headers=api.admin
            )
            assert response.status_code == 422, (method, path, response.text)
            assert response.headers["content-type"] == "application/problem+json"
            assert [e["field"] for e in response.json()["errors"]] == ["surprise"], (method, path)
            tried += 1
    assert tried > 80


async def test_a_misspelt_parameter_erases_nobody(api: Api, ada: User) -> None:
    """The name is `memories_only`."""
    await api.memory.remember("Ada sings.", user=ada)
    url = f"/api/users/{ada.id}/erase"
    query = {"memory_only": "true", "dry_run": "false", "confirm": str(ada.id)}
    response = await api.client.post(url, params=query, headers=api.admin)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "memory_only"
    twice = await api.client.post(url + "?dry_run=true&dry_run=false", headers=api.admin)
    assert twice.json()["errors"][0]["field"] == "dry_run"
    in_body = await api.client.post(url, json={"dry_run": False}, headers=api.admin)
    assert (in_body.status_code, in_body.json()["errors"][0]["field"]) == (422, "dry_run")
    assert (await api.memory.users.get(as_actor(), ada.id)).id == ada.id
    assert len((await api.memory.recall("sings", user=ada)).hits) == 1


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "/api/memory/?kinds=goal"),
        ("GET", "/api/memory/?importance[gte]=.3"),
        ("POST", "/mcp?user=ada"),
    ],
)
async def test_filters_that_do_not_exist_are_refused(api: Api, method: str, url: str) -> None:
    response = await api.client.request(method, url, headers=api.admin)
    assert response.status_code == 422
    assert response.json()["errors"]


async def test_a_slash_at_the_end_is_no_redirect(api: Api, ada: User) -> None:
    """A redirect has no body: to `curl -s` it looks like success, and nothing is stored."""
    for path in ("/api/memory", "/api/memory/"):
        body = {"content": f"Ada said {path}.", "user_id": str(ada.id)}
        answer = await api.client.post(path, json=body, headers=api.service)
        assert answer.status_code == 201
        assert answer.json()["memory"]["content"] == f"Ada said {path}."
    lists = [
        await api.client.get(path, params=whom(ada), headers=api.service)
        for path in ("/api/memory", "/api/memory/")
    ]
    assert lists[0].json() == lists[1].json()
    assert len(lists[0].json()["memories"]) == 2
    users = await api.client.get("/api/users/", headers=api.service)
    assert users.json() == (await api.client.get("/api/users", headers=api.service)).json()
    assert "/api/memory/" not in (await api.client.get("/openapi.json")).json()["paths"]
    # An empty id is no whole list.
    emptied = await api.client.delete(f"/api/memory/?user_id={ada.id}", headers=api.service)
    assert emptied.status_code == 404


# The user and the agent in query or body -----------------------------------------------


async def test_user_and_agent_stand_in_query_or_body(
    api: Api, ada: User, bob: User, agent: Agent
) -> None:
    """One of both is enough, both may agree, and two that disagree do nothing."""
    ids = whom(ada, agent)
    for query, body in ((ids, {}), ({}, ids), (ids, ids)):
        answer = await api.client.post(
            "/api/memory/",
            params=query,
            json={"content": "Ada sings.", **body},
            headers=api.service,
        )
        assert answer.is_success, answer.text
        assert answer.json()["memory"]["user_id"] == str(ada.id)
    memory_id = answer.json()["memory"]["id"]
    for method, path, body in (
        ("PUT", f"/api/memory/{memory_id}", {"content": "Ada sings alto."}),
        ("POST", f"/api/memory/{memory_id}/deactivate", {}),
        ("POST", f"/api/memory/{memory_id}/activate", {}),
        ("DELETE", f"/api/memory/{memory_id}", {}),
    ):
        url = f"{path}?user_id={ada.id}"
        other = {**body, "user_id": str(bob.id)}
        refused = await api.client.request(method, url, json=other, headers=api.service)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "user_id")
        same = {**body, **ids}
        assert (await api.client.request(method, path, json=same, headers=api.service)).is_success
    for field, value in (("user_id", str(bob.id)), ("agent_id", str(uuid4()))):
        sent = {"content": "Ada dances.", field: value}
        refused = await api.client.post("/api/memory/", params=ids, json=sent, headers=api.service)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert rows("SELECT count(*) FROM memories WHERE content LIKE '%dances%'") == [(0,)]


async def test_a_conversation_has_the_agent_of_query_or_body(
    api: Api, ada: User, agent: Agent
) -> None:
    in_query = await api.client.post(
        "/api/conversations", params=whom(ada, agent), json={}, headers=api.service
    )
    assert in_query.json()["agent_id"] == str(agent.id)
    refused = await api.client.post(
        "/api/conversations",
        params=whom(ada, agent),
        json={"agent_id": str(uuid4())},
        headers=api.service,
    )
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "agent_id")


# The reader is the sender (case 30) ----------------------------------------------------


async def _group(memory: Remembrancer, ada: User, bob: User, agent: Agent) -> UUID:
    await memory.remember(
        "Ada's locker code is a secret of hers.", user=ada, agent=agent, importance=1
    )
    talk = await memory.conversations.open(
        as_actor(ada), ConversationCreate(agent_id=agent.id, platform="discord")
    )
    messages = [MessageCreate(content="Hi", user_id=user.id) for user in (ada, bob)]
    await memory.conversations.append(as_actor(), talk.id, messages)
    return talk.id


@pytest.mark.parametrize("how", ["id", "name", "platform id"])
async def test_a_turn_tells_its_sender_and_nobody_else(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent, how: str
) -> None:
    """Named by id, by name or on the platform; two different people are refused, nothing stored."""
    talk = await _group(memory, ada, bob, agent)
    [link] = bob.platform_links
    sender = {
        "id": {"user_id": str(bob.id)},
        "name": {"user_id": name_of(bob)},
        "platform id": {"platform_user_id": link.platform_user_id},
    }[how]
    said = {"content": "What is the locker code?", **sender}
    turn = await door.turn(talk, said)
    assert "locker code is a secret" not in str(turn["context"])
    assert turn["messages"][-1]["user_id"] == str(bob.id)
    with pytest.raises(Refused) as refusal:
        await door.turn(talk, said, user=ada)
    [field] = sender
    assert (refusal.value.status, refusal.value.fields) == (422, [f"message.{field}"])
    assert len(await door.window(talk, user=ada)) == 3
    agreed = await door.turn(talk, said, user=bob)
    assert "locker code is a secret" not in str(agreed["context"])
    mine = await door.turn(talk, {"content": "What is the locker code?"}, user=ada)
    assert "locker code is a secret" in str(mine["context"])


async def test_a_message_of_two_people_is_refused(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    talk = await _group(memory, ada, bob, agent)
    [link] = bob.platform_links
    both = {
        "content": "x",
        "user_id": str(ada.id),
        "platform_user_id": link.platform_user_id,
    }
    with pytest.raises(Refused) as refusal:
        await door.say(talk, [both])
    assert (refusal.value.status, refusal.value.fields) == (422, ["messages.0.platform_user_id"])
    assert len(await door.window(talk, user=ada)) == 2


async def test_an_answer_belongs_to_the_user_it_is_for(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Not to whoever spoke meanwhile, who would recall it."""
    talk = await _group(memory, ada, bob, agent)
    await door.answer(talk, "Your locker code, Ada, is 4711.", user=ada)
    assert (await door.window(talk, user=ada))[-1]["user_id"] == str(ada.id)
    assert not any("4711" in text for text in await door.contents("locker code", user=bob))


# Names (case 54) -----------------------------------------------------------------------


def test_a_name_is_an_id_or_a_platform_with_an_id() -> None:
    assert parse_user("discord:18:44") == UserName("discord:18:44")
    assert UserName("discord:18:44").platform_user_id == "18:44"
    assert parse_user(str(UNRESOLVED)) == UNRESOLVED
    for wrong in ("ada", "", ":", "discord:", ":1", "a\n:1", "x:\x00", "x" * 256 + ":1", 1, None):
        with pytest.raises(ValueError, match="must be an id or platform:id"):
            parse_user(wrong)


async def test_the_library_takes_names_everywhere(
    memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    name = name_of(ada)
    await memory.remember("Ada sings.", user=name)
    assert [hit.content for hit in (await memory.recall("sings", user=name)).hits] == ["Ada sings."]
    actor = as_actor(name)
    assert (await memory.memories.list(actor)).total == 1
    assert (await memory.users.get(as_actor(), name)).id == ada.id
    assert (await memory.preferences.list(as_actor(), name)).items == []
    assert (await memory.documents.get(actor)).metadata.total_active_facts == 1
    talk = await memory.conversations.open(actor, ConversationCreate(agent_id=agent.id))
    turn = await memory.conversations.begin_turn(actor, talk.id, MessageCreate(content="I sing."))
    assert turn.messages[-1].user_id == ada.id
    space = await memory.spaces.create(actor, SpaceCreate(name="Choir"))
    added = await memory.spaces.add_member(actor, space.id, MemberAdd(user_id=name_of(bob)))
    assert added.user_id == bob.id
    await memory.spaces.remove_member(actor, space.id, name_of(bob))
    answer = await memory.tools.call(actor, "memory_recall", {"query": "sings", "user_id": name})
    assert answer.ok
    receipt = await memory.users.erase(as_actor(), name)
    assert receipt.user_id == ada.id


async def test_a_name_that_is_none_is_one_clear_error(memory: Remembrancer, ada: User) -> None:
    for call in (memory.remember("x", user="ada"), memory.recall("x", user="ada")):
        with pytest.raises(InvalidInput, match="user: must be an id or platform:id"):
            await call
    with pytest.raises(InvalidInput, match="agent: must be an id"):
        as_actor(ada, "helper")
    with pytest.raises(InvalidInput, match="user_id"):
        Actor(Role.SERVICE, user_id="ada")  # type: ignore[arg-type]


async def test_an_unknown_name_is_nobody_and_never_becomes_somebody(
    memory: Remembrancer, ada: User
) -> None:
    actor = as_actor("app:nobody")
    for call in (
        memory.remember("x", user="app:nobody"),
        memory.recall("x", user="app:nobody"),
        memory.memories.list(actor),
        memory.conversations.list(actor),
        memory.conversations.open(actor, ConversationCreate()),
        memory.users.get(as_actor(), "app:nobody"),
        memory.users.erase(as_actor(), "app:nobody", dry_run=False),
        memory.spaces.list(actor),
    ):
        with pytest.raises(NotFound, match="no such user"):
            await call
    assert rows("SELECT count(*) FROM platform_links WHERE platform = 'app'") == [(0,)]


async def test_rest_takes_names_in_paths_queries_and_bodies(api: Api, ada: User, bob: User) -> None:
    name = name_of(ada)
    key = await api.key_of(ada)
    for headers in (api.service, key):
        got = await api.client.get(f"/api/users/{name}", headers=headers)
        assert got.json()["id"] == str(ada.id)
        sent = {"content": "Ada sings.", "user_id": name}
        assert (await api.client.post("/api/memory/", json=sent, headers=headers)).is_success
        listed = await api.client.get("/api/memory/", params={"user_id": name}, headers=headers)
        assert listed.json()["total"] == 1
        recalled = await api.client.post(
            f"/api/users/{name}/recall", json={"query": "sings"}, headers=headers
        )
        assert len(recalled.json()["hits"]) == 1
    both = {"user_id": name}
    same = await api.client.get("/api/users/" + name + "/memory-document", headers=api.service)
    assert same.is_success
    agreed = await api.client.post(
        f"/api/memory/recall?user_id={ada.id}", json={"query": "sings", **both}, headers=api.service
    )
    assert len(agreed.json()["hits"]) == 1
    linked = await api.client.post(
        f"/api/users/{name}/merges/preview", json={"user_id": name_of(bob)}, headers=api.admin
    )
    assert linked.is_success
    for wrong, status in (("ada", 422), ("app:nobody", 404)):
        for path in (f"/api/users/{wrong}", f"/api/memory/?user_id={wrong}"):
            response = await api.client.get(path, headers=api.service)
            assert (response.status_code, response.json()["errors"][0]["field"]) == (
                status,
                "user_id",
            )


async def test_a_user_learns_nothing_from_names(api: Api, ada: User, bob: User) -> None:
    """Somebody else's name and an unknown one are answered alike."""
    key = await api.key_of(ada)
    for path in ("/api/users/{}", "/api/memory/?user_id={}", "/api/users/{}/export"):
        answers = [
            (await api.client.get(path.format(name), headers=key))
            for name in (name_of(bob), "discord:nobody", str(bob.id))
        ]
        assert [answer.status_code for answer in answers] == [404] * 3
        assert len({answer.text for answer in answers}) == 1
    space = uuid4()
    added = [
        await api.client.post(f"/api/spaces/{space}/members", json={"user_id": name}, headers=key)
        for name in (name_of(bob), "discord:nobody")
    ]
    assert len({answer.text for answer in added}) == 1


async def test_the_client_takes_names(api: Api, ada: User) -> None:
    transport = httpx2.ASGITransport(app=api.client._transport.app)  # type: ignore[attr-defined]
    secret = api.service["Authorization"].removeprefix("Bearer ")
    async with AsyncClient("http://test", secret, transport=transport) as client:
        await client.remember("Ada sings.", user=name_of(ada))
        assert len((await client.recall("sings", user=name_of(ada))).hits) == 1
        assert (await client.users.get(name_of(ada))).id == ada.id


# Looking changes nothing (case 59) -----------------------------------------------------


async def test_recall_that_does_not_count_changes_nothing(memory: Remembrancer, ada: User) -> None:
    await memory.remember("Ada sings.", user=ada)
    query = "SELECT access_count, last_accessed_at FROM memories"
    before = rows(query)
    for _ in range(3):
        await memory.memories.recall(as_actor(ada), RecallQuery(query="sings"), counts=False)
    await memory.access_counts.flush()
    assert rows(query) == before
    await memory.memories.recall(as_actor(ada), RecallQuery(query="sings"))
    await memory.access_counts.flush()
    assert rows(query) != before


async def test_the_playground_changes_nothing(world: World, ada_there: Browser) -> None:
    """However often it is loaded."""
    query = "SELECT id, access_count, last_accessed_at, updated_at FROM memories ORDER BY id"
    await world.memory.access_counts.flush()
    before = rows(query)
    for _ in range(3):
        await ada_there.get(f"/people/{world.ada.id}/playground?query=tea")
    await world.memory.access_counts.flush()
    assert rows(query) == before


# Sources (case 60) ---------------------------------------------------------------------


@pytest.mark.parametrize("field", ["conversation_id", "message_id", "both", "revises"])
async def test_a_memory_cites_no_source_of_somebody_else(
    door: Door, ada: User, bob: User, field: str
) -> None:
    """404 that names the field, as for a source that does not exist; nothing is stored."""
    theirs = await door.source(bob)
    secret = (await door.remember("Bob sings.", user=bob))["memory"]["id"]
    unknown = {"conversation_id": str(uuid4()), "message_id": str(uuid4())}
    own = await door.source(ada)
    cases: list[dict[str, Any]] = {
        "conversation_id": [{field: theirs.get(field)}, {field: unknown.get(field)}],
        "message_id": [{field: theirs.get(field)}, {field: unknown.get(field)}],
        "both": [own | {"message_id": theirs["message_id"]}],
        "revises": [{"revises": secret, "pending": True}],
    }[field]
    named = "message_id" if field == "both" else field
    for source in cases:
        with pytest.raises(Refused) as refusal:
            await door.remember("Ada dances.", user=ada, **source)
        assert (refusal.value.status, refusal.value.fields) == (404, [named])
        if field != "revises":
            with pytest.raises(Refused) as refusal:
                await door.add_place(ada, place_id="home", place_name="Home", **source)
            assert refusal.value.fields == [named]
            answer = await door.call(
                "add_to_memory", {"content": "Ada dances.", "category": "other"}, user=ada, **source
            )
            assert not answer["ok"]
    assert rows("SELECT count(*) FROM memories WHERE owner_id = %s", ada.id) == [(0,)]
    stored = await door.remember("Ada dances.", user=ada, **own)
    assert stored["memory"]["message_id"] == own["message_id"]


async def test_case_60_what_is_there_takes_no_source_of_somebody_else(
    door: Door, ada: User, bob: User
) -> None:
    """A new version, another mention of a place and one memory of many are refused as well, by a
    service and by the user's own key; nothing cites it afterwards."""
    theirs, own = await door.source(bob), await door.source(ada)
    tea = (await door.remember("Ada likes tea.", user=ada))["memory"]["id"]
    await door.add_place(ada, place_id="home", place_name="Home")
    foreign: list[dict[str, Any]] = [
        {"conversation_id": theirs["conversation_id"]},
        {"message_id": theirs["message_id"]},
        own | {"message_id": theirs["message_id"]},
    ]
    for door_of_whom in (door, await door.of(ada)):
        for source in foreign:
            named = list(source)[-1]
            batch = [{"content": "Ada sings."}, {"content": "Ada dances.", **source}]
            refused = await refusals(
                door_of_whom.update(tea, user=ada, content="Ada likes cake.", **source),
                door_of_whom.mention_place(ada, "home", **source),
                door_of_whom.remember_many(batch, user=ada),
            )
            fields = [named, named, f"memories.1.{named}"]
            assert [(r.status, r.fields) for r in refused] == [(404, [field]) for field in fields]
    assert (await door.listed(user=ada))["total"] == 2
    for table in ("mentions", "memory_versions"):
        cited = f"SELECT count(*) FROM {table} WHERE num_nonnulls(conversation_id, message_id) > 0"
        assert rows(cited) == [(0,)], table
    deleted = await door.delete_message(*theirs.values(), user=bob)
    assert deleted["rows"].keys().isdisjoint({"memories", "memory_versions", "mentions"})
