"""Messages and conversations that change: delivered again, edited, deleted (case 40)."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from entry_points import Door, Json, Refused, refusals
from helpers import audit_lines, rows
from pages import secret_of, signed_in
from scripted import Scripted, answer, fact, minded

from remembrancer import (
    Agent,
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    User,
    as_actor,
)
from remembrancer.chat import discord, telegram
from remembrancer.db.tables import metadata
from remembrancer.importers import Importer, Options, open_export

EVERYTHING = ["memory", "message", "chunk"]


@pytest.fixture
async def memory(memory: Remembrancer, model: Scripted) -> AsyncIterator[Remembrancer]:
    """The store, with a language model that makes the summaries."""
    async with minded(memory, model.base_url, retries=0) as minds:
        yield minds


def stored(word: str) -> list[str]:
    """Every row of every table that has a word in it, or the start of a term."""
    return [
        f"{table.name}: {text}"
        for table in metadata.sorted_tables
        for (text,) in rows(f"SELECT t::text FROM {table.name} AS t")
        if word in text.lower()
    ]


def said(content: str, platform_id: str | None = "m1", **more: Any) -> Json:
    return {"content": content, "platform_message_id": platform_id, **more}


async def group(door: Door, *users: User) -> str:
    """A conversation in which each of these users has said something."""
    talk = (await door.open(user=users[0]))["id"]
    for user in users:
        await door.say(talk, [said(f"Hello from {user.display_name}", None)], user=user)
    return str(talk)


async def learnt(door: Door, model: Scripted, user: User, agent: Agent | None = None) -> str:
    """A conversation whose first message led to a summary, a fact and a memory of an agent."""
    model.said = [
        answer("Ada's boat is magenta.", fact("Ada has a magenta boat.", "Ada", 1)),
        answer("Ada's boat is painted.", fact("Ada has a viridian boat.", "Ada", 1)),
    ]
    talk = str((await door.open(user=user, agent=agent))["id"])
    first = await door.say(talk, [said("My boat is magenta"), said("Yes", "m2")], user=user)
    await door.say(talk, [said(f"word {n}", None) for n in range(20)], user=user)
    await door.summarize(talk, user=user)
    cited = {"message_id": first["messages"][0]["id"], "conversation_id": talk}
    await door.remember("Everything magenta is Ada's.", user=user, agent=agent, **cited)
    assert {row.partition(":")[0] for row in stored("magenta")} == {
        "memories", "memory_versions", "messages", "chunks", "postings", "recall_items",
    }  # fmt: skip
    return talk


# Redelivery ----------------------------------------------------------------------------


async def test_case_40_a_message_that_is_delivered_twice_is_one_message(
    door: Door, ada: User
) -> None:
    """The answer names the message that is there; what is new in the request is appended."""
    talk = await group(door, ada)
    first = await door.say(talk, [said("I sing")], user=ada)
    again = await door.say(talk, [said("I sing"), said("Loudly", "m2")], user=ada)
    assert first["messages"][0]["outcome"] == "appended"
    assert again["messages"] == [
        {**first["messages"][0], "outcome": "repeated"},
        {"id": again["messages"][1]["id"], "position": 3, "outcome": "appended"},
    ]
    assert again["message_count"] == 3
    window = await door.window(talk, user=ada)
    assert [(m["position"], m["content"], m["edited_at"]) for m in window[1:]] == [
        (2, "I sing", None),
        (3, "Loudly", None),
    ]
    alone = await door.say(talk, [said("I sing")], user=ada)
    assert (alone["messages"][0]["outcome"], alone["message_count"]) == ("repeated", 3)
    other = await group(door, ada)
    elsewhere = await door.say(other, [said("I sing")], user=ada)
    assert elsewhere["messages"][0]["outcome"] == "appended"


async def test_case_40_deliveries_at_once_are_one_message(door: Door, ada: User) -> None:
    """Whichever comes first appends; positions have no gap; the last words stay."""
    talk = await group(door, ada)
    same = await asyncio.gather(*(door.say(talk, [said("I sing")], user=ada) for _ in range(5)))
    outcomes = Counter(one["messages"][0]["outcome"] for one in same)
    assert outcomes == {"appended": 1, "repeated": 4}
    assert len({one["messages"][0]["id"] for one in same}) == 1
    await asyncio.gather(
        *(door.say(talk, [said(f"I sing {n}"), said(f"new {n}", None)], user=ada) for n in range(4))
    )
    window = await door.window(talk, user=ada)
    assert [m["position"] for m in window] == [1, 2, 3, 4, 5, 6]
    assert window[1]["content"].startswith("I sing ")
    items = rows("SELECT count(*) FROM recall_items WHERE source_type = 'message'")
    assert items == [(6,)]


async def test_case_40_a_request_with_a_message_twice_appends_it_once(
    door: Door, ada: User
) -> None:
    """With the later words; each has its place in the answer."""
    talk = await group(door, ada)
    one = await door.say(talk, [said("I sing"), said("And?", None), said("I sang")], user=ada)
    assert [message["position"] for message in one["messages"]] == [2, 3, 2]
    window = await door.window(talk, user=ada)
    assert [m["content"] for m in window[1:]] == ["I sang", "And?"]


async def test_case_40_new_words_under_the_same_id_are_an_edit(
    door: Door, model: Scripted, ada: User, agent: Agent
) -> None:
    """Platforms report edits so. The old words are in no table, the new ones everywhere."""
    talk = await learnt(door, model, ada, agent)
    edited = await door.say(talk, [said("My boat is viridian")], user=ada)
    assert edited["messages"][0]["outcome"] == "edited"
    assert (edited["messages"][0]["position"], edited["message_count"]) == (1, 22)
    assert stored("magenta") == []
    found = await door.contents("viridian boat", user=ada, agent=agent, sources=EVERYTHING)
    assert found[0] == "My boat is viridian"
    assert [line.action for line in audit_lines()].count("message.edit") == 1


async def test_case_40_a_turn_that_is_delivered_again_answers_the_same_message(
    door: Door, ada: User
) -> None:
    """An agent sees by the outcome that it has answered already."""
    talk = await group(door, ada)
    turns = [await door.turn(talk, said("Who am I?"), user=ada) for _ in range(2)]
    outcomes = [turn["stored"]["messages"][0]["outcome"] for turn in turns]
    assert outcomes == ["appended", "repeated"]
    assert len(await door.window(talk, user=ada)) == 2


async def test_case_40_an_id_of_somebody_elses_message_is_refused(
    door: Door, ada: User, bob: User
) -> None:
    """Nobody changes the words of others with it, and nothing of the request is stored."""
    talk = await group(door, ada, bob)
    await door.say(talk, [said("I sing")], user=ada)
    for way in (door, await door.of(bob)):
        request = way.say(talk, [said("New", "m9"), said("I croak")], user=bob)
        [refused] = await refusals(request)
        assert (refused.status, refused.fields) == (409, ["messages.1.platform_message_id"])
    both = [said("One", "m3", user_id=str(ada.id)), said("One", "m3", user_id=str(bob.id))]
    [refused] = await refusals(door.say(talk, both))
    assert (refused.status, refused.fields) == (409, ["messages.1.platform_message_id"])
    assert [m["content"] for m in await door.window(talk, user=ada)][2:] == ["I sing"]


# Edits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["id", "platform"])
async def test_case_40_what_rests_on_the_old_words_follows(
    door: Door, memory: Remembrancer, model: Scripted, ada: User, agent: Agent, by: str
) -> None:
    """Recall at once; the summary and its facts with the next job; no table has them."""
    talk = await learnt(door, model, ada, agent)
    [message, *_] = await door.window(talk, user=ada, last=30)
    await door.remember("Ada has a magenta boat.", user=ada, agent=agent, kind="fact")
    name = message["id"] if by == "id" else "platform:m1"
    result = await door.edit_message(talk, name, "My boat is viridian", user=ada)
    assert result["guard"] == []
    assert result["message"]["id"] == message["id"]
    assert result["message"]["position"] == 1
    assert result["message"]["sent_at"] == message["sent_at"]
    assert datetime.fromisoformat(result["message"]["edited_at"]) <= datetime.now(UTC)
    # What a person said in another place has a source of its own.
    [kept] = (await door.listed(user=ada, agent=agent))["memories"]
    assert (kept["content"], kept["mention_count"]) == ("Ada has a magenta boat.", 1)
    assert kept["message_id"] is None
    await door.delete_message(talk, "platform:m2", user=ada, dry_run=True)
    assert rows("SELECT DISTINCT content FROM chunks") == [("",)]
    await memory.worker.run(once=True)
    assert rows("SELECT DISTINCT content FROM chunks") == [("Ada's boat is painted.",)]
    listed = (await door.listed(user=ada, agent=agent))["memories"]
    assert {one["content"]: one["message_id"] for one in listed} == {
        "Ada has a magenta boat.": None,
        "Ada has a viridian boat.": message["id"],
    }
    context = await door.context(user=ada, agent=agent, message="Which boat?")
    assert "magenta is" not in str(context)
    assert {row.partition(":")[0] for row in stored("magenta")} == {
        "memories", "memory_versions", "postings", "recall_items",
    }  # fmt: skip


async def test_case_40_a_summary_is_made_anew_without_new_facts_of_other_messages(
    door: Door, memory: Remembrancer, model: Scripted, ada: User
) -> None:
    """Each message gives its facts once, and again only if it is edited."""
    model.said = [
        answer("One.", fact("Ada sings alto.", "Ada", 1), fact("Ada rows on Sundays.", "Ada", 2)),
        answer("Two.", fact("Ada sings bass.", "Ada", 1), fact("Ada rows at weekends.", "Ada", 2)),
    ]
    talk = (await door.open(user=ada))["id"]
    await door.say(talk, [said("I sing alto"), said("I row on Sundays", "m2")], user=ada)
    await door.say(talk, [said(f"word {n}", None) for n in range(20)], user=ada)
    await door.summarize(talk, user=ada)
    await door.edit_message(talk, "platform:m1", "I sing bass", user=ada)
    await door.summarize(talk, user=ada)
    listed = (await door.listed(user=ada))["memories"]
    assert {one["content"] for one in listed} == {"Ada sings bass.", "Ada rows on Sundays."}


async def test_case_40_a_message_edited_while_the_model_thinks_gives_no_old_words(
    door: Door, memory: Remembrancer, model: Scripted, ada: User
) -> None:
    """What was made of the old words is thrown away."""
    talk = (await door.open(user=ada))["id"]
    await door.say(talk, [said("My boat is magenta")], user=ada)
    await door.say(talk, [said(f"word {n}", None) for n in range(20)], user=ada)
    model.said = [
        answer("A magenta boat.", fact("Ada has a magenta boat.", "Ada", 1), delay=0.5),
        answer("A boat.", fact("Ada has a boat.", "Ada", 1)),
    ]
    thinking = asyncio.create_task(door.summarize(talk, user=ada))
    await asyncio.to_thread(model.reached.wait)
    await door.edit_message(talk, "platform:m1", "My boat is new", user=ada)
    await thinking
    assert stored("magenta") == []
    assert [one["content"] for one in (await door.listed(user=ada))["memories"]] == [
        "Ada has a boat."
    ]


async def test_case_40_the_guard_screens_new_words(door: Door, ada: User) -> None:
    """As in an append: what it finds is redacted, and the answer says so."""
    talk = await group(door, ada)
    await door.say(talk, [said("Pay me")], user=ada)
    result = await door.edit_message(
        talk, "platform:m1", "My card is 4111 1111 1111 1111", user=ada
    )
    assert [one["category"] for one in result["guard"]] == ["card"]
    assert stored("4111") == []
    assert "card number" in result["message"]["content"]


async def test_case_40_words_that_are_not_recalled_stay_so(door: Door, ada: User) -> None:
    """Prompts and messages of a pause are edited in the conversation alone."""
    talk = (await door.open(user=ada))["id"]
    await door.say(talk, [said("Be kind", role="system")], user=ada)
    await door.pause(talk, user=ada)
    await door.say(talk, [said("Off the record", "m2")], user=ada)
    for name in ("platform:m1", "platform:m2"):
        await door.edit_message(talk, name, "A heliotrope", user=ada)
    assert [m["content"] for m in await door.window(talk, user=ada)] == ["A heliotrope"] * 2
    assert rows("SELECT count(*) FROM recall_items") == [(0,)]


async def test_case_40_only_the_sender_and_the_agent_change_a_message(
    door: Door, ada: User, bob: User
) -> None:
    """Other participants are told that there is none; an agent's backend passes changes on."""
    talk = await group(door, ada, bob)
    await door.say(talk, [said("I sing")], user=ada)
    for way in (door, await door.of(bob)):
        for refused in await refusals(
            way.edit_message(talk, "platform:m1", "I croak", user=bob),
            way.delete_message(talk, "platform:m1", user=bob),
        ):
            assert (refused.status, refused.fields) == (404, ["message_id"])
    refused_lines = [line.action for line in audit_lines() if line.outcome == "refused"]
    assert sorted(refused_lines) == sorted(["message.edit", "erase.message"] * 2)
    await door.edit_message(talk, "platform:m1", "I hum")
    own = await door.of(ada)
    assert (await own.edit_message(talk, "platform:m1", "I sang"))["message"]["content"] == "I sang"
    await door.delete_message(talk, "platform:m1")
    assert [m["position"] for m in await door.window(talk, user=ada)] == [1, 2]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("platform:nothing", 404),
        (str(UUID(int=4)), 404),
        ("m1", 422),
        ("platform:", 422),
        ("?", 422),
    ],
)
async def test_case_40_changes_of_a_message_that_is_not_there_are_refused(
    door: Door, ada: User, name: str, status: int
) -> None:
    """With the field; in another conversation it is not there either."""
    talk, other = await group(door, ada), await group(door, ada)
    await door.say(other, [said("I sing")], user=ada)
    for refused in await refusals(
        door.edit_message(talk, name, "I hum", user=ada),
        door.delete_message(talk, name, user=ada),
        door.edit_message(uuid4(), name, "I hum", user=ada),
    ):
        assert (refused.status, refused.fields) == (status, ["message_id"])


