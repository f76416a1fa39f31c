"""Who read or changed which ids of whom is written down, and never what they said."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from entry_points import Door, RestDoor, refusals
from helpers import ADMIN, Api, audit_lines, rows

from remembrancer import (
    Actor,
    Agent,
    AuditFilter,
    ConversationCreate,
    MemoryCreate,
    MemoryFilter,
    MessageCreate,
    PlaceCreate,
    PreferenceUpdate,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    UserUpdate,
    as_actor,
)
from remembrancer.audit.reads import Reads
from remembrancer.cli import runtime
from remembrancer.db.engine import Database
from remembrancer.db.tables import metadata
from remembrancer.errors import DatabaseUnavailable
from remembrancer.keys.schemas import KeyCreate
from remembrancer.search.model import claim_store


async def test_reads_are_noted_with_who_and_through_what(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Lists, single reads, recalls and windows: the ids, the role, the agent, the way in."""
    made = (await door.remember("Ada keeps bees.", user=ada, agent=agent))["memory"]["id"]
    talk = (await door.open(user=ada, agent=agent))["id"]
    said = (await door.say(talk, [{"content": "Bees!"}], user=ada))["messages"][0]["id"]
    await door.listed(user=ada, agent=agent)
    await door.read(made, user=ada, agent=agent)
    await door.recall("bees", user=ada, agent=agent)
    await door.window(talk, user=ada)
    await memory.conversations.list(as_actor(ada))
    await memory.conversations.get(as_actor(ada), UUID(talk))
    await memory.reads.flush()
    lines = {line.action: line for line in audit_lines()}
    assert lines["conversation.list"].target_ids == [talk]
    assert lines["conversation.read"].target_ids == [talk]
    assert lines["memory.list"].target_ids == [made]
    assert lines["memory.read"].target_ids == [made]
    assert sorted(lines["recall"].target_ids) == sorted([made, said])
    assert lines["message.read"].target_ids == [said]
    for action in ("memory.list", "memory.read", "recall"):
        line = lines[action]
        assert (line.owner_id, line.actor_role, line.actor_agent_id) == (
            ada.id,
            "service",
            agent.id,
        )
        assert line.entry_point in {"python", "rest"}
    assert "bees" not in str(audit_lines()).lower()


async def test_the_way_in_is_noted_as_it_was(door: Door, ada: User) -> None:
    """Each door has its name in the log; the command line's actors have theirs."""
    await door.remember("Ada keeps bees.", user=ada)
    [line] = [line for line in audit_lines() if line.action == "memory.remember"]
    assert line.entry_point == ("rest" if isinstance(door, RestDoor) else "python")
    assert runtime.SERVICE.entry_point == runtime.ADMIN.entry_point == "cli"


async def test_a_user_a_service_and_an_admin_are_told_apart(
    api: Api, memory: Remembrancer, ada: User
) -> None:
    """The same read by three keys: three lines, each with its role and key."""
    made = (await memory.remember("Ada keeps bees.", user=ada)).memory.id
    path = f"/api/memory/{made}?user_id={ada.id}"
    for headers in (await api.key_of(ada), api.service, api.admin):
        assert (await api.client.get(path, headers=headers)).status_code == 200
    await memory.reads.flush()
    lines = [line for line in audit_lines() if line.action == "memory.read"]
    assert {line.actor_role for line in lines} == {"user", "service", "admin"}
    assert len({line.actor_key_id for line in lines}) == 3
    assert {(line.owner_id, *line.target_ids) for line in lines} == {(ada.id, made)}


async def test_changes_of_keys_people_and_conversations_are_noted(
    memory: Remembrancer, ada: User
) -> None:
    """Who may come in, what somebody is called, what they said: each change is a line."""
    key = await memory.keys.create(ADMIN, KeyCreate(name="own", role=Role.USER, user_id=ada.id))
    await memory.keys.revoke(ADMIN, key.id)
    await memory.users.update(as_actor(), ada.id, UserUpdate(display_name="Lovelace"))
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate())
    said = [MessageCreate(content="I keep bees.")]
    appended = await memory.conversations.append(as_actor(ada), talk.id, said)
    noted = {line.action: line.target_ids for line in audit_lines() if line.owner_id == ada.id}
    assert noted == {
        "key.create": [str(key.id)],
        "key.revoke": [str(key.id)],
        "user.update": [str(ada.id)],
        "conversation.create": [str(talk.id)],
        "message.append": [str(appended.messages[0].id)],
    }


