"""Memories with an id of their writer: `external_id`."""

from typing import Any

import pytest
from entry_points import Door, refusals
from helpers import audit_lines, exported, rows
from test_expiry import in_days, let_time_pass

from remembrancer import Agent, AgentCreate, Remembrancer, User, as_actor

NOTE = "Ada's bicycle is at the blue gate."
NAME = "external:notes/17"


@pytest.fixture
async def note(door: Door, ada: User) -> dict[str, Any]:
    stored = await door.remember(NOTE, user=ada, external_id="notes/17")
    memory: dict[str, Any] = stored["memory"]
    return memory


async def test_the_same_again_changes_nothing(door: Door, ada: User, note: dict[str, Any]) -> None:
    """No row differs, and the answer is the same memory; in a batch too, and within one."""
    stored = "SELECT to_jsonb(m) FROM memories AS m"
    before = rows(stored), rows("SELECT count(*) FROM mentions")
    again = await door.remember(NOTE, user=ada, external_id="notes/17", importance=1.0)
    assert (again["outcome"], again["memory"]) == ("unchanged", note)
    statement = {"content": NOTE, "external_id": "notes/17"}
    many = await door.remember_many([statement, statement], user=ada)
    assert [result["outcome"] for result in many] == ["unchanged", "unchanged"]
    assert (rows(stored), rows("SELECT count(*) FROM mentions")) == before
    new = {"content": "Ada's boat is red.", "external_id": "notes/18"}
    twice = await door.remember_many([new, new], user=ada)
    assert [result["outcome"] for result in twice] == ["created", "unchanged"]


async def test_other_words_are_refused_with_the_memory_to_update(
    door: Door, ada: User, note: dict[str, Any]
) -> None:
    """Nothing is overwritten unasked; an update by the own id keeps the id."""
    moved = "Ada's bicycle is at the red gate."
    [refused] = await refusals(door.remember(moved, user=ada, external_id="notes/17"))
    assert (refused.status, refused.fields) == (409, ["external_id"])
    assert (refused.extra["memory_id"], refused.extra["version"]) == (note["id"], 1)
    [similar] = await door.remember_many([{"content": moved, "external_id": "notes/17"}], user=ada)
    assert (similar["outcome"], similar["memory"]["content"]) == ("similar", NOTE)
    changed = await door.update(NAME, user=ada, content=moved)
    assert (changed["id"], changed["external_id"], changed["version"]) == (
        note["id"],
        "notes/17",
        2,
    )
    again = await door.remember(moved, user=ada, external_id="notes/17")
    assert again["outcome"] == "unchanged"
    for how in ({}, {"mode": "recent"}):
        [hit] = (await door.recall("Where is the bicycle?", user=ada, **how))["hits"]
        assert (hit["content"], hit["external_id"]) == (moved, "notes/17")


async def test_an_own_id_decides_what_is_the_same_not_the_words(
    door: Door, ada: User, note: dict[str, Any]
) -> None:
    """Two notes may say the same, on the same subject; each is found and forgotten by its id."""
    copy = await door.remember(NOTE, user=ada, external_id="notes/18", subject="bicycle")
    third = await door.remember("Ada oils it.", user=ada, external_id="3", subject="bicycle")
    assert [copy["outcome"], third["outcome"]] == ["created", "created"]
    listed = await door.listed(user=ada, external_ids=["notes/17", "notes/18", "none"])
    assert {memory["id"] for memory in listed["memories"]} == {note["id"], copy["memory"]["id"]}
    await door.forget("external:notes/18", user=ada)
    assert (await door.read(NAME, user=ada))["id"] == note["id"]


async def test_every_operation_on_a_memory_takes_the_own_id(
    door: Door, ada: User, memory: Remembrancer, note: dict[str, Any]
) -> None:
    """Reads, pins, switches, associations, forgetting, restoring and erasing."""
    other = await door.remember("Ada has a bicycle.", user=ada)
    assert (await door.pin(NAME, user=ada))["pinned"]
    assert (await door.activate(NAME, user=ada, active=False))["status"] == "inactive"
    assert (await door.activate(NAME, user=ada))["status"] == "active"
    await door.associate(NAME, other["memory"]["id"], user=ada)
    assert (await door.forget(NAME, user=ada))["id"] == note["id"]
    assert (await door.restore(NAME, user=ada))["id"] == note["id"]
    receipt = await door.erase_memory(NAME, user=ada, dry_run=False)
    assert receipt["target_id"] == note["id"]
    assert rows("SELECT count(*) FROM memories WHERE external_id IS NOT NULL") == [(0,)]
    assert "notes/17" not in str(audit_lines())


