"""What is erased is gone for good, with everything made of it; what is exported is all there is."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from entry_points import Door, refusals
from helpers import ADMIN, Api, audit_lines, person, rows

from remembrancer import (
    Agent,
    AssociationCreate,
    ContextQuery,
    ConversationCreate,
    MemoryUpdate,
    MessageCreate,
    MoveRequest,
    Remembrancer,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.db.tables import metadata
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.portability.repository import EXPORTED, LEFT_OUT

OWNER_COLUMNS = ("owner_id", "user_id")
_NAMES = {
    "memories": "memorys",
    "memory_preferences": "preferences",
    "memory_versions": "versions",
    "space_members": "spaces",
    "chunks": "summaries",
    "withheld_messages": "withheld_by",
}
"""What the rows of a table are called in an export."""
KEPT = {"audit_log"}
"""Holds ids, never content, and outlives what it tells of."""


def _owned() -> set[str]:
    """Every table whose rows belong to somebody."""
    return {t.name for t in metadata.sorted_tables if {*OWNER_COLUMNS} & {*t.columns.keys()}}


def _rows_of(user: User) -> dict[str, int]:
    """Rows of a user by table, in every table that has an owner."""
    found = {}
    for table in metadata.sorted_tables:
        column = "id" if table.name == "users" else None
        column = column or next((c for c in OWNER_COLUMNS if c in table.columns), None)
        if column and table.name not in KEPT:
            [[count]] = rows(f"SELECT count(*) FROM {table.name} WHERE {column} = %s", user.id)
            found[table.name] = count
    return {name: count for name, count in found.items() if count}


async def _lived_in(memory: Remembrancer, user: User, agent: Agent, word: str) -> None:
    """Give a user some of everything; all its texts contain ``word``."""
    me = as_actor(user, agent)
    space = await memory.spaces.create(as_actor(user), SpaceCreate(name=f"{word} space"))
    first = await memory.remember(f"The {word} is blue.", user=user, agent=agent)
    other = await memory.remember(f"The {word} was green.", user=user, space_id=space.id)
    await memory.memories.update(me, first.memory.id, MemoryUpdate(content=f"The {word} is red."))
    await memory.remember(f"The {word} is red.", user=user, agent=agent, idempotency_key="k")
    rows("INSERT INTO space_refusals VALUES (%s, %s, false)", user.id, uuid4())
    await memory.associations.add(me, first.memory.id, _edge(other.memory.id))
    talk = await memory.conversations.open(me, ConversationCreate(agent_id=agent.id))
    await memory.conversations.append(
        me, talk.id, [MessageCreate(content=f"I saw the {word}."), MessageCreate(content="Yes.")]
    )
    seen = await memory.remember(f"I saw the {word}!", user=user, agent=agent)
    assert (await memory.memories.forget(me, seen.memory.id)).messages == 1
    _chunk(user, talk.id, f"They talk of the {word}.")
    await memory.conversations.context(me, ContextQuery(conversation_id=talk.id))
    rows(
        "INSERT INTO memory_preferences (user_id, agent_id, id, allow_agent_specific_memory) "
        "VALUES (%s, %s, %s, true)", user.id, agent.id, uuid4())  # fmt: skip
    await memory.saved_filters.save(me, f"The {word}", MemoryFilter(text=word))
    key = KeyCreate(name="own", role=Role.USER, user_id=user.id)
    await memory.keys.create(ADMIN, key)
    await memory.sign_ins.link(ADMIN, user.id)
    link = await memory.sign_ins.link(ADMIN, user.id)
    await memory.uploads.create(me, "chats.json", _file(word))
    await memory.sign_ins.redeem(link, entry_point="web")
    await memory.moves.move(as_actor(), user.id, agent.id, MoveRequest(to="global", dry_run=False))
    rows(
        """
        INSERT INTO reembeddings (owner_id, item_id, model, embedding)
        SELECT owner_id, id, 'next', embedding FROM recall_items WHERE owner_id = %s
        """,
        user.id,
    )
    await memory.memories.list(me)
    await memory.reads.flush()


async def _file(word: str) -> AsyncIterator[bytes]:
    yield f'[{{"content": "The {word}"}}]'.encode()


def _edge(target: str) -> AssociationCreate:
    return AssociationCreate(target_id=target, relation="related_to")


def _chunk(user: User, conversation: Any, content: str, start: int = 1, end: int = 2) -> None:
    """Store a summary as the jobs do, with what search has of it."""
    chunk, item = uuid4(), rows("SELECT nextval(pg_get_serial_sequence('recall_items', 'id'))")
    rows(
        """
        INSERT INTO chunks
               (owner_id, id, conversation_id, range_start, range_end, content, agent_id)
        SELECT owner_id, %s, conversation_id, %s, %s, %s, agent_id
          FROM messages WHERE conversation_id = %s AND owner_id = %s LIMIT 1
        """,
        chunk, start, end, content, conversation, user.id,
    )  # fmt: skip
    rows(
        """
        INSERT INTO recall_items (owner_id, id, length, content_hash, embedding, source_type,
                                  source_id, conversation_id, at, agent_id)
        SELECT owner_id, %s, 3, 'x', embedding, 'chunk', %s, conversation_id, now(), agent_id
          FROM recall_items WHERE owner_id = %s AND source_type = 'message' LIMIT 1
        """,
        item[0][0], chunk, user.id,
    )  # fmt: skip


async def test_delete_all_for_one_while_another_writes(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """One is gone from every table, the other has every row, and the receipt counts right."""
    await _lived_in(memory, ada, agent, "heron")
    await _lived_in(memory, bob, agent, "otter")
    before, others = _rows_of(ada), _rows_of(bob)
    assert before.keys() == _owned() - KEPT | {"users"}
    would = await door.erase_user(ada)
    assert would["dry_run"]
    assert _rows_of(ada) == before
    writes = [memory.remember(f"Otter number {n}", user=bob, agent=agent) for n in range(8)]
    receipt, *_ = await asyncio.gather(door.erase_user(ada, dry_run=False), *writes)
    assert _rows_of(ada) == {}
    assert _rows_of(bob)["memories"] == others["memories"] + 8
    assert _rows_of(bob)["messages"] == others["messages"]
    assert {name: n for name, n in receipt["rows"].items() if name in before} == before
    assert receipt["total"] == sum(receipt["rows"].values())
    assert receipt["rows"] == would["rows"]
    assert not [row for row in _all_text() if "heron" in row]
    [line] = [line for line in audit_lines() if line.action == "erase.user"]
    assert (line.owner_id, line.target_ids) == (ada.id, [str(ada.id)])
    [gone] = await refusals(door.listed(user=ada))
    assert gone.status == 404


def _all_text() -> list[str]:
    """Every row of every table but the audit log, which keeps ids, as text."""
    found = []
    for table in metadata.sorted_tables:
        if table.name not in KEPT:
            found += [text for (text,) in rows(f"SELECT t::text FROM {table.name} AS t")]
    return found


async def test_writers_of_one_who_is_erased_find_nobody(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """A write either came before the end, and is erased with the rest, or is refused."""
    await _lived_in(memory, ada, agent, "heron")
    ended = await asyncio.gather(
        *(memory.remember(f"Heron number {n}", user=ada) for n in range(6)),
        door.erase_user(ada, dry_run=False),
        *(memory.remember(f"Late heron number {n}", user=ada) for n in range(6)),
        return_exceptions=True,
    )
    assert not isinstance(ended[6], BaseException)
    assert _rows_of(ada) == {}


async def test_memories_only_leaves_the_user(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Links, keys, preferences and memberships stay; nothing is remembered."""
    await _lived_in(memory, ada, agent, "heron")
    await door.erase_user(ada, dry_run=False, memories_only=True)
    assert set(_rows_of(ada)) == {
        "users",
        "api_keys",
        "platform_links",
        "memory_preferences",
        "space_members",
        "space_refusals",
        "sessions",
        "sign_in_links",
    }
    assert (await door.listed(user=ada))["total"] == 0
    await door.remember("A new beginning.", user=ada)