@pytest.mark.parametrize("content", ["a\x00b", "\ud800", "x" * 32_001])
async def test_case_40_new_words_that_cannot_be_stored_are_refused(
    door: Door, ada: User, content: str
) -> None:
    """And the old ones stay."""
    talk = await group(door, ada)
    await door.say(talk, [said("I sing")], user=ada)
    [refused] = await refusals(door.edit_message(talk, "platform:m1", content, user=ada))
    assert (refused.status, refused.fields) == (422, ["content"])
    assert (await door.window(talk, user=ada))[-1]["content"] == "I sing"


async def test_case_40_edits_and_deliveries_at_once_leave_one_state(door: Door, ada: User) -> None:
    """Each waits for the other; nothing is left of the words in between."""
    talk = await group(door, ada)
    await door.say(talk, [said("I sing")], user=ada)
    await asyncio.gather(
        *(door.edit_message(talk, "platform:m1", f"Edit {n}", user=ada) for n in range(3)),
        *(door.say(talk, [said(f"Delivery {n}")], user=ada) for n in range(3)),
    )
    [_, message] = await door.window(talk, user=ada)
    found = await door.contents("edit delivery", user=ada, sources=["message"])
    assert set(found) == {message["content"], "Hello from Ada"}


# Deletions -----------------------------------------------------------------------------


