"""Spaces are subjects: each is told in its own conversations, and elsewhere under its name."""

import json
from typing import Any
from uuid import UUID

import pytest
from entry_points import Door, Json
from helpers import Api, rows
from pages import Browser, World
from rich.console import Console
from serving import mcp_client

from remembrancer import (
    Agent,
    AgentCreate,
    RecallQuery,
    Remembrancer,
    SpaceCreate,
    User,
    Visibility,
    as_actor,
)
from remembrancer.chat.dispatch import ChatCommands
from remembrancer.cli.recall import _render
from remembrancer.testing import FakePlatform

LETTERS = "Rose hid her letters from her sister."
QUESTION = "What did Rose hide from her sister?"


@pytest.fixture
async def other_agent(memory: Remembrancer) -> Agent:
    return await memory.agents.create(as_actor(), AgentCreate(name="Shopping bot"))


async def space(door: Door, user: User, name: str) -> str:
    return (await door.create_space(user=user, name=name))["id"]


async def talk(door: Door, user: User, agent: Agent, said: str = "", **fields: Any) -> str:
    """A conversation of a user with an agent, in which they have said something."""
    opened = await door.open(user=user, agent=agent, **fields)
    if said:
        await door.say(opened["id"], [{"content": said}], user=user)
    return opened["id"]


def text_of(context: Json) -> str:
    return f"{context['stable']['text']}\n{context['dynamic']['text']}"


async def tool(door: Door, user: User, **asked: Any) -> list[Json]:
    """What a model is told that recalls by a tool."""
    at = {name: asked.pop(name) for name in ("conversation_id", "agent") if name in asked}
    answer = await door.call("memory_recall", asked, user=user, **at)
    assert answer["ok"], answer["text"]
    return json.loads(answer["text"])["found"]


BEES, TALK, BOAT, NUTS = (
    "She kept bees behind the house.",
    "She sang to the bees at dusk.",
    "He built a boat of oak.",
    "Ada is allergic to nuts.",
)


@pytest.fixture
async def rose(door: Door, ada: User, agent: Agent) -> str:
    """A space with a fact and talk, beside another one and what Ada knows of herself."""
    spaces = [await space(door, ada, name) for name in ("Grandma Rose", "Grandpa Joe")]
    for where, fact in zip(spaces, (BEES, BOAT), strict=True):
        await door.remember_in(where, fact, user=ada, importance=0.9)
    await door.remember(NUTS, user=ada, agent=agent)
    await talk(door, ada, agent, TALK, space_id=spaces[0])
    await talk(door, ada, agent, "He sang to the boat at dawn.", space_id=spaces[1])
    return spaces[0]


# Case 31: a space is told in its own conversations, under its name ------------------------------


async def test_case_31_a_conversation_of_a_space_is_told_of_it_under_its_name(
    door: Door, ada: User, agent: Agent, rose: str
) -> None:
    """Facts and talk of this space, the person's own memory, and nothing of another space."""
    where = await talk(door, ada, agent, space_id=rose)
    question = "To whom or what was sung?"
    told = await door.context(user=ada, conversation_id=where, message=question)
    stable, dynamic = told["stable"]["text"], told["dynamic"]["text"]
    assert stable.index(NUTS) < stable.index('### In the space "Grandma Rose"') < stable.index(BEES)
    assert dynamic.index('Earlier messages, in the space "Grandma Rose"') < dynamic.index(TALK)
    assert "boat" not in text_of(told)
    await door.remember_in(rose, "She danced the tango.", user=ada)
    again = await door.context(user=ada, conversation_id=where)
    assert again["stable"]["text"] == stable
    assert 'began, in the space "Grandma Rose"' in again["dynamic"]["text"]
    assert "tango" in again["dynamic"]["text"]


async def test_case_31_another_conversation_is_told_nothing_of_a_space(
    door: Door, ada: User, agent: Agent, other_agent: Agent, rose: str
) -> None:
    """Neither through the same agent nor through a fresh one, in no block, nor as a change."""
    for through in (agent, other_agent, None):
        opened = await door.open(user=ada, **({"agent": through} if through else {}))
        for conversation in (opened["id"], None):
            asked = {"agent": through} if through and conversation is None else {}
            told = await door.context(
                user=ada, conversation_id=conversation, message=f"{BEES} {BOAT} {TALK}", **asked
            )
            assert "bees" not in text_of(told)
            assert "boat" not in text_of(told)
            assert (NUTS in text_of(told)) == (through is not other_agent)
        await door.remember_in(rose, f"She baked bread with {opened['id']}.", user=ada)
        later = await door.context(user=ada, conversation_id=opened["id"], joined=True)
        assert "bread" not in text_of(later)
        assert "bees" not in text_of(later)


