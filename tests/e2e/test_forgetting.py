"""Case 39: a forgotten memory takes the messages that say it along, and restoring undoes that."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entry_points import Door, Json, PythonDoor
from helpers import Api, Store, empty, rows
from pages import Browser, World
from serving import mcp_client
from tool_walk import done

from remembrancer import Agent, MemoryCreate, Remembrancer, User, as_actor
from remembrancer.chat.dispatch import ChatCommands
from remembrancer.cli import main
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url
from remembrancer.embeddings import create_embedder
from remembrancer.memories.source_messages import SAME, SOURCE
from remembrancer.search.index import voiced
from remembrancer.settings import EmbeddingSettings
from remembrancer.testing import FakePlatform

SECRET = "My cat is called Miso"  # noqa: S105 - no password
PAIRS = Path(__file__).parents[1] / "data" / "forgetting.jsonl"


def words(count: int) -> list[Json]:
    return [{"content": f"word {n}"} for n in range(1, count + 1)]


async def talk(door: Door, user: User, messages: list[Json], **fields: Any) -> str:
    opened = await door.open(user=user, **fields)
    await door.say(opened["id"], messages, user=user)
    return str(opened["id"])


async def told(door: Door, user: User, conversation: str, about: str = "Miso") -> set[str]:
    """Where the words come back: recall, summaries, another prompt, the next turn's."""
    found = {
        "recall": await door.recall("What is my cat called?", user=user),
        "summary": await door.recall("cat Miso", user=user, sources=["chunk"]),
        "chunks": await door.chunks(conversation, user=user),
    }
    elsewhere = await door.open(user=user)
    found["context"] = await door.context(
        user=user, conversation_id=elsewhere["id"], message="my cat", joined=True
    )
    turn = await door.turn(conversation, {"content": "What did I say?"}, user=user)
    found["turn"] = [turn["context"], turn["messages"]]
    return {name for name, answer in found.items() if about in json.dumps(answer)}


# The doors ----------------------------------------------------------------------------------


async def test_case_39_forgetting_takes_out_the_sentence_and_restoring_brings_it_back(
    door: Door, ada: User, memory: Remembrancer
) -> None:
    """From messages, summaries and contexts; the answer says what left and how to erase it."""
    conversation = await talk(door, ada, [{"content": SECRET}, *words(30)])
    await door.summarize(conversation, user=ada)
    made = await door.remember("Ada's cat is called Miso", user=ada)
    everywhere = {"recall", "summary", "chunks", "context"}
    assert await told(door, ada, conversation) >= everywhere
    memory_id = made["memory"]["id"]
    gone = await door.forget(memory_id, user=ada)
    assert (gone["status"], gone["messages"], gone["similar_messages"]) == ("forgotten", 1, 0)
    assert gone["note"] == (
        "1 message that says it left recall and prompts too. "
        "Restore the memory to bring both back; erase the memory to delete both for good."
    )
    assert await told(door, ada, conversation) == set()
    await memory.worker.run(once=True)
    assert await told(door, ada, conversation) == set()
    [chunk] = (await door.chunks(conversation, user=ada))["items"]
    assert chunk["content"].startswith("Ada: word 1\n")
    history = await door.window(conversation, user=ada, last=200)
    assert [m["content"] for m in history if m["withheld"]] == [SECRET]

    await door.restore(memory_id, user=ada)
    await memory.worker.run(once=True)
    assert await told(door, ada, conversation) >= everywhere
    assert rows("SELECT count(*) FROM withheld_messages") == [(0,)]


@asynccontextmanager
async def said_and_remembered(door: Door, user: User) -> AsyncIterator[str]:
    """The id of a memory of what was said; what came of forgetting it is checked at the end."""
    conversation = await talk(door, user, [{"content": SECRET}])
    made = await door.remember("Her cat is called Miso", user=user)
    assert "recall" in await told(door, user, conversation)
    yield made["memory"]["id"]
    assert await told(door, user, conversation) == set()


async def test_case_39_by_a_tool(door: Door, ada: User) -> None:
    """What a tool stored from the message before, a tool forgets; it does not say it again."""
    conversation = await talk(door, ada, [{"content": "oh, and my cat Miso says hi"}])
    where = {"conversation_id": conversation}
    statement = {"content": "The user's cat is named Miso", "category": "other"}
    stored = await door.call("add_to_memory", statement, user=ada, **where)
    gone = await door.call("forget_memory", {"memory_id": stored["result"]["memory_id"]}, user=ada)
    assert gone["result"]["messages"] == 1
    assert "erase the memory to delete both for good" in gone["text"]
    assert "Miso" not in gone["text"]
    assert await told(door, ada, conversation) == set()