async def test_an_export_has_it(ada: User, memory: Remembrancer) -> None:
    """With the memory it belongs to."""
    await memory.remember(NOTE, user=ada, external_id="notes/17")
    lines = await exported(memory, ada)
    assert [line["external_id"] for line in lines if line["type"] == "memory"] == ["notes/17"]


async def test_a_tool_takes_the_own_id(door: Door, ada: User, note: dict[str, Any]) -> None:
    """As a program puts it into a prompt; somebody else's is unknown."""
    gone = await door.call("forget_memory", {"memory_id": NAME}, user=ada)
    assert gone["result"]["memory_id"] == note["id"]
    again = await door.call("forget_memory", {"memory_id": NAME}, user=ada)
    assert not again["ok"]


async def test_a_forgotten_one_stays_so_and_its_id_is_free(
    door: Door, ada: User, note: dict[str, Any]
) -> None:
    """The newer memory has the id; the older one can be restored only without it."""
    await door.forget(NAME, user=ada)
    again = await door.remember(NOTE, user=ada, external_id="notes/17")
    assert again["outcome"] == "created"
    assert again["memory"]["id"] != note["id"]
    assert (await door.read(NAME, user=ada))["id"] == again["memory"]["id"]
    [refused] = await refusals(door.restore(note["id"], user=ada))
    assert refused.status == 409


async def test_what_is_set_aside_is_still_there(
    door: Door, ada: User, note: dict[str, Any]
) -> None:
    """A copy from outside does not bring back what the user switched off."""
    await door.activate(note["id"], user=ada, active=False)
    again = await door.remember(NOTE, user=ada, external_id="notes/17")
    assert (again["outcome"], again["memory"]["status"]) == ("unchanged", "inactive")
    assert again["memory"]["id"] == note["id"]


async def test_an_expired_one_is_remembered_anew(door: Door, ada: User) -> None:
    """Before a sweep too."""
    parked = {"content": NOTE, "external_id": "car", "expires_at": in_days(1)}
    stored = await door.remember(**parked, user=ada)
    let_time_pass(stored["memory"]["id"])
    again = await door.remember(**parked, user=ada)
    assert again["outcome"] == "mentioned"
    assert (await door.read("external:car", user=ada))["content"] == NOTE


async def test_an_own_id_is_no_oracle(
    door: Door, ada: User, bob: User, note: dict[str, Any]
) -> None:
    """Bob's note 17 is his; Ada's is unknown to him by any way, also one that she shares."""
    made = await door.remember("Bob's note.", user=bob, external_id="notes/17")
    assert made["outcome"] == "created"
    assert (await door.read(NAME, user=bob))["id"] == made["memory"]["id"]
    await door.erase_memory(made["memory"]["id"], user=bob, dry_run=False)
    space = await door.create_space(name="Garden", user=ada)
    await door.add_member(space["id"], bob, user=ada)
    fact = {"space_id": space["id"], "visibility": "shared", "external_id": "rose"}
    await door.remember("The rose is white.", user=ada, **fact)
    refused = await refusals(
        *(
            call(name, user=bob)
            for name in (NAME, "external:rose", "external:none")
            for call in (door.read, door.forget, door.restore, door.erase_memory)
        )
    )
    assert {(one.status, *one.fields) for one in refused} == {(404, "memory_id")}
    assert (await door.listed(user=bob, external_ids=["notes/17"]))["total"] == 0
    assert "notes/17" not in str(audit_lines())