async def test_case_31_the_past_and_a_page_are_told_nothing_of_a_space(
    door: Door, ada: User, rose: str
) -> None:
    """A context of a past time has no conversation, so no space."""
    now = rows("SELECT now()")[0][0].isoformat()
    told = await door.context(user=ada, as_of=now, message="Who kept bees?")
    assert "bees" not in text_of(told)
    assert NUTS in told["stable"]["text"]


async def test_case_31_the_budget_is_for_the_space_too(
    door: Door, ada: User, agent: Agent, rose: str
) -> None:
    """What does not fit is counted, wherever it lies; other spaces do not count."""
    where = await talk(door, ada, agent, space_id=rose)
    told = await door.context(user=ada, conversation_id=where, stable_tokens=110)
    assert told["stable"]["tokens"] <= 110
    assert len(told["stable"]["ids"]) + told["stable"]["left_out"] == 2
    assert told["stable"]["left_out"] > 0


async def test_case_31_shared_facts_name_their_author(
    door: Door, ada: User, bob: User, agent: Agent, rose: str
) -> None:
    """To others, not to the author; what Bob keeps there is told to him alone."""
    await door.add_member(rose, bob, user=ada)
    await door.remember_in(rose, "Rose hated snow.", user=bob, visibility="shared")
    await door.remember_in(rose, "Rose owed Bob ten pounds.", user=bob)
    lines = {}
    for user in (ada, bob):
        where = await talk(door, user, agent, space_id=rose)
        lines[user.display_name] = (await door.context(user=user, conversation_id=where))["stable"]
    assert "Rose hated snow. (shared by Bob, " in lines["Ada"]["text"]
    assert "Rose hated snow. (shared, " in lines["Bob"]["text"]
    assert "pounds" not in lines["Ada"]["text"]
    assert "pounds" in lines["Bob"]["text"]
    assert BEES not in lines["Bob"]["text"]


async def test_case_31_a_group_in_a_space_is_told_what_is_shared_there(
    door: Door, memory: Remembrancer, ada: User, bob: User, agent: Agent, rose: str
) -> None:
    """One block for all members, each line with its author; for a group with a stranger, none."""
    await door.add_member(rose, bob, user=ada)
    await door.remember_in(rose, "Rose hated snow.", user=bob, visibility="shared")
    await door.remember_in(rose, "Rose loved rain.", user=ada, visibility="shared")
    where = await talk(door, ada, agent, space_id=rose)
    await door.say(where, [{"content": "Hello!", "user_id": str(bob.id)}])
    blocks = [
        (await door.context(user=user, conversation_id=where))["stable"] for user in (ada, bob)
    ]
    assert blocks[0]["text"] == blocks[1]["text"]
    assert "Rose hated snow. (shared by Bob, " in blocks[0]["text"]
    assert "Rose loved rain. (shared by Ada, " in blocks[0]["text"]
    assert BEES not in blocks[0]["text"]
    assert NUTS not in blocks[0]["text"]
    assert blocks[0]["left_out"] == 0
    await door.remember_in(rose, "Rose drew horses.", user=bob, visibility="shared")
    later = await door.context(user=ada, conversation_id=where, message="What did Rose hate?")
    assert later["stable"]["text"] == blocks[0]["text"]
    assert "Rose drew horses. (shared by Bob, " in later["dynamic"]["text"]
    nobody = await door.context(conversation_id=where, message="What did Rose hate?")
    assert "Rose" not in text_of(nobody)
    stranger = {"platform": "discord", "platform_user_id": "9", "display_name": "Zed"}
    zed = await door.resolve(**stranger)
    await door.say(where, [{"content": "Hi!", "user_id": zed["id"]}])
    for user in (ada, bob):
        told = await door.context(user=user, conversation_id=where, message="What did Rose hate?")
        assert "snow" not in text_of(told)
        assert "rain" not in text_of(told)


async def test_case_31_who_left_a_space_is_told_nothing_of_it(
    door: Door, ada: User, bob: User, agent: Agent, rose: str
) -> None:
    """Not even in a conversation of it; asked, they find what is theirs, without a name."""
    await door.add_member(rose, bob, user=ada)
    await door.remember_in(rose, "Rose hated snow.", user=bob)
    where = await talk(door, bob, agent, space_id=rose)
    assert "snow" in text_of(await door.context(user=bob, conversation_id=where))
    await door.leave(rose, user=bob)
    told = await door.context(user=bob, conversation_id=where, message="What did Rose hate?")
    assert "snow" not in text_of(told)
    assert "Grandma" not in text_of(told)
    [hit] = (await door.recall("What did Rose hate?", user=bob))["hits"]
    assert (hit["content"], hit["space_id"], hit["space_name"]) == ("Rose hated snow.", rose, None)