async def test_case_39_over_mcp(door: Door, api: Api, ada: User) -> None:
    """The tool's result has the counts and the note."""
    async with said_and_remembered(door, ada) as memory_id:
        app = api.client._transport.app
        async with mcp_client("http://test", await api.key_of(ada), app=app) as client:
            gone = await done(client, "forget_memory", memory_id=memory_id)
        assert gone["messages"] == 1
        assert "erase the memory" in gone["note"]


async def test_case_39_in_a_chat(memory: Remembrancer, door: Door, agent: Agent, ada: User) -> None:
    """`/memory delete` says what left recall, and `/memory restore` brings it back."""
    platform = FakePlatform(ChatCommands(memory, agent.id), platform="discord", limit=2000)

    async def typed(text: str) -> str:
        return "\n".join(await platform.type(text, user="Ada-1", name="Ada"))

    await talk(door, ada, [{"content": SECRET}], agent_id=str(agent.id))
    asked = {"user": ada, "agent": agent}
    [memory_id] = re.findall(r"\[(\w+)\]", await typed("/memory add Her cat is called Miso"))
    answer = await typed(f"/memory delete {memory_id}")
    assert "1 message that says it left recall and prompts too." in answer
    assert f"/memory restore {memory_id}" in answer
    assert await door.contents("cat", **asked) == []
    assert "Restored" in await typed(f"/memory restore {memory_id}")
    assert SECRET in await door.contents("cat", **asked)


async def test_case_39_on_the_pages(world: World, ada_there: Browser) -> None:
    """The notice says what left recall; its undo brings it back."""
    memory, ada, actor = world.memory, world.ada, as_actor(world.ada)
    door = PythonDoor(memory, actor)
    conversation = await talk(door, ada, [{"content": SECRET}])
    made = await memory.memories.remember(actor, MemoryCreate(content="Her cat is called Miso"))
    path = f"/people/{ada.id}/memories/{made.memory.id}"
    await ada_there.get(path)
    page = await ada_there.post(f"{path}/forget")
    assert "Forgotten. 1 message that said it left recall too." in page
    assert await told(door, ada, conversation) == set()
    await ada_there.post(f"{path}/restore")
    assert SECRET in await door.contents("cat", user=ada)