async def test_a_conversation_that_is_somebody_elses_is_refused_with_a_line(
    door: Door, ada: User, bob: User
) -> None:
    """Reading and writing it: 404, and the log knows who tried."""
    talk = (await door.open(user=ada))["id"]
    own = await door.of(bob)
    refused = await refusals(own.window(talk), own.say(talk, [{"content": "Hello?"}]))
    assert [one.status for one in refused] == [404, 404]
    lines = [line for line in audit_lines() if line.outcome == "refused"]
    assert sorted(line.action for line in lines) == ["message.append", "message.read"]
    assert {(line.actor_user_id, *line.target_ids) for line in lines} == {(bob.id, talk)}


async def test_no_column_of_the_log_holds_what_anybody_said(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Whatever was done with it, refused or asked for, the words are in no line."""
    word = "Zanzibar"
    made = (await door.remember(f"Ada saw {word}.", user=ada, agent=agent))["memory"]["id"]
    talk = (await door.open(user=ada, agent=agent, title=word))["id"]
    said = await door.say(talk, [{"content": f"{word}!", "sender_name": word}], user=ada)
    await door.recall(f"where is {word}", user=ada, agent=agent)
    await door.listed(user=ada, text=word)
    await door.update(made, user=ada, content=f"{word} is an island.", subject=word)
    await refusals(door.update(made, user=bob, content=f"{word} is mine."))
    space = await memory.spaces.create(as_actor(ada), SpaceCreate(name=word, description=word))
    await memory.spaces.delete(as_actor(ada), space.id)
    await door.delete_message(talk, said["messages"][0]["id"], user=ada)
    await door.erase_user(ada, dry_run=False)
    await memory.reads.flush()
    lines = audit_lines()
    assert len(lines) > 10
    assert word.lower() not in str(lines).lower()


async def test_with_reads_of_admins_alone_others_leave_no_line(
    memory: Remembrancer, ada: User
) -> None:
    """The setting says whose reads are noted; an admin's always are."""
    reads = Reads(memory.database, whose="admin")
    await reads.note(as_actor(ada), "memory.list", [(ada.id, "a1B2c3D4")])
    await reads.flush()
    assert audit_lines() == []
    await reads.note(ADMIN, "memory.list", [(ada.id, "a1B2c3D4")])
    [line] = audit_lines()
    assert (line.actor_role, line.target_ids) == ("admin", ["a1B2c3D4"])


async def test_lines_wait_for_a_database_that_does_not_answer(
    memory: Remembrancer, ada: User
) -> None:
    """Nothing is lost by one that is away for a while."""
    reads = Reads(Database("postgresql://nobody@127.0.0.1:1/none"), whose="all")
    await reads.note(as_actor(ada), "memory.list", [(ada.id, "a1B2c3D4")])
    with pytest.raises(DatabaseUnavailable):
        await reads.flush()
    reads._database = memory.database
    await reads.flush()
    assert [line.action for line in audit_lines()] == ["memory.list"]


async def test_many_admins_read_at_once(api: Api, ada: User) -> None:
    """More than there are connections: none holds one while it waits for another."""
    made = (await api.memory.remember("Ada keeps bees.", user=ada)).memory.id
    parts = ("", "/associations", "/neighbours", "/suggestions")
    paths = [f"/api/memory/{made}{part}?user_id={ada.id}" for part in parts] * 8
    answers = await asyncio.wait_for(
        asyncio.gather(*(api.client.get(path, headers=api.admin) for path in paths)), timeout=240
    )
    assert {answer.status_code for answer in answers} == {200}


OF_NOBODY = {
    "/api/agents",
    "/api/agents/{agent_id}",
    "/api/agents/{agent_id}/bulletin",
    "/api/audit",
    "/healthz",
    "/readyz",
    "/api/jobs",
    "/api/keys",
    "/api/keys/own",
    "/api/memory/policy",
    "/api/memory/statistics",
    "/api/memory/preferences/export",
    "/api/tools",
    "/api/usage",
    "/api/workspaces",
    "/api/workspaces/{workspace}",
    "/metrics",
}
"""Ways to read nothing of anybody's, or all of everybody's with one line for the whole."""


async def test_whatever_an_admin_reads_of_somebody_is_noted_before_the_answer(
    api: Api, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Every way to read there is, found in the API's description: a line about that person."""
    me = as_actor(ada, agent)
    space = await memory.spaces.create(as_actor(ada), SpaceCreate(name="S"))
    fact = await memory.remember("Ada keeps bees.", user=ada, space_id=space.id)
    waiting = MemoryCreate(content="Ada keeps wasps.", pending=True)
    await memory.memories.remember(as_actor(ada), waiting)
    home = PlaceCreate(place_id="home", place_name="Home")
    await memory.places.add(as_actor(ada), home)
    room = {"platform": "discord", "platform_conversation_id": "tea-room"}
    talk = await memory.conversations.open(me, ConversationCreate(agent_id=agent.id, **room))
    said = [MessageCreate(content=f"Message {n}.") for n in range(50)]
    await memory.conversations.append(me, talk.id, said)
    await memory.conversations.summarize(me, talk.id)
    allow = PreferenceUpdate(allow_agent_specific_memory=False)
    await memory.preferences.set(me, ada.id, agent.id, allow)
    ids = {
        "user_id": ada.id,
        "agent_id": agent.id,
        "memory_id": fact.memory.id,
        "space_id": space.id,
        "legacy_id": space.id,
        "conversation_id": talk.id,
        "place_id": home.place_id,
    }
    asked = {**room, "platform_user_id": "Ada-1", "q": "bees"}
    described = (await api.client.get("/openapi.json")).json()["paths"]
    read = [path for path in described if "get" in described[path] and path not in OF_NOBODY]
    for path in read:
        known = {one["name"] for one in described[path]["get"].get("parameters", ())}
        query = {name: asked[name] for name in asked.keys() & known}
        if "user_id" in known and "{user_id}" not in path:
            query["user_id"] = str(ada.id)
        if "platform_conversation_id" in query:
            query["agent_id"] = str(agent.id)
        rows("DELETE FROM audit_log")
        answer = await api.client.get(path.format(**ids), params=query, headers=api.admin)
        assert answer.status_code == 200, (path, answer.text)
        noted = {(line.actor_role, line.owner_id) for line in audit_lines()}
        assert ("admin", ada.id) in noted, path
    assert len(read) > 20


async def test_an_admins_read_is_noted_before_the_answer(api: Api, ada: User) -> None:
    """Nothing is read across people that is not in the log already."""
    made = (await api.memory.remember("Ada keeps bees.", user=ada)).memory.id
    answer = await api.client.get(f"/api/users/{ada.id}/memories", headers=api.admin)
    assert answer.json()["total"] == 1
    [line] = [line for line in audit_lines() if line.action == "memory.list"]
    assert (line.actor_role, line.owner_id, line.target_ids) == ("admin", ada.id, [made])
    assert line.actor_key_id
    assert line.entry_point == "rest"


async def test_the_log_is_read_by_filters_and_pages(
    door: Door, memory: Remembrancer, api: Api, ada: User, bob: User
) -> None:
    """An admin sees all of it, the latest first; the look is a line of its own."""
    made = [(await door.remember(f"Fact {n}.", user=u))["memory"]["id"]
            for n, u in enumerate((ada, bob, ada))]  # fmt: skip
    await refusals(door.forget(made[0], user=bob))
    log = memory.audit
    seen = await log.list(ADMIN, AuditFilter(user_id=ada.id, action="memory"))
    assert [line.target_ids for line in seen.items] == [[made[2]], [made[0]]]
    refused = await log.list(ADMIN, AuditFilter(outcome="refused"))
    assert [(line.action, line.target_ids) for line in refused.items] == [
        ("memory.forget", [made[0]])
    ]
    assert (await log.list(ADMIN, AuditFilter(target_id=made[1]))).items[0].user_id == bob.id
    none = AuditFilter(action="mem")
    assert (await log.list(ADMIN, none)).items == []
    first = await log.list(ADMIN, AuditFilter(action="memory.remember"), limit=2)
    second = await log.list(
        ADMIN, AuditFilter(action="memory.remember"), limit=2, cursor=first.next_cursor
    )
    assert [line.target_ids[0] for line in (*first.items, *second.items)] == made[::-1]
    looks = [line for line in audit_lines() if line.action == "audit.read"]
    assert len(looks) == 6
    later = AuditFilter(since=datetime.now(UTC) + timedelta(hours=1))
    assert (await log.list(ADMIN, later)).items == []


async def test_a_user_sees_what_concerns_them_and_nobody_else(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Whatever they ask for, the lines are about their own data."""
    await door.remember("Ada keeps bees.", user=ada)
    await door.remember("Bob keeps wasps.", user=bob)
    own = await door.of(bob)
    for wanted in ({}, {"action": "memory"}, {"user_id": str(bob.id)}):
        lines = (await own.audited(**wanted))["items"]
        assert {line["user_id"] for line in lines} == {str(bob.id)}
    [foreign] = await refusals(own.audited(user_id=str(ada.id)))
    assert foreign.status == 404
    [nobody] = await refusals(door.audited())
    assert (nobody.status, nobody.fields) == (422, ["user_id"])
    [line] = (await door.audited(user_id=str(ada.id), action="memory.remember"))["items"]
    assert line["actor_role"] == "service"


# 24 Idle maintenance -------------------------------------------------------------------


async def test_maintenance_without_new_content_changes_nothing(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Run twice, every job there is leaves each memory, its importance and its place as it was."""
    for number, kind in enumerate(("identity", "event", "fact", "observation")):
        await memory.remember(f"Fact number {number}.", user=ada, agent=agent, kind=kind)
    await memory.recall("fact number", user=ada, agent=agent)

    async def maintain() -> None:
        await memory.access_counts.flush()
        await memory.reads.flush()
        await memory.backend.usage_counts.flush()
        await memory.keys.uses.flush()
        await memory.retention.run(ADMIN, dry_run=False)
        await claim_store(memory.database, memory.embedder)
        await memory.worker.run(once=True)

    def stored() -> dict[str, list[str]]:
        skipped = {"audit_log"}
        return {
            t.name: [text for (text,) in rows(f"SELECT t::text FROM {t.name} AS t ORDER BY 1")]
            for t in metadata.sorted_tables
            if t.name not in skipped
        }

    await maintain()
    before = stored()
    order = await memory.memories.list(as_actor(ada, agent), MemoryFilter(sort="importance"))
    for _ in range(2):
        await maintain()
    assert stored() == before
    again = await memory.memories.list(as_actor(ada, agent), MemoryFilter(sort="importance"))
    assert again == order


async def test_a_user_reads_their_own_sign_ins(
    door: Door, ada: User, bob: User, memory: Remembrancer
) -> None:
    """Those that were refused too, and nobody else's."""
    key = await memory.keys.create(
        Actor(Role.ADMIN), KeyCreate(name="own", role=Role.USER, user_id=ada.id)
    )
    for user in (ada, bob):
        await memory.sign_ins.start(Actor(Role.USER, user_id=user.id, entry_point="web"))
    await memory.sign_ins.refuse(key.secret, entry_point="web")
    own = await door.of(ada)
    lines = (await own.audited(action="session", entry_point="web"))["items"]
    assert {line["user_id"] for line in lines} == {str(ada.id)}
    assert [line["outcome"] for line in lines] == ["refused", "done"]