async def test_case_31_a_person_who_asks_finds_all_with_space_and_author(
    door: Door, ada: User, bob: User, rose: str
) -> None:
    """In recall of each mode, in a list and by id."""
    await door.add_member(rose, bob, user=ada)
    made = await door.remember_in(rose, "Rose hated snow.", user=bob, visibility="shared")
    for asked in ({"query": "What did Rose hate?"}, {"query": None, "mode": "recent"}):
        hits = (await door.recall(user=ada, limit=20, **asked))["hits"]
        named = {hit["content"]: (hit["space_name"], hit["author"]) for hit in hits}
        assert named["Rose hated snow."] == ("Grandma Rose", "Bob")
        assert named[BEES] == ("Grandma Rose", None)
        assert named[BOAT] == ("Grandpa Joe", None)
        assert named[NUTS] == (None, None)
    listed = {one["content"]: one for one in (await door.listed(user=ada))["memories"]}
    read = await door.read(made["memory"]["id"], user=ada)
    for one in (listed["Rose hated snow."], read):
        assert (one["space_name"], one["author"]) == ("Grandma Rose", "Bob")
    assert (await door.read(made["memory"]["id"], user=bob))["author"] is None


async def test_case_31_a_tool_in_a_conversation_tells_nothing_of_other_spaces(
    door: Door, ada: User, bob: User, agent: Agent, rose: str
) -> None:
    """Of its own space with the name; of another one only if it is named; elsewhere all, named."""
    await door.add_member(rose, bob, user=ada)
    await door.remember_in(rose, "Rose hated snow.", user=bob, visibility="shared")
    for fields, expected in (({"space_id": rose}, {BEES, "Rose hated snow.", NUTS}), ({}, {NUTS})):
        where = await talk(door, ada, agent, **fields)
        for asked in ({"query": "Who kept bees, hated snow, built a boat?"}, {"mode": "recent"}):
            found = await tool(door, ada, conversation_id=where, agent=agent, **asked)
            assert {one["content"] for one in found if one["type"] == "memory"} == expected
            spaces = {one["content"]: (one.get("space"), one.get("shared_by")) for one in found}
            assert spaces[NUTS] == (None, None)
            if fields:
                assert spaces[BEES] == ("Grandma Rose", None)
                assert spaces["Rose hated snow."] == ("Grandma Rose", "Bob")
        found = await tool(door, ada, conversation_id=where, mode="recent", space="grandpa joe")
        assert [(one["content"], one["space"]) for one in found] == [(BOAT, "Grandpa Joe")]
    found = await tool(door, ada, mode="recent")
    assert {one.get("space") for one in found} == {"Grandma Rose", "Grandpa Joe", None}
    refused = await door.call("memory_recall", {"space": "Joe", "query": "boat"}, user=ada)
    assert "no space of this name" in refused["text"]
    assert "Grandpa Joe" in refused["text"]
    secret = await space(door, bob, "Bob's plans")
    refused = await door.call("memory_recall", {"space": "Bob's plans"}, user=ada)
    assert not refused["ok"]
    assert secret not in refused["text"]


async def shared_snow(memory: Remembrancer, ada: User, bob: User) -> UUID:
    """A fact that Bob shares with Ada in a space."""
    rose = SpaceCreate(name="Grandma Rose", member_ids=[bob.id])
    space_id = (await memory.spaces.create(as_actor(ada), rose)).id
    await memory.remember(
        "Rose hated snow.", user=bob, space_id=space_id, visibility=Visibility.SHARED
    )
    return space_id