async def test_agents_have_their_own(
    door: Door, ada: User, agent: Agent, memory: Remembrancer
) -> None:
    """Those of one agent alone do not meet those of another; without an agent, it must be said."""
    other = await memory.agents.create(as_actor(), AgentCreate(name="Other"))
    for each in (agent, other):
        await door.prefer(ada, each, True)
        made = await door.remember(f"Note of {each.name}.", user=ada, agent=each, external_id="1")
        assert made["outcome"] == "created"
    seen = await door.read("external:1", user=ada, agent=agent)
    assert seen["content"] == f"Note of {agent.name}."
    [refused] = await refusals(door.forget("external:1", user=ada))
    assert (refused.status, refused.fields) == (409, ["memory_id"])


async def test_a_merge_and_its_undo_know_it(
    door: Door, ada: User, bob: User, memory: Remembrancer, note: dict[str, Any]
) -> None:
    """Of two with one id, the survivor's is in use; an undo gives both back."""
    await door.remember("Bob's bicycle is gone.", user=bob, external_id="notes/17")
    await door.remember("Bob rows.", user=bob, external_id="boat")
    merged = await memory.users.merge(as_actor(), ada.id, bob.id)
    assert (await door.read(NAME, user=ada))["content"] == NOTE
    assert (await door.read("external:boat", user=ada))["content"] == "Bob rows."
    again = await door.remember(NOTE, user=ada, external_id="notes/17")
    assert again["outcome"] == "unchanged"
    await memory.users.undo_merge(as_actor(), ada.id, merged.undo_id)
    assert (await door.read(NAME, user=bob))["content"] == "Bob's bicycle is gone."
    assert (await door.read(NAME, user=ada))["content"] == NOTE


async def test_a_move_keeps_it(door: Door, ada: User, agent: Agent) -> None:
    """Also where the other scope has one of this id."""
    await door.prefer(ada, agent, True)
    await door.remember(NOTE, user=ada, agent=agent, external_id="1")
    await door.remember("Ada rows.", user=ada, agent=agent, external_id="2")
    await door.remember("Ada rows a boat.", user=ada, external_id="2")
    moved = await door.move(ada, agent, to="global", dry_run=False)
    assert (moved["moved"], moved["merged"]) == (1, 1)
    await door.prefer(ada, agent, False)
    assert (await door.read("external:1", user=ada, agent=agent))["content"] == NOTE
    read = await door.read("external:2", user=ada, agent=agent)
    assert read["content"] == "Ada rows a boat."


async def test_a_version_that_is_erased_leaves_the_id(
    door: Door, ada: User, note: dict[str, Any]
) -> None:
    """With the message of the current version, the one before counts, under the same id."""
    source = await door.source(ada)
    await door.update(NAME, user=ada, content="Ada's bicycle is stolen.", **source)
    await door.delete_message(source["conversation_id"], source["message_id"], user=ada)
    again = await door.remember(NOTE, user=ada, external_id="notes/17")
    assert (again["outcome"], again["memory"]["id"]) == ("unchanged", note["id"])


@pytest.mark.parametrize("wrong", ["", " ", "a\nb", "a\x00b", "x" * 256, 7, ["a"]])
async def test_what_can_be_no_own_id_is_refused(door: Door, ada: User, wrong: Any) -> None:
    """By its field; as an argument, it is unknown."""
    [refused] = await refusals(door.remember(NOTE, user=ada, external_id=wrong))
    assert (refused.status, refused.fields) == (422, ["external_id"])
    if isinstance(wrong, str):
        [unknown] = await refusals(door.read(f"external:{wrong}", user=ada))
        assert unknown.status == 404


async def test_a_place_has_its_own_id_already(door: Door, ada: User) -> None:
    """One of the two is enough."""
    place = {"kind": "place", "subject": "Home", "place_id": "home", "external_id": "1"}
    [refused] = await refusals(door.remember("Home", user=ada, **place))
    assert (refused.status, refused.fields) == (422, ["external_id"])


async def test_shared_knowledge_has_own_ids_too(door: Door, ada: User) -> None:
    """A service that acts for nobody writes and forgets by it; a user reads."""
    await door.remember("The kitchen closes at nine.", shared=True, external_id="kitchen")
    assert (await door.read("external:kitchen", user=ada))["shared"]
    [refused] = await refusals(door.forget("external:kitchen", user=ada))
    assert refused.status == 403
    await door.forget("external:kitchen")
    [gone] = await refusals(door.read("external:kitchen", user=ada))
    assert gone.status == 404