async def test_case_40_a_deleted_message_is_nowhere(
    door: Door, memory: Remembrancer, model: Scripted, ada: User, agent: Agent
) -> None:
    """Its summary is made anew of the messages beside it."""
    talk = await learnt(door, model, ada, agent)
    model.said = [answer("Ada agrees.")]
    would = await door.delete_message(talk, "platform:m1", user=ada, dry_run=True)
    assert (would["dry_run"], would["rows"]["memories"]) == (True, 2)
    assert len(stored("magenta")) > 0
    receipt = await door.delete_message(talk, "platform:m1", user=ada)
    assert (receipt["dry_run"], receipt["rows"]) == (False, would["rows"])
    assert stored("magenta") == []
    assert stored("platform:m1") == []
    await memory.worker.run(once=True)
    assert [one["content"] for one in (await door.chunks(talk, user=ada))["items"]] == [
        "Ada agrees."
    ]
    [refused] = await refusals(door.delete_message(talk, "platform:m1", user=ada))
    assert (refused.status, refused.fields) == (404, ["message_id"])


async def test_case_40_a_deleted_conversation_leaves_nothing_that_rests_on_it_alone(
    door: Door, memory: Remembrancer, model: Scripted, ada: User, agent: Agent
) -> None:
    """Memories with another source stay, and no longer name it; its jobs are gone."""
    talk = await learnt(door, model, ada, agent)
    other = await door.source(ada)
    await door.remember("Ada sails.", user=ada, conversation_id=talk)
    await door.remember("Everything magenta is Ada's.", user=ada, agent=agent, **other)
    await door.context(user=ada, agent=agent, conversation_id=talk)
    await door.say(talk, [said(f"more {n}", None) for n in range(31)], user=ada)
    would = await door.delete_conversation(talk, user=ada, dry_run=True)
    receipt = await door.delete_conversation(talk, user=ada)
    assert (receipt["what"], receipt["user_id"]) == ("conversation", str(ada.id))
    assert receipt["rows"] == would["rows"]
    assert (receipt["rows"]["messages"], receipt["rows"]["conversations"]) == (53, 1)
    left = (await door.listed(user=ada, agent=agent))["memories"]
    left += (await door.listed(user=ada))["memories"]
    assert {one["content"] for one in left} == {"Ada sails.", "Everything magenta is Ada's."}
    assert [row for row in stored(talk) if not row.startswith("audit_log")] == []
    assert rows("SELECT count(*) FROM jobs.procrastinate_jobs WHERE status = 'todo'") == [(0,)]
    refused = await refusals(
        door.delete_conversation(talk, user=ada), door.say(talk, [said("Hi")], user=ada)
    )
    assert [(one.status, one.fields) for one in refused] == [(404, ["conversation_id"])] * 2