async def test_case_31_chat_commands_and_the_command_line_name_space_and_author(
    memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    await shared_snow(memory, ada, bob)
    chat = FakePlatform(ChatCommands(memory, agent.id), platform="discord", limit=2000)
    for command in ("list", "search snow"):
        [text] = await chat.type(f"/memory {command}", user="Ada-1", name="Ada")
        assert "Rose hated snow. (in Grandma Rose, from Bob)" in text.replace("\\", "")
    answer = await memory.memories.recall(as_actor(ada), RecallQuery(query="snow"))
    console = Console(width=200)
    with console.capture() as captured:
        console.print(_render(answer, "snow"))
    assert "in Grandma Rose, from Bob" in captured.get()


async def test_case_31_mcp_tells_all_by_name_and_a_prompt_nothing_of_spaces(
    api: Api, memory: Remembrancer, ada: User, bob: User
) -> None:
    """A client without a conversation asks for the person; what is injected is not asked for."""
    await shared_snow(memory, ada, bob)
    key, app = await api.key_of(ada), api.client._transport.app
    async with mcp_client("http://test", key, app=app) as client:
        answer = await client.call_tool("memory_recall", {"query": "What did Rose hate?"})
        [hit] = answer.structured_content["found"]
        assert (hit["space"], hit["shared_by"]) == ("Grandma Rose", "Bob")
        [contents] = (await client.read_resource("remembrancer://context")).contents
        assert "snow" not in contents.text
        [prompt] = (await client.list_prompts()).prompts
        [said] = (await client.get_prompt(prompt.name, {"message": "What did Rose hate?"})).messages
        assert "snow" not in said.content.text


async def test_case_31_pages_name_space_and_author(world: World, ada_there: Browser) -> None:
    await shared_snow(world.memory, world.ada, world.bob)
    mine = f"/people/{world.ada.id}"
    page = await ada_there.get(f"{mine}/playground?query=What+did+Rose+hate")
    assert "in Grandma Rose, from Bob" in page
    page = await ada_there.get(f"{mine}/memories?text=snow")
    assert "Grandma Rose" in page
    assert "from Bob" in page


# Case 33: what is said privately in a space obeys the effective scope ---------------------------


async def test_case_33_a_line_told_to_one_agent_in_a_space_is_not_told_by_another(
    door: Door, ada: User, agent: Agent, other_agent: Agent
) -> None:
    """Neither in recall nor in the space's own conversations; a person finds it."""
    rose = await space(door, ada, "Grandma Rose")
    await talk(door, ada, agent, LETTERS, space_id=rose)
    for through in (agent, other_agent):
        told = LETTERS in await door.contents(QUESTION, user=ada, agent=through)
        assert told == (through is agent)
        where = await talk(door, ada, through, space_id=rose)
        context = await door.context(user=ada, conversation_id=where, message=QUESTION)
        assert (LETTERS in text_of(context)) == (through is agent)
    assert await door.contents(QUESTION, user=ada) == [LETTERS]


async def test_case_33_a_private_fact_of_one_agent_is_not_told_by_another(
    door: Door, ada: User, bob: User, agent: Agent, other_agent: Agent
) -> None:
    """One without an agent is for all agents; one that is shared is shown to the members."""
    rose = await space(door, ada, "Grandma Rose")
    await door.add_member(rose, bob, user=ada)
    kept = await door.remember(LETTERS, user=ada, agent=agent, space_id=rose)
    assert (kept["scope"], kept["memory"]["agent_id"]) == ("agent", str(agent.id))
    await door.remember_in(rose, "Rose danced the tango.", user=ada)
    assert LETTERS in await door.contents(QUESTION, user=ada, agent=agent)
    assert await door.contents(QUESTION, user=ada, agent=other_agent) == ["Rose danced the tango."]
    await door.prefer(ada, agent, False)
    assert LETTERS not in await door.contents(QUESTION, user=ada, agent=agent)
    await door.show(kept["memory"]["id"], "shared", user=ada)
    assert await door.contents(QUESTION, user=bob) == [LETTERS]


# Case 35: identity is always told ---------------------------------------------------------------


async def test_case_35_identity_is_always_told(door: Door, ada: User, agent: Agent) -> None:
    """Before pinned and important memories, whatever its importance; the rest is counted."""
    await door.remember("Ada is deaf.", kind="identity", importance=0.3, user=ada, agent=agent)
    made = await door.remember_many(
        [
            {"content": f"Ada keeps a record of the year {1950 + n}.", "importance": 0.9}
            for n in range(40)
        ],
        user=ada,
        agent=agent,
    )
    await door.pin(made[0]["memory"]["id"], user=ada)
    where = await talk(door, ada, agent)
    stable = (await door.context(user=ada, agent=agent, conversation_id=where, stable_tokens=150))[
        "stable"
    ]
    assert "Ada is deaf." in stable["text"]
    assert made[0]["memory"]["id"] in stable["ids"]
    assert len(stable["ids"]) + stable["left_out"] == 41


async def test_case_35_identity_is_told_if_it_is_learnt_late_and_in_groups(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Beside a frozen block before all else that is new, and of the current speaker."""
    where = await talk(door, ada, agent)
    await door.context(user=ada, conversation_id=where)
    await door.remember("Ada is deaf.", kind="identity", importance=0.3, user=ada, agent=agent)
    await door.remember_many(
        [{"content": f"Ada was born in house {n}.", "importance": 0.9} for n in range(25)],
        user=ada,
        agent=agent,
    )
    told = await door.context(user=ada, conversation_id=where)
    assert "Ada is deaf." in told["dynamic"]["text"]
    await door.say(where, [{"content": "Hello!", "user_id": str(bob.id)}])
    assert (
        "Ada is deaf." in (await door.context(user=ada, conversation_id=where))["dynamic"]["text"]
    )
    assert "deaf" not in text_of(await door.context(user=bob, conversation_id=where))
