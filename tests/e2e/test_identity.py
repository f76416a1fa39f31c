"""One person across platforms: links, merges, and taking them back."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
from entry_points import Door, Refused, refusals
from helpers import Api, audit_lines, person, rows

from remembrancer import (
    Agent,
    ConversationCreate,
    MemoryUpdate,
    MessageCreate,
    Remembrancer,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.db.tables import metadata

OWNED = [
    table.name
    for table in metadata.sorted_tables
    if "owner_id" in table.columns and table.name != "audit_log"
]
"""Tables whose rows belong to somebody; the audit log stays with whom it was written for."""


def _left(user: User) -> dict[str, int]:
    """How many rows a user has, by table."""
    found = {name: rows(f"SELECT count(*) FROM {name} WHERE owner_id = %s", user.id)[0][0]
             for name in OWNED}  # fmt: skip
    for name in ("participants", "memory_preferences", "space_members", "platform_links"):
        found[name] = rows(f"SELECT count(*) FROM {name} WHERE user_id = %s", user.id)[0][0]
    return {name: count for name, count in found.items() if count}


def _everything(user: User) -> dict[str, list[Any]]:
    """All that belongs to a user, but for the ids that a copy gets anew."""
    return {
        "memories": rows(
            "SELECT id, agent_id, space_id, content, status, version, mention_count FROM memories "
            "WHERE owner_id = %s ORDER BY id", user.id),
        "versions": rows(
            "SELECT memory_id, version, content FROM memory_versions WHERE owner_id = %s "
            "ORDER BY 1, 2", user.id),
        "mentions": rows(
            "SELECT memory_id, id, wording FROM mentions WHERE owner_id = %s ORDER BY 1, 2",
            user.id),
        "associations": rows(
            "SELECT memory_id, target_owner_id, target_id, relation, weight FROM associations "
            "WHERE owner_id = %s ORDER BY 1, 2, 3", user.id),
        "messages": rows(
            "SELECT id, conversation_id, position, content FROM messages WHERE owner_id = %s "
            "ORDER BY id", user.id),
        "chunks": rows(
            "SELECT id, conversation_id, range_start, content FROM chunks WHERE owner_id = %s "
            "ORDER BY id", user.id),
        "items": rows(
            "SELECT source_type, memory_id, source_id, active, length FROM recall_items "
            "WHERE owner_id = %s ORDER BY 1, 2, 3", user.id),
        "postings": rows(
            "SELECT p.term, i.memory_id, i.source_id, p.frequency FROM postings AS p "
            "JOIN recall_items AS i ON i.owner_id = p.owner_id AND i.id = p.item_id "
            "WHERE p.owner_id = %s ORDER BY 1, 2, 3", user.id),
        "participants": rows(
            "SELECT conversation_id FROM participants WHERE user_id = %s ORDER BY 1", user.id),
        "preferences": rows(
            "SELECT agent_id, allow_agent_specific_memory FROM memory_preferences "
            "WHERE user_id = %s ORDER BY 1", user.id),
        "spaces": rows(
            "SELECT space_id, role FROM space_members WHERE user_id = %s ORDER BY 1", user.id),
        "links": rows(
            "SELECT platform, platform_user_id FROM platform_links WHERE user_id = %s ORDER BY 1",
            user.id),
    }  # fmt: skip


async def _live(memory: Remembrancer, user: User, other: User, agent: Agent) -> None:
    """Give a user some of everything, partly the same as what the other has."""
    me = as_actor(user)
    space = await memory.spaces.create(as_actor(other), SpaceCreate(name="Band"))
    for owner in (user, other):
        name = owner.display_name
        rows(
            "INSERT INTO space_members (user_id, space_id, role) VALUES (%s, %s, 'member') "
            "ON CONFLICT DO NOTHING", owner.id, space.id)  # fmt: skip
        await memory.remember("Plays the cello.", user=owner)
        first = await memory.remember(f"{name} was born in May.", user=owner, kind="identity")
        fact = await memory.remember(
            f"{name} sings on Fridays.", user=owner, space_id=space.id, visibility="shared"
        )
        rows(
            "INSERT INTO associations (owner_id, memory_id, target_owner_id, target_id, relation) "
            "VALUES (%s, %s, %s, %s, 'related_to')",
            owner.id, first.memory.id, owner.id, fact.memory.id)  # fmt: skip
        rows(
            "INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory) "
            "VALUES (%s, %s, %s, %s)", owner.id, agent.id, uuid4(), owner is user)  # fmt: skip
    await memory.memories.update(
        me, first_id(user), MemoryUpdate(content=f"{user.display_name} was born in June.")
    )
    alone = await memory.conversations.open(me, ConversationCreate(agent_id=agent.id))
    await memory.conversations.append(me, alone.id, [MessageCreate(content="I like rye bread.")])
    both = await memory.conversations.open(me, ConversationCreate())
    for owner in (user, other):
        await memory.conversations.append(
            as_actor(), both.id, [MessageCreate(content="Hello there.", user_id=owner.id)]
        )
        rows(
            "INSERT INTO chunks (owner_id, id, conversation_id, range_start, range_end, content) "
            "VALUES (%s, %s, %s, 1, 2, 'They greet.')", owner.id, uuid4(), both.id)  # fmt: skip


def first_id(user: User) -> str:
    """The id of a user's identity memory."""
    return rows("SELECT id FROM memories WHERE owner_id = %s AND kind = 'identity'", user.id)[0][0]