async def test_what_others_share_of_a_space_outlives_its_owner(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """A space goes with its last member; before that somebody else becomes its owner."""
    shared = await memory.spaces.create(as_actor(ada), SpaceCreate(name="S", member_ids=[bob.id]))
    alone = await memory.spaces.create(as_actor(ada), SpaceCreate(name="T"))
    await memory.remember("Ours.", user=bob, space_id=shared.id, visibility="shared")
    await door.erase_user(ada, dry_run=False)
    assert rows("SELECT id FROM spaces") == [(shared.id,)]
    assert rows("SELECT user_id, role FROM space_members") == [(bob.id, "owner")]
    assert alone.id != shared.id


async def test_a_summary_over_somebody_elses_words_goes_with_them(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """In a group, what was made of one person's messages is erased from everybody's memory."""
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate())
    said = [MessageCreate(content="The heron!", user_id=ada.id),
            MessageCreate(content="Where?", user_id=bob.id)]  # fmt: skip
    await memory.conversations.append(as_actor(), talk.id, said)
    _chunk(bob, talk.id, "Ada: The heron! Bob: Where?")
    await door.erase_user(ada, dry_run=False)
    assert rows("SELECT count(*) FROM chunks") == [(0,)]
    assert [m["content"] for m in await door.window(talk.id, user=bob)] == ["Where?"]
    assert await door.contents("heron", user=bob) == ["Where?"]


# 17 Derived data -----------------------------------------------------------------------


async def test_nothing_that_rests_only_on_an_erased_message_can_be_recalled(
    door: Door, memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Summaries over it go, and memories with no other source; others lose one source."""
    talk = (await door.open(user=ada, agent=agent))["id"]
    said = await door.say(talk, [{"content": f"Message {n}"} for n in range(4)], user=ada)
    gone, kept = (said["messages"][n]["id"] for n in (1, 2))
    _chunk(ada, talk, "They count messages.", 1, 3)
    _chunk(ada, talk, "They count on.", 4, 4)

    async def learn(text: str, message: str) -> str:
        made = await door.remember(text, user=ada, agent=agent, message_id=message)
        return made["memory"]["id"]

    only = await learn("Rests on one message.", gone)
    both = await learn("Rests on two messages.", gone)
    assert await learn("Rests on two messages.", kept) == both
    changed = await learn("First words.", kept)
    await door.update(changed, user=ada, content="Second words.", message_id=gone)
    would = await door.delete_message(talk, gone, user=ada, dry_run=True)
    receipt = await door.delete_message(talk, gone, user=ada)
    assert would["rows"] == receipt["rows"]
    assert (receipt["rows"]["messages"], receipt["rows"]["memories"]) == (1, 1)
    listed = {m["id"]: m for m in (await door.listed(user=ada, agent=agent))["memories"]}
    assert listed.keys() == {both, changed}
    assert only not in listed
    assert listed[both]["mention_count"] == 1
    assert (listed[changed]["content"], listed[changed]["version"]) == ("First words.", 1)
    assert rows("SELECT content FROM chunks ORDER BY 1") == [("",), ("They count on.",)]
    window = await door.window(talk, user=ada)
    assert [(m["position"], m["content"]) for m in window] == [
        (1, "Message 0"),
        (3, "Message 2"),
        (4, "Message 3"),
    ]
    every = ["memory", "message", "chunk"]
    found = await door.contents(
        "Message words count", user=ada, agent=agent, limit=50, sources=every
    )
    assert set(found) == {
        "Message 0", "Message 2", "Message 3", "They count on.",
        "Rests on two messages.", "First words.",
    }  # fmt: skip
    assert not [text for text in _all_text() if gone in text]


async def test_a_memory_of_somebody_else_that_rests_on_an_erased_message_goes(
    door: Door, ada: User, bob: User
) -> None:
    """Whose it is does not matter: his and what all share, from her one message, are gone."""
    talk = (await door.open(user=ada))["id"]
    hers = {"content": "Bob was born in May.", "user_id": str(ada.id)}
    said = (await door.say(talk, [hers, {"content": "Yes.", "user_id": str(bob.id)}]))["messages"]
    cite = {"message_id": said[0]["id"], "conversation_id": talk}
    await door.remember("Bob was born in May.", user=bob, **cite)
    await door.remember("May is a month.", shared=True, **cite)
    await door.remember("Bob keeps wasps.", user=bob)
    await door.delete_message(talk, said[0]["id"], user=ada)
    left = [one["content"] for one in (await door.listed(user=bob))["memories"]]
    assert left == ["Bob keeps wasps."]
    assert await door.contents("born in May", user=bob, sources=["memory"]) == ["Bob keeps wasps."]


async def test_what_rests_on_the_words_of_one_who_is_erased_goes_with_them(
    door: Door, ada: User, bob: User
) -> None:
    """His memory of what she alone said goes; what he said as well keeps that source."""
    talk = (await door.open(user=ada))["id"]
    hers = {"content": "I sing.", "user_id": str(ada.id)}
    his = {"content": "She sings.", "user_id": str(bob.id)}
    said = [m["id"] for m in (await door.say(talk, [hers, his]))["messages"]]
    await door.remember("Ada hums at night.", user=bob, message_id=said[0])
    for message in said:
        await door.remember("Ada sings.", user=bob, message_id=message)
    await door.erase_user(ada, dry_run=False)
    [left] = (await door.listed(user=bob))["memories"]
    assert (left["content"], left["mention_count"]) == ("Ada sings.", 1)


async def test_two_memories_that_come_to_say_the_same_are_one(door: Door, ada: User) -> None:
    """Where the words before hold again in both, one of them holds and the other is put aside."""
    talk = (await door.open(user=ada))["id"]
    said = await door.say(talk, [{"content": "One."}, {"content": "Two."}], user=ada)
    kept, gone = (message["id"] for message in said["messages"])
    for later in ("The hen is brown.", "A boat sails north."):
        made = await door.remember("First words.", user=ada, message_id=kept)
        assert made["outcome"] == "created"
        await door.update(made["memory"]["id"], user=ada, content=later, message_id=gone)
    await door.delete_message(talk, gone, user=ada)
    assert [m["content"] for m in (await door.listed(user=ada))["memories"]] == ["First words."]
    assert await door.contents("First words", user=ada, sources=["memory"]) == ["First words."]


async def test_an_update_without_new_words_gives_back_what_search_has(
    door: Door, ada: User
) -> None:
    """The message that only raised the importance is erased: the memory is found as before."""
    talk = (await door.open(user=ada))["id"]
    said = await door.say(talk, [{"content": "One."}, {"content": "Two."}], user=ada)
    kept, gone = (message["id"] for message in said["messages"])
    made = (await door.remember("The heron is blue.", user=ada, message_id=kept))["memory"]["id"]
    await door.update(made, user=ada, importance=0.9, message_id=gone)
    await door.delete_message(talk, gone, user=ada)
    history = await door.read(made, user=ada)
    assert [version["version"] for version in history["versions"]] == [1]
    assert await door.contents("heron", user=ada, sources=["memory"]) == ["The heron is blue."]


async def test_words_that_were_corrected_by_hand_outlive_their_message(
    door: Door, ada: User
) -> None:
    """An update that cites nothing rests on nothing but itself."""
    talk = (await door.open(user=ada))["id"]
    gone = (await door.say(talk, [{"content": "Blue."}], user=ada))["messages"][0]["id"]
    made = (await door.remember("The heron is blue.", user=ada, message_id=gone))["memory"]["id"]
    await door.update(made, user=ada, content="The heron is grey.")
    await door.delete_message(talk, gone, user=ada)
    history = await door.read(made, user=ada)
    assert [version["content"] for version in history["versions"]] == ["The heron is grey."]
    assert await door.contents("heron", user=ada, sources=["memory"]) == ["The heron is grey."]


async def test_words_hold_again_until_when_they_held_before(door: Door, ada: User) -> None:
    """The end that a successor gave them goes with it; one of their own stays."""
    talk = (await door.open(user=ada))["id"]
    said = await door.say(talk, [{"content": "One."}, {"content": "Two."}], user=ada)
    kept, gone = (message["id"] for message in said["messages"])
    ends = {}
    for words, end in (("Ada lives in Rome.", None), ("Ada rents a boat.", "2030-01-01T00:00:00Z")):
        made = await door.remember(words, user=ada, message_id=kept, valid_to=end)
        memory_id = made["memory"]["id"]
        changes = {"content": f"Changed {memory_id}.", "valid_from": "2020-01-01T00:00:00Z"}
        await door.update(memory_id, user=ada, message_id=gone, **changes)
        ends[memory_id] = made["memory"]["valid_to"]
    await door.delete_message(talk, gone, user=ada)
    listed = (await door.listed(user=ada))["memories"]
    assert {one["id"]: one["valid_to"] for one in listed} == ends


async def test_of_several_who_erase_a_memory_one_does(door: Door, ada: User) -> None:
    """The others are told that there is none, and so is who repeats what made it."""
    made = (await door.remember("Ada keeps bees.", user=ada, key="k"))["memory"]["id"]
    ended = await asyncio.gather(
        *(door.erase_memory(made, user=ada, dry_run=False) for _ in range(4)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, dict) for one in ended) == 1
    again = door.remember("Ada keeps bees.", user=ada, key="k")
    assert [one.status for one in await refusals(again)] == [404]


async def test_a_receipt_says_who_asked_and_nothing_goes_unconfirmed(api: Api, ada: User) -> None:
    """Role, for whom, and the key; for good only with the user's id once more."""
    path = f"/api/users/{ada.id}/erase"
    would = (await api.client.post(path, headers=api.admin)).json()
    assert (would["actor_role"], would["actor_user_id"]) == ("admin", str(ada.id))
    assert would["actor_key_id"]
    for confirm in ("", f"&confirm={uuid4()}"):
        answer = await api.client.post(f"{path}?dry_run=false{confirm}", headers=api.admin)
        assert answer.status_code == 422
        assert [one["field"] for one in answer.json()["errors"]] == ["confirm"]
    assert _rows_of(ada)["users"] == 1


async def test_an_erased_memory_is_gone_with_its_edges(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Forgetting can be undone, erasing cannot; somebody else can do neither."""
    one = (await door.remember("Ada keeps bees.", user=ada))["memory"]["id"]
    two = (await door.remember("Bees make honey.", user=ada))["memory"]["id"]
    await memory.associations.add(as_actor(ada), two, _edge(one))
    [refused] = await refusals(door.erase_memory(one, user=bob, dry_run=False))
    assert refused.status == 404
    assert [line.outcome for line in audit_lines() if line.action == "erase.memory"] == ["refused"]
    receipt = await door.erase_memory(one, user=ada, dry_run=False)
    assert receipt["rows"]["associations"] == 1
    [restored] = await refusals(door.restore(one, user=ada))
    assert restored.status == 404
    assert [m["id"] for m in (await door.listed(user=ada))["memories"]] == [two]


async def test_somebody_elses_message_and_user_cannot_be_erased(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Who is not the owner finds nothing to erase."""
    talk = (await door.open(user=ada))["id"]
    said = await door.say(talk, [{"content": "Mine."}], user=ada)
    own = await door.of(bob)
    refused = await refusals(
        own.delete_message(talk, said["messages"][0]["id"]),
        own.erase_user(ada, dry_run=False),
        own.exported(ada),
        door.erase_user(uuid4(), dry_run=False),
    )
    assert [one.status for one in refused] == [404] * 4
    assert len(await door.window(talk, user=ada)) == 1
    noted = sorted(line.action for line in audit_lines() if line.outcome == "refused")
    assert noted == ["erase.message", "erase.user", "erase.user", "user.export"]


async def test_an_export_is_complete_and_of_nobody_else(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Every row of every owned table is in it, or in the list of what is derived."""
    await _lived_in(memory, ada, agent, "heron")
    await _lived_in(memory, bob, agent, "otter")
    lines = await door.exported(ada)
    assert lines[0]["type"] == "user"
    counted = Counter(f"{line['type']}s" for line in lines)
    for line in lines:
        counted.update(
            {name: len(value) for name, value in line.items() if isinstance(value, list)}
        )
    [[seen]] = rows("SELECT id FROM memories WHERE status = 'forgotten' AND owner_id = %s", ada.id)
    expected = _rows_of(ada)
    assert expected.keys() <= EXPORTED | LEFT_OUT.keys()
    for table in expected.keys() & EXPORTED:
        name = _NAMES.get(table, table)
        forgotten = table in {"memories", "memory_versions", "mentions"}
        assert counted[name] == expected[table] - forgotten, table
    assert "withheld_by" in str(lines)
    assert seen in str(lines)
    assert not [line for line in lines if line.get("id") == seen]
    assert not [line for line in lines if "otter" in str(line)]
    assert "heron" in str(lines)
    assert "hash'" not in str(lines)
    # A new table is exported, or it is said why not.
    assert _owned() == (EXPORTED & _owned()) | LEFT_OUT.keys()
    assert len(LEFT_OUT) == 13
    assert await door.exported(await person(memory, "Cleo"))