async def test_case_40_in_a_group_nobody_deletes_the_words_of_others(
    door: Door, ada: User, bob: User
) -> None:
    """A participant is told to delete their own; a stranger that there is none."""
    talk = await group(door, ada, bob)
    carl = await door.resolve(platform="discord", platform_user_id="c", display_name="Carl")
    for way in (door, await door.of(ada)):
        [refused] = await refusals(way.delete_conversation(talk, user=ada))
        assert (refused.status, refused.fields) == (403, ["conversation_id"])
    [refused] = await refusals(door.delete_conversation(talk, user=carl["id"]))
    assert (refused.status, refused.fields) == (404, ["conversation_id"])
    receipt = await door.delete_conversation(talk)
    assert receipt["rows"]["messages"] == 2
    owners = {line.owner_id for line in audit_lines() if line.action == "erase.conversation"}
    assert {ada.id, bob.id} <= owners


async def test_case_40_appends_to_a_conversation_that_is_deleted_are_refused_or_gone(
    door: Door, ada: User
) -> None:
    """Nothing comes back after the end."""
    talk = await group(door, ada)
    ended = await asyncio.gather(
        door.delete_conversation(talk, user=ada),
        *(door.say(talk, [said(f"word {n}", f"w{n}")], user=ada) for n in range(6)),
        return_exceptions=True,
    )
    assert all(isinstance(one, dict | Refused) for one in ended), ended
    for table in ("messages", "participants", "conversations", "recall_items"):
        assert rows(f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_case_40_the_library_takes_ids_and_names(memory: Remembrancer, ada: User) -> None:
    """A message is an id, as UUID or text, or the platform's."""
    actor = as_actor(ada)
    talk = await memory.conversations.open(actor, ConversationCreate())
    result = await memory.conversations.append(
        actor, talk.id, [MessageCreate(content="I sing", platform_message_id="a/b")]
    )
    message: UUID = result.messages[0].id
    for number, name in enumerate((message, str(message), "platform:a/b")):
        edited = await memory.conversations.edit_message(actor, talk.id, name, f"I sing {number}")
        assert edited.message.id == message


# Other ways in -------------------------------------------------------------------------


async def test_case_40_a_newer_export_applies_edits_and_counts_them(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Once; a message that it lacks stays, and the old words are nowhere."""
    first = [line("m1", "My boat is magenta"), line("m2", "It leaks"), line("m3", "Bye")]
    newer = [line("m1", "My boat is viridian"), line("m3", "Bye"), line("m4", "Hello again")]
    counts = []
    for lines in (first, newer, newer):
        file = tmp_path / "chat.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)))
        export = open_export(file, options=Options())
        for step in ("preview", "store"):
            importer = Importer(memory, as_actor(ada), lambda _: None)
            await importer.check(export)
            await getattr(importer, step)(export)
            result = importer.result
            counts.append((result.messages_added, result.messages_edited, result.messages_skipped))
    assert counts == [(3, 0, 0)] * 2 + [(1, 1, 1)] * 2 + [(0, 0, 3)] * 2
    assert rows("SELECT content FROM messages ORDER BY position") == [
        ("My boat is viridian",),
        ("It leaks",),
        ("Bye",),
        ("Hello again",),
    ]
    assert stored("magenta") == []


def line(platform_id: str, content: str) -> Json:
    return {"message_id": platform_id, "content": content, "conversation": "sea", "role": "user"}


async def in_a_chat(memory: Remembrancer, ada: User, agent: Agent, platform: str) -> Any:
    """A conversation that a bot stores, with two messages of Ada's; returns its window."""
    actor = as_actor(ada, agent)
    talk = await memory.conversations.open(
        actor,
        ConversationCreate(agent_id=agent.id, platform=platform, platform_conversation_id="-5"),
    )
    words = [("11", "My boat is magenta"), ("12", "Bye")]
    await memory.conversations.append(
        actor, talk.id, [MessageCreate(content=c, platform_message_id=i) for i, c in words]
    )

    async def window() -> list[str]:
        page = await memory.conversations.messages(actor, talk.id)
        return [message.content for message in page.items]

    return window


async def test_case_40_edits_on_telegram_are_applied(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Of texts and captions; chats and messages that are not stored stay so."""
    from telegram import Update
    from telegram.ext import ApplicationBuilder

    window = await in_a_chat(memory, ada, agent, "telegram")
    application = ApplicationBuilder().token("1:x").updater(None).build()
    telegram.add_message_changes(application, memory, agent.id)
    [[handler]] = application.handlers.values()
    for chat, message, words in (
        (-5, 11, {"text": "My boat is viridian"}),
        (-5, 12, {"caption": "A photo", "photo": []}),
        (-5, 99, {"text": "Not there"}),
        (-6, 11, {"text": "Not there"}),
    ):
        edited = {
            "message_id": message,
            "date": 1_800_000_000,
            "edit_date": 1_800_000_009,
            "chat": {"id": chat, "type": "group", "title": "g"},
            "from": {"id": 7, "is_bot": False, "first_name": "Ada"},
            **words,
        }
        update = Update.de_json({"update_id": 1, "edited_message": edited}, None)
        assert handler.check_update(update)
        await handler.callback(update, None)
    assert await window() == ["My boat is viridian", "A photo"]
    assert stored("magenta") == []


async def test_case_40_edits_and_deletions_on_discord_are_applied(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """One by one and in bulk; an embed that appears changes no words."""
    import discord as library
    from discord.ext import commands

    window = await in_a_chat(memory, ada, agent, "discord")
    bot = commands.Bot("!", intents=library.Intents.none())
    discord.add_message_changes(bot, memory, agent.id)

    async def report(name: str, **event: Any) -> None:
        [listener] = bot.extra_events[f"on_raw_{name}"]
        await listener(SimpleNamespace(channel_id=-5, **event))

    await report("message_edit", message_id=12, data={"embeds": []})
    await report("message_edit", message_id=11, data={"content": "My boat is viridian"})
    await report("message_edit", message_id=99, data={"content": "Not there"})
    assert await window() == ["My boat is viridian", "Bye"]
    assert stored("magenta") == []
    await report("message_delete", message_id=11)
    await report("bulk_message_delete", message_ids={12, 99})
    assert await window() == []


async def test_case_40_pages_edit_and_delete(memory: Remembrancer, ada: User, app: Any) -> None:
    """A person's own messages, and a conversation that is theirs alone."""
    actor = as_actor(ada)
    talk = await memory.conversations.open(actor, ConversationCreate())
    words = [("m1", "My boat is magenta"), ("m2", "Bye")]
    appended = await memory.conversations.append(
        actor, talk.id, [MessageCreate(content=c, platform_message_id=i) for i, c in words]
    )
    one, two = (message.id for message in appended.messages)
    browser = await signed_in(app, await secret_of(memory, ada))
    there = f"/people/{ada.id}/conversations/{talk.id}"
    assert f"{there}/messages/{one}" in await browser.get(there)
    assert "My boat is magenta" in await browser.get(f"{there}/messages/{one}")
    await browser.post(f"{there}/messages/{one}", content="My boat is viridian")
    assert stored("magenta") == []
    assert "edited" in await browser.get(there)
    await browser.post(f"{there}/messages/{two}/delete")
    assert rows("SELECT content FROM messages") == [("My boat is viridian",)]
    await browser.get(f"{there}/delete")
    await browser.post(f"{there}/delete", 422, confirmation="no")
    await browser.get(f"{there}/delete")
    await browser.post(f"{there}/delete", confirmation="delete")
    assert rows("SELECT count(*) FROM conversations") == [(0,)]
    await browser.client.aclose()