async def test_a_link_is_added_listed_and_taken_away(door: Door, ada: User) -> None:
    """A link says who speaks; without it, who speaks next is somebody new."""
    await door.link(ada, platform="telegram", platform_user_id="77")
    assert [(one["platform"], one["platform_user_id"]) for one in await door.links(ada)] == [
        ("discord", "Ada-1"),
        ("telegram", "77"),
    ]
    who = {"platform": "telegram", "platform_user_id": "77", "display_name": "Ada"}
    assert (await door.resolve(**who))["id"] == str(ada.id)
    await door.unlink(ada, platform="telegram", platform_user_id="77")
    assert (await door.resolve(**who))["id"] != str(ada.id)
    [gone, nobody] = await refusals(
        door.unlink(ada, platform="telegram", platform_user_id="78"),
        door.link(uuid4(), platform="x", platform_user_id="1"),
    )
    assert (gone.status, gone.fields) == (404, ["platform_user_id"])
    assert (nobody.status, nobody.fields) == (404, ["user_id"])


async def test_linking_somebody_elses_id_merges_the_two(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Everything of the other moves, and nothing is left; the answer says how much."""
    await _live(memory, bob, ada, agent)
    merge = (await door.link(ada, platform="discord", platform_user_id="Bob-1"))["merge"]
    assert (merge["survivor_id"], merge["merged_id"]) == (str(ada.id), str(bob.id))
    assert merge["counts"] == {
        "memories": 3,
        "duplicates": 1,
        "messages": 2,
        "conversations": 2,
        "chunks": 1,
        "preferences": 0,
        "preferences_dropped": 1,
        "spaces": 1,
        "platform_links": 1,
    }
    assert _left(bob) == {}
    who = {"platform": "discord", "platform_user_id": "Bob-1", "display_name": "Ada"}
    assert (await door.resolve(**who))["id"] == str(ada.id)
    assert rows("SELECT allow_agent_specific_memory FROM memory_preferences") == [(False,)]
    found = await door.contents("born in June", user=ada)
    assert found[0] == "Bob was born in June."
    assert "I like rye bread." in await door.contents("rye bread", user=ada, agent=None)


async def test_duplicates_of_two_people_become_mentions(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """What both said is one memory, mentioned by both, in any wording that says the same."""
    for user, text in (
        (ada, "Plays the cello."),
        (bob, "plays the cello"),
        (bob, "Plays the tuba."),
    ):
        await memory.remember(text, user=user)
    await door.merge(ada, bob)
    listed = (await door.listed(user=ada))["memories"]
    assert {m["content"]: m["mention_count"] for m in listed} == {
        "Plays the cello.": 2,
        "Plays the tuba.": 1,
    }
    [cello] = [m for m in listed if m["content"] == "Plays the cello."]
    mentions = (await door.read(cello["id"], user=ada))["mentions"]
    assert {m["wording"] for m in mentions} == {None, "plays the cello"}


async def test_the_old_id_resolves_to_the_survivor_everywhere(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Whoever still holds the old id reads and writes the survivor's memory, by any path."""
    own = await door.of(bob)
    written = (await door.remember("Bob keeps bees.", user=bob))["memory"]
    await door.merge(ada, bob)
    assert (await door.user(bob))["id"] == str(ada.id)
    assert (await door.remember("Bob bakes bread.", user=bob))["memory"]["user_id"] == str(ada.id)
    for me, whom in ((door, bob), (own, None), (own, bob)):
        assert (await me.listed(user=whom))["total"] == 2
        assert (await me.contents("bees", user=whom))[0] == "Bob keeps bees."
        assert (await me.read(written["id"], user=whom))["user_id"] == str(ada.id)
    await own.update(written["id"], content="Bob keeps wasps.")
    talk = (await door.open(user=bob, agent=agent))["id"]
    await door.say(talk, [{"content": "Hi"}], user=bob)
    assert rows("SELECT DISTINCT owner_id FROM messages") == [(ada.id,)]
    assert len(await door.window(talk, user=ada)) == 1
    assert len(await door.window(talk, user=bob)) == 1
    stranger = await door.of(await person(memory, "Cleo"))
    [refused] = await refusals(stranger.listed(user=bob))
    assert refused.status == 404


async def test_a_key_of_one_who_was_merged_is_a_key_of_the_survivor(
    api: Api, ada: User, bob: User
) -> None:
    """It may name its user by any id that person has had, and nobody else."""
    key = await api.key_of(bob)
    await api.memory.remember("Ada keeps bees.", user=ada)
    await api.memory.users.merge(as_actor(), ada.id, bob.id)
    for user_id in (ada.id, bob.id):
        answer = await api.client.get(f"/api/users/{user_id}/memories", headers=key)
        assert answer.json()["total"] == 1
        assert (await api.client.get(f"/api/users/{user_id}", headers=key)).json()["id"] == str(
            ada.id
        )
    cleo = await person(api.memory, "Cleo")
    assert (await api.client.get(f"/api/users/{cleo.id}", headers=key)).status_code == 404


async def test_a_merge_can_be_taken_back(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """After the undo both have exactly what they had; what came since stays."""
    await _live(memory, bob, ada, agent)
    before = _everything(ada), _everything(bob)
    merge = await door.merge(ada, bob)
    since = (await door.remember("Ada sails.", user=ada))["memory"]["id"]
    undone = await door.unmerge(ada, merge["undo_id"])
    assert undone["undone_at"]
    assert since in {m["id"] for m in (await door.listed(user=ada))["memories"]}
    rows("DELETE FROM postings WHERE item_id IN (SELECT id FROM recall_items "
         "WHERE memory_id = %s)", since)  # fmt: skip
    rows("DELETE FROM recall_items WHERE memory_id = %s", since)
    rows("DELETE FROM memories WHERE id = %s", since)
    assert _everything(ada) == before[0]
    assert _everything(bob) == before[1]
    assert (await door.user(bob))["id"] == str(bob.id)
    [again, unknown] = await refusals(
        door.unmerge(ada, merge["undo_id"]), door.unmerge(ada, str(uuid4()))
    )
    assert (again.status, unknown.status) == (409, 404)
    assert {line.action for line in audit_lines()} >= {"user.merge", "user.unmerge"}


async def test_a_key_knows_at_once_who_was_merged_and_who_was_split_off(
    api: Api, ada: User, bob: User
) -> None:
    """Requests that leave the check of the key to their first statements see both at once."""
    own = await api.key_of(ada)
    await api.memory.remember("Bob keeps bees.", user=bob)

    async def ask(user: object) -> httpx2.Response:
        body = {"query": "bees", "user_id": str(user)}
        return await api.client.post("/api/memory/recall", json=body, headers=own)

    [link] = bob.platform_links
    names = (bob.id, f"{link.platform}:{link.platform_user_id}")
    assert (await ask(ada.id)).json()["hits"] == []
    assert [(await ask(name)).status_code for name in names] == [404, 404]
    merge = await api.memory.users.merge(as_actor(), ada.id, bob.id)
    assert [len((await ask(name)).json()["hits"]) for name in (ada.id, *names)] == [1, 1, 1]
    await api.memory.users.undo_merge(as_actor(), ada.id, merge.undo_id)
    assert [(await ask(name)).status_code for name in names] == [404, 404]
    assert (await ask(ada.id)).json()["hits"] == []


async def test_ids_that_both_have_stay_apart(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """A short id is unique to its owner; in a merge one of two equal ids changes."""
    one = await memory.remember("Ada plays chess.", user=ada)
    two = await memory.remember("Bob plays go.", user=bob)
    for table, column in (("recall_items", "memory_id"), ("memory_versions", "memory_id"),
                          ("mentions", "memory_id"), ("memories", "id")):  # fmt: skip
        rows(
            f"SET session_replication_role = replica; UPDATE {table} SET {column} = "
            f"'{one.memory.id}' WHERE {column} = '{two.memory.id}'"
        )
    merge = await door.merge(ada, bob)
    listed = (await door.listed(user=ada))["memories"]
    assert len({m["id"] for m in listed}) == 2
    assert (await door.contents("plays go", user=ada))[0] == "Bob plays go."
    await door.unmerge(ada, merge["undo_id"])
    [his] = (await door.listed(user=bob))["memories"]
    assert his["id"] == one.memory.id
    assert (await door.read(his["id"], user=bob))["versions"][0]["content"] == "Bob plays go."


async def test_three_people_who_are_one(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Whoever was merged into somebody who is merged in turn is the last survivor."""
    cleo = await person(memory, "Cleo")
    for user in (ada, bob, cleo):
        await memory.remember(f"{user.display_name} likes tea.", user=user)
    first = await door.merge(bob, cleo)
    second = await door.merge(ada, bob)
    assert (await door.listed(user=cleo))["total"] == 3
    assert (await door.user(cleo))["id"] == str(ada.id)
    [later] = await refusals(door.unmerge(bob, first["undo_id"]))
    assert (later.status, later.extra) == (409, {"undo_id": second["undo_id"]})
    await door.unmerge(ada, second["undo_id"])
    assert (await door.user(cleo))["id"] == str(bob.id)
    assert (await door.listed(user=bob))["total"] == 2
    [same] = await refusals(door.merge(bob, cleo))
    assert (same.status, same.fields) == (422, ["user_id"])


async def test_only_staff_say_who_is_who(door: Door, ada: User, bob: User) -> None:
    """A user who could link ids would read what others said."""
    own = await door.of(ada)
    refused = await refusals(
        own.link(ada, platform="discord", platform_user_id="Bob-1"),
        own.merge(ada, bob),
        own.unlink(ada, platform="discord", platform_user_id="Ada-1"),
    )
    assert [one.status for one in refused] == [403] * 3
    assert _left(bob)


async def test_merges_that_meet_do_not_lose_anything(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Two merges of the same pair at once, and writes beside them: one merge, all is kept."""
    users, me = memory.users, as_actor()
    done = await asyncio.gather(
        users.merge(me, ada.id, bob.id),
        users.merge(me, bob.id, ada.id),
        *(memory.remember(f"Fact number {n} of Bob", user=bob) for n in range(6)),
        *(memory.remember(f"Fact number {n} of Ada", user=ada) for n in range(6)),
        return_exceptions=True,
    )
    merges = [one for one in done[:2] if not isinstance(one, BaseException)]
    assert len(merges) == 1
    written = [one for one in done[2:] if not isinstance(one, BaseException)]
    listed = await memory.memories.list(as_actor(ada), limit=50)
    assert {one.memory.id for one in written} == {m.id for m in listed.items}


async def test_a_thousand_first_messages_make_one_user(door: Door) -> None:
    """However many arrive at once for a new platform id, they are one person.

    A server that has enough in work asks some to come again, and they do.
    """
    who = {"platform": "matrix", "platform_user_id": "@eve", "display_name": "Eve"}

    async def resolved() -> dict[str, Any]:
        while True:
            try:
                return await door.resolve(**who)
            except Refused as refused:
                if refused.status != 503:
                    raise
            await asyncio.sleep(1)

    found = await asyncio.gather(*(resolved() for _ in range(1000)))
    assert len({one["id"] for one in found}) == 1
    assert rows("SELECT count(*) FROM users WHERE display_name = 'Eve'") == [(1,)]


async def test_a_preview_of_a_merge_counts_what_it_moves(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """The counts are those of the merge that follows, and the preview itself moves nothing."""
    await _live(memory, ada, bob, agent)
    before = (_everything(ada), _everything(bob), len(audit_lines()))
    counts = await door.preview_merge(ada, bob)
    assert (_everything(ada), _everything(bob), len(audit_lines())) == before
    assert counts["memories"] > 0
    assert (await door.merge(ada, bob))["counts"] == counts
    unknown, same = await refusals(door.preview_merge(ada, uuid4()), door.preview_merge(ada, ada))
    assert (unknown.status, same.status) == (404, 422)