def test_case_39_from_the_command_line(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`memories forget` and `restore`, and `erase` for good."""
    Store.url = database_url
    migrate(driver_url(database_url))
    empty(database_url)

    def command(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["--database-url", database_url, *arguments])
        assert not ended.value.code
        return " ".join(capsys.readouterr().out.split())

    file = tmp_path / "chat.jsonl"
    line = {"content": SECRET, "conversation": "one", "sender": "Ada", "platform_user_id": "a"}
    file.write_text(json.dumps(line))
    command("import", str(file))
    [(user,)] = rows("SELECT CAST(id AS text) FROM users")
    command("remember", "Ada's cat is called Miso", "--user", user)
    [(memory_id,)] = rows("SELECT id FROM memories")
    answer = command("memories", "forget", memory_id, "--user", user)
    assert "1 message that says it left recall and prompts too." in answer
    assert "Miso" not in command("recall", "cat", "--user", user)
    assert "Miso" in command("memories", "restore", memory_id, "--user", user)
    assert SECRET in command("recall", "cat", "--user", user)
    command("memories", "forget", memory_id, "--user", user)
    command("memories", "erase", user, memory_id, "--apply", "--yes")
    assert rows("SELECT count(*) FROM messages") == [(0,)]


async def test_case_39_a_place(door: Door, ada: User) -> None:
    """A place is forgotten with what was said of it."""
    conversation = await talk(door, ada, [{"content": "Home is the mill by the river Tua"}])
    place = await door.add_place(
        ada, place_id="home", place_name="Home", notes="The mill by the river Tua"
    )
    await door.forget(place["place"]["memory_id"], user=ada)
    assert await told(door, ada, conversation, "Tua") == set()


# Which messages -----------------------------------------------------------------------------


async def test_a_message_of_two_memories_is_back_after_both_are_restored(
    door: Door, ada: User
) -> None:
    """One restored memory does not bring back what another forgotten one rests on."""
    opened = await door.open(user=ada)
    said = await door.say(opened["id"], [{"content": "Miso is my cat and Rex is my dog"}], user=ada)
    source = {"conversation_id": opened["id"], "message_id": said["messages"][0]["id"]}
    ids = [
        (await door.remember(words, user=ada, **source))["memory"]["id"]
        for words in ("Ada has a cat, Miso", "The dog of the house: Rex")
    ]
    for memory_id in ids:
        assert (await door.forget(memory_id, user=ada))["messages"] == 1
    await door.restore(ids[0], user=ada)
    assert await told(door, ada, opened["id"], "Rex") == set()
    await door.restore(ids[1], user=ada)
    assert "recall" in await told(door, ada, opened["id"], "Rex")


async def test_only_messages_of_the_memorys_owner_leave_recall(
    door: Door, ada: User, bob: User, memory: Remembrancer
) -> None:
    """In a group, what others said stays with them; a summary of both is made anew for both."""
    said = [
        {"content": SECRET, "user_id": str(ada.id)},
        {"content": SECRET, "user_id": str(bob.id)},
    ]
    conversation = await talk(door, ada, [*said, *words(30)])
    await door.summarize(conversation, user=ada)
    made = await door.remember("Her cat is called Miso", user=ada)
    assert (await door.forget(made["memory"]["id"], user=ada))["messages"] == 1
    assert [m["user_id"] for m in await _withheld(door, conversation, ada)] == [str(ada.id)]
    assert SECRET in await door.contents("cat", user=bob)
    await memory.worker.run(once=True)
    for user in (ada, bob):
        [chunk] = (await door.chunks(conversation, user=user))["items"]
        assert chunk["content"].startswith("Bob: My cat is called Miso\nAda: word 1\n")


async def test_a_similar_message_stays_and_is_counted(door: Door, ada: User) -> None:
    """When in doubt nothing is taken out; the answer says that something is left."""
    conversation = await talk(door, ada, [{"content": "my brother is allergic to peanuts"}])
    rows("UPDATE messages SET sent_at = sent_at - interval '1 day'")
    made = await door.remember("Ada is allergic to peanuts", user=ada)
    gone = await door.forget(made["memory"]["id"], user=ada)
    assert (gone["messages"], gone["similar_messages"]) == (0, 1)
    assert "1 similar message is still recalled." in gone["note"]
    assert await _withheld(door, conversation, ada) == []


async def test_the_agents_repetition_leaves_recall_too(door: Door, ada: User) -> None:
    """What the agent said again right after the message that the memory cites."""
    said = [
        {"content": SECRET},
        {"content": "Noted: your cat is called Miso!", "role": "assistant"},
        {"content": "Anything else?", "role": "assistant"},
    ]
    conversation = await talk(door, ada, said)
    first = (await door.window(conversation, user=ada))[0]
    source = {"conversation_id": conversation, "message_id": first["id"]}
    made = await door.remember("Ada's cat is called Miso", user=ada, **source)
    await door.forget(made["memory"]["id"], user=ada)
    assert [m["position"] for m in await _withheld(door, conversation, ada)] == [1, 2]


async def test_other_namespaces_keep_their_messages(door: Door, ada: User, agent: Agent) -> None:
    """An agent's own memory takes out what was said to that agent alone."""
    other = await door.create_agent(name="Other")
    places = [
        await talk(door, ada, [{"content": SECRET}], agent_id=each)
        for each in (str(agent.id), other["id"])
    ]
    made = await door.remember("Her cat is called Miso", user=ada, agent=agent)
    await door.forget(made["memory"]["id"], user=ada)
    assert [len(await _withheld(door, place, ada)) for place in places] == [1, 0]


async def test_what_is_no_forgetting_takes_no_message_out(door: Door, ada: User) -> None:
    """Setting a memory aside is none."""
    conversation = await talk(door, ada, [{"content": SECRET}])
    made = await door.remember("Her cat is called Miso", user=ada)
    await door.activate(made["memory"]["id"], user=ada, active=False)
    assert await _withheld(door, conversation, ada) == []


async def test_messages_to_summarise_later_are_summarised_without_it(
    door: Door, ada: User, memory: Remembrancer
) -> None:
    """A message that is withheld before its range is summarised is in no later summary."""
    conversation = await talk(door, ada, [{"content": SECRET}, *words(10)])
    made = await door.remember("Her cat is called Miso", user=ada)
    await door.forget(made["memory"]["id"], user=ada)
    await door.say(conversation, words(30), user=ada)
    await door.summarize(conversation, user=ada)
    assert "Miso" not in json.dumps(await door.chunks(conversation, user=ada))


# For good -----------------------------------------------------------------------------------


async def test_erasing_a_forgotten_memory_erases_its_messages(
    door: Door, ada: User, memory: Remembrancer
) -> None:
    """The summary stays: it was made anew without them."""
    conversation = await talk(door, ada, [{"content": SECRET}, *words(30)])
    await door.summarize(conversation, user=ada)
    made = await door.remember("Her cat is called Miso", user=ada)
    await door.forget(made["memory"]["id"], user=ada)
    await memory.worker.run(once=True)
    receipt = await memory.memories.erase(as_actor(ada), made["memory"]["id"], dry_run=False)
    assert (receipt.rows["messages"], receipt.rows["withheld_messages"]) == (1, 1)
    for table in ("messages", "chunks", "memories", "memory_versions"):
        assert rows(f"SELECT count(*) FROM {table} WHERE content LIKE '%Miso%'") == [(0,)]
    assert len((await door.chunks(conversation, user=ada))["items"]) == 1


async def test_erasing_leaves_messages_that_another_memory_cites(
    door: Door, ada: User, memory: Remembrancer
) -> None:
    """They are not deleted with the one, and do not come back into recall either."""
    opened = await door.open(user=ada)
    said = await door.say(opened["id"], [{"content": "Miso is a cat, Rex a dog"}], user=ada)
    source = {"conversation_id": opened["id"], "message_id": said["messages"][0]["id"]}
    cat = await door.remember("Ada has a cat, Miso", user=ada, **source)
    dog = await door.remember("The dog of the house: Rex", user=ada, **source)
    await door.forget(cat["memory"]["id"], user=ada)
    await memory.memories.erase(as_actor(ada), cat["memory"]["id"], dry_run=False)
    assert len(await _withheld(door, opened["id"], ada)) == 1
    assert (await door.read(dog["memory"]["id"], user=ada))["content"].endswith("Rex")


async def test_a_merge_and_its_undo_keep_messages_out_of_recall(
    door: Door, ada: User, bob: User, memory: Remembrancer
) -> None:
    """The rows move with their messages."""
    conversation = await talk(door, bob, [{"content": SECRET}])
    made = await door.remember("His cat is called Miso", user=bob)
    await door.forget(made["memory"]["id"], user=bob)
    merged = await memory.users.merge(as_actor(), ada.id, bob.id)
    assert await told(door, ada, conversation) == set()
    await memory.users.undo_merge(as_actor(), ada.id, merged.undo_id)
    assert await told(door, bob, conversation) == set()
    await door.restore(made["memory"]["id"], user=bob)
    assert SECRET in await door.contents("cat", user=bob)


# Thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("provider", "least", "most"), [("minilm", 15, 20), ("bge", 10, 17)])
async def test_the_thresholds_hold_for_measured_pairs(provider: Any, least: int, most: int) -> None:
    """No message on another matter is taken for the same; a message just before is found."""
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    documents = create_embedder(EmbeddingSettings(provider=provider, threads=1)).embed_documents
    statements = np.array(await documents([pair["memory"] for pair in pairs]))
    speakers = ["" if pair.get("assistant") else "Ada" for pair in pairs]
    messages = np.array(await documents(voiced([pair["message"] for pair in pairs], speakers)))
    similar = dict(enumerate((statements * messages).sum(axis=1)))
    same = {n for n, pair in enumerate(pairs) if pair["same"]}
    assert not [pairs[n] for n in similar.keys() - same if similar[n] >= SAME]
    assert sum(similar[n] >= SAME for n in same) >= least
    assert sum(similar[n] >= SOURCE for n in same) >= 0.95 * len(same)
    assert sum(similar[n] >= SOURCE for n in similar.keys() - same) <= most


async def _withheld(door: Door, conversation: str, user: User) -> list[Json]:
    return [m for m in await door.window(conversation, user=user, last=200) if m["withheld"]]
