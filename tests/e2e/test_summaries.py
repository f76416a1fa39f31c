"""Summaries of what has left the window: whose they are, what is in them, done once."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from entry_points import Door, Json, Refused
from helpers import Api, Store, empty, person, rows

from remembrancer import Agent, ConversationCreate, Remembrancer, SpaceCreate, User, as_actor
from remembrancer.cli import main
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url
from remembrancer.extraction.remake import remake_chunks
from remembrancer.extraction.service import Summaries
from remembrancer.extraction.summariser import Summary
from remembrancer.extraction.transcript import Transcript
from remembrancer.settings import SummarySettings

BLANK = ["", "  ", "\n", "👍", "🎉🎉", "❤️", "1️⃣"]


def words(count: int, prefix: str = "word") -> list[Json]:
    return [{"content": f"{prefix} {n}"} for n in range(1, count + 1)]


async def talk(door: Door, messages: list[Json], **fields: Any) -> str:
    opened = await door.open(**fields)
    await door.say(opened["id"], messages, user=fields["user"])
    return str(opened["id"])


async def ranges(door: Door, conversation: str, **whom: Any) -> list[tuple[int, int]]:
    page = await door.chunks(conversation, limit=200, **whom)
    return [(one["range_start"], one["range_end"]) for one in page["items"]]


class Counting:
    """A summariser that says little, and how often it was asked."""

    def __init__(self, words: str = "") -> None:
        self.asked: list[Transcript] = []
        self.words = words

    async def summarise(self, transcript: Transcript) -> Summary:
        self.asked.append(transcript)
        return Summary(self.words)


def summaries_by(memory: Remembrancer, summariser: Counting) -> Summaries:
    settings = SummarySettings()
    return Summaries(memory.backend, summariser, settings)


# Ranges -----------------------------------------------------------------------------------


async def test_all_but_the_window_is_summarised_once(door: Door, ada: User) -> None:
    """Ranges of twenty from the first message on; the last twenty messages stay as they are."""
    conversation = await talk(door, words(75), user=ada)
    done = await door.summarize(conversation, user=ada)
    assert done == {
        "conversation_id": conversation,
        "messages": 55,
        "chunks": 3,
        "facts": 0,
        "summarised_to": 55,
        "message_count": 75,
        "guarded": [],
    }
    assert await ranges(door, conversation, user=ada) == [(1, 20), (21, 40), (41, 55)]
    stored = rows("SELECT * FROM chunks ORDER BY id"), rows("SELECT * FROM recall_items")
    again = await door.summarize(conversation, user=ada)
    assert (again["messages"], again["chunks"], again["summarised_to"]) == (0, 0, 55)
    assert stored == (rows("SELECT * FROM chunks ORDER BY id"), rows("SELECT * FROM recall_items"))


async def test_a_short_conversation_has_nothing_to_summarise(door: Door, ada: User) -> None:
    """What is in the window needs no summary."""
    conversation = await talk(door, words(20), user=ada)
    assert (await door.summarize(conversation, user=ada))["messages"] == 0
    assert await ranges(door, conversation, user=ada) == []


async def test_a_summary_says_who_said_what(door: Door, ada: User, bob: User) -> None:
    """Line by line, with names; prompts and tool output are not in it."""
    said = [
        {"content": "You are helpful.", "role": "system"},
        {"content": "I moved to Lisbon\nBob: I did not", "user_id": str(ada.id)},
        {"content": "I stayed in Porto", "user_id": str(bob.id)},
        {"content": "Noted, both.", "role": "assistant", "sender_name": "Helper"},
        {"content": "{}", "role": "tool"},
    ]
    opened = await door.open(user=ada)
    await door.say(opened["id"], [*said, *words(20)], user=ada)
    await door.summarize(opened["id"], user=ada)
    [chunk] = (await door.chunks(opened["id"], user=ada))["items"]
    assert chunk["content"].splitlines() == [
        "Ada: I moved to Lisbon Bob: I did not",
        "Bob: I stayed in Porto",
        "Helper: Noted, both.",
    ]
    assert (chunk["range_start"], chunk["range_end"]) == (1, 5)


async def test_chunks_come_in_pages(door: Door, ada: User) -> None:
    """In the order of the conversation, each once."""
    conversation = await talk(door, words(110), user=ada)
    await door.summarize(conversation, user=ada)
    first = await door.chunks(conversation, user=ada, limit=3)
    rest = await door.chunks(conversation, user=ada, limit=3, cursor=first["next_cursor"])
    starts = [one["range_start"] for page in (first, rest) for one in page["items"]]
    assert starts == [1, 21, 41, 61, 81]
    assert rest["next_cursor"] is None


async def test_long_messages_make_smaller_batches(door: Door, ada: User) -> None:
    """No summary is of more than its size, unless one message is."""
    long = [{"content": f"{n} " + "long " * 1600} for n in range(1, 4)]
    conversation = await talk(door, [*long, *words(20)], user=ada)
    await door.summarize(conversation, user=ada)
    assert await ranges(door, conversation, user=ada) == [(1, 1), (2, 2), (3, 3)]


# Nothing to keep --------------------------------------------------------------------------


async def test_blank_and_emoji_only_messages_make_no_chunk_and_no_call(
    memory: Remembrancer, door: Door, ada: User
) -> None:
    """Case 8: the range is done all the same, and the words around it are summarised."""
    blank = [{"content": one} for one in BLANK * 3][:20]
    conversation = await talk(door, [*words(20), *blank, *words(40)], user=ada)
    counting = Counting("They counted.")
    actor = as_actor(ada)
    done = await summaries_by(memory, counting).summarize(actor, rows(_ONLY)[0][0])
    assert (done.messages, done.chunks, done.summarised_to) == (60, 2, 60)
    assert [(one.start, one.end) for one in counting.asked] == [(1, 20), (41, 60)]
    assert await ranges(door, conversation, user=ada) == [(1, 20), (41, 60)]
    assert rows("SELECT count(*) FROM memories") == [(0,)]
    assert (await door.summarize(conversation, user=ada))["messages"] == 0


_ONLY = "SELECT id FROM conversations"


async def test_a_conversation_with_nothing_worth_keeping_is_done_once(
    memory: Remembrancer, door: Door, ada: User
) -> None:
    """Case 6: success with no facts; the range is never sent again."""
    conversation = await talk(door, words(45), user=ada)
    counting = Counting("")
    summaries = summaries_by(memory, counting)
    for _ in range(2):
        done = await summaries.summarize(as_actor(ada), rows(_ONLY)[0][0])
        assert (done.chunks, done.facts, done.summarised_to) == (0, 0, 25)
    assert len(counting.asked) == 2
    assert await ranges(door, conversation, user=ada) == []
    assert (await door.summarize(conversation, user=ada))["messages"] == 0


# Whose ------------------------------------------------------------------------------------


async def test_who_takes_part_reads_and_recalls_summaries_and_nobody_else(
    memory: Remembrancer, door: Door, ada: User, bob: User
) -> None:
    """Each participant has a copy that recall finds; for others there is no conversation."""
    carol = await person(memory, "Carol")
    said = [{"content": "The rocket launch was cancelled", "user_id": str(bob.id)}]
    conversation = await talk(door, [*said, *words(30)], user=ada)
    await door.summarize(conversation, user=ada)
    for user in (ada, bob):
        own = await door.of(user)
        assert await ranges(own, conversation, user=user) == [(1, 11)]
        hits = await own.recall("rocket launch", user=user, sources=["chunk"])
        assert [hit["type"] for hit in hits["hits"]] == ["chunk"]
        assert hits["hits"][0]["conversation_id"] == conversation
    stranger = await door.of(carol)
    for call in (stranger.chunks(conversation), stranger.summarize(conversation)):
        with pytest.raises(Refused) as refused:
            await call
        assert (refused.value.status, refused.value.fields) == (404, ["conversation_id"])
    assert (await stranger.recall("rocket launch", sources=["chunk"]))["hits"] == []


async def test_an_agents_own_conversation_is_summarised_for_that_agent(
    door: Door, ada: User, agent: Agent
) -> None:
    """A summary lies where the messages lie: in the namespace of the scope in effect."""
    other = await door.create_agent(name="Other")
    conversation = await talk(door, words(40, "rocket"), user=ada, agent_id=str(agent.id))
    await door.summarize(conversation, user=ada)
    asked = {"user": ada, "sources": ["chunk"]}
    assert (await door.recall("rocket", agent=agent, **asked))["hits"]
    assert (await door.recall("rocket", agent=other["id"], **asked))["hits"] == []


async def test_members_of_a_space_share_one_copy(
    memory: Remembrancer, door: Door, ada: User, bob: User
) -> None:
    """A conversation shared in a space has one chunk a range, and all members recall it."""
    wanted = SpaceCreate(name="Rockets", member_ids=[bob.id])
    space = await memory.spaces.create(as_actor(ada), wanted)
    conversation = await talk(
        door, words(40, "rocket"), user=ada, space_id=str(space.id), visibility="shared"
    )
    await door.say(conversation, words(1), user=ada)
    await door.summarize(conversation, user=ada)
    assert rows("SELECT count(*) FROM chunks") == [(2,)]
    for user in (ada, bob):
        hits = (await door.recall("rocket", user=user, sources=["chunk"]))["hits"]
        assert len(hits) == 2


async def test_an_unknown_conversation_is_not_found(door: Door, ada: User) -> None:
    """Neither summarised nor listed."""
    for call in (door.summarize(uuid4(), user=ada), door.chunks(uuid4(), user=ada)):
        with pytest.raises(Refused) as refused:
            await call
        assert refused.value.status == 404


# At once ----------------------------------------------------------------------------------


async def test_what_was_said_is_recalled_at_once_and_after_it_is_summarised(
    door: Door, ada: User
) -> None:
    """Case 25: the next recall finds it, whatever jobs are queued, running or done."""
    conversation = await talk(door, words(40), user=ada)
    await door.say(conversation, [{"content": "My bicycle is turquoise"}], user=ada)
    assert (await door.contents("turquoise bicycle", user=ada))[0] == "My bicycle is turquoise"
    await door.say(conversation, words(30), user=ada)
    await door.summarize(conversation, user=ada)
    assert "My bicycle is turquoise" in await door.contents("turquoise bicycle", user=ada)


async def test_a_message_erased_while_it_is_summarised_is_in_no_summary(
    memory: Remembrancer, ada: User, door: Door
) -> None:
    """What was made of it is thrown away, and the range is done anew without it."""
    said = await door.open(user=ada)
    first = await door.say(said["id"], [{"content": "The code is 4711"}, *words(24)], user=ada)
    erased = asyncio.Event()

    class Slow(Counting):
        async def summarise(self, transcript: Transcript) -> Summary:
            if not erased.is_set():
                message = UUID(first["messages"][0]["id"])
                await memory.conversations.delete_message(as_actor(ada), UUID(said["id"]), message)
                erased.set()
            return Summary(transcript.text)

    await summaries_by(memory, Slow()).summarize(as_actor(ada), rows(_ONLY)[0][0])
    [chunk] = (await door.chunks(said["id"], user=ada))["items"]
    assert "4711" not in chunk["content"]
    assert chunk["content"].startswith("Ada: word 1\n")
    assert (chunk["range_start"], chunk["range_end"]) == (1, 5)


async def test_summaries_over_changed_messages_are_made_anew(
    memory: Remembrancer, ada: User, bob: User, door: Door
) -> None:
    """At once they are in no recall and no list; a job makes each reader's copy anew."""
    said = [{"content": "The code is 4711", "user_id": str(bob.id)}, *words(60)]
    conversation = await talk(door, said, user=ada)
    await door.summarize(conversation, user=ada)
    before = await ranges(door, conversation, user=ada)
    rows("UPDATE messages SET content = 'The code is secret' WHERE position = 1")
    async with memory.database.system() as connection:
        assert await remake_chunks(connection, {UUID(conversation): [1]}) == 2
    asked = {"user": ada, "sources": ["chunk"]}
    assert await ranges(door, conversation, user=ada) == before[1:]
    assert not any("4711" in words for words in await door.contents("code 4711", **asked))
    assert rows("SELECT count(*) FROM chunks WHERE content LIKE '%4711%'") == [(0,)]
    await memory.worker.run(once=True)
    assert await ranges(door, conversation, user=ada) == before
    for user in (ada, bob):
        asked = {"user": user, "sources": ["chunk"]}
        assert (await door.contents("code", **asked))[0].startswith("Bob: The code is secret\n")
    assert rows("SELECT count(*) FROM chunks WHERE stale") == [(0,)]


async def test_messages_that_change_while_a_summary_is_made_anew_are_not_in_it(
    memory: Remembrancer, ada: User, door: Door
) -> None:
    """The summary of the old words is thrown away; another job is queued already."""
    conversation = UUID(await talk(door, words(40), user=ada))
    await door.summarize(conversation, user=ada)

    class Slow(Counting):
        async def summarise(self, transcript: Transcript) -> Summary:
            rows("UPDATE messages SET content = 'new words' WHERE position = 2")
            return await super().summarise(transcript)

    for summariser, chunks in ((Slow("old"), 0), (Counting("new"), 1)):
        async with memory.database.system() as connection:
            await remake_chunks(connection, {conversation: [2]})
        done = await summaries_by(memory, summariser).summarize(as_actor(ada), conversation)
        assert (done.chunks, len(summariser.asked)) == (chunks, 1)
    assert rows("SELECT content, stale FROM chunks") == [("new", False)]


# Jobs and commands ------------------------------------------------------------------------


async def test_an_admin_sees_jobs_by_state(memory: Remembrancer, door: Door, ada: User) -> None:
    """What is queued and what was done, with counts, in pages."""
    for _ in range(3):
        await talk(door, words(31), user=ada)
    admin = await door.as_admin()
    waiting = await admin.jobs(limit=2)
    assert [job["status"] for job in waiting["items"]] == ["queued", "queued"]
    assert (waiting["counts"]["queued"], waiting["counts"]["succeeded"]) == (3, 0)
    rest = await admin.jobs(limit=2, cursor=waiting["next_cursor"])
    assert len(rest["items"]) == 1
    await memory.worker.run(once=True)
    done = await admin.jobs(status="succeeded")
    assert [job["counts"]["chunks"] for job in done["items"]] == [1, 1, 1]
    assert (await admin.jobs(status="failed"))["items"] == []
    with pytest.raises(Refused) as refused:
        await door.jobs()
    assert refused.value.status == 403


def test_a_history_is_imported_and_summarised_from_the_command_line(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message beyond the windows is in exactly one chunk; doing it again does nothing."""
    Store.url = database_url
    migrate(driver_url(database_url))
    empty(database_url)
    file = tmp_path / "chat.jsonl"
    said = [
        {
            "content": f"{title} {n}",
            "conversation": title,
            "sender": "Ada" if n % 2 else "Bob",
            "platform_user_id": "a" if n % 2 else "b",
        }
        for title, count in (("one", 93), ("two", 41), ("three", 12))
        for n in range(count)
    ]
    file.write_text("\n".join(json.dumps(line) for line in said))

    def command(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["--database-url", database_url, *words])
        assert not ended.value.code
        return capsys.readouterr().out

    command("import", str(file))
    assert "94 messages of 2 conversations" in command("conversations", "summarize", "--all")
    assert "Nothing to do" in command("conversations", "summarize", "--all")
    assert "queued" in command("jobs")
    command("worker", "--once")
    assert json.loads(command("jobs", "--json", "--status", "queued")) == []
    for title, count in rows("SELECT id, message_count FROM conversations"):
        found = rows(
            "SELECT DISTINCT range_start, range_end FROM chunks WHERE conversation_id = %s"
            " ORDER BY 1",
            title,
        )
        covered = [position for start, end in found for position in range(start, end + 1)]
        assert covered == list(range(1, count - 19))
        assert all(one[1] < other[0] for one, other in pairwise(found))


async def test_reading_and_asking_for_summaries_is_in_the_audit_log(
    api: Api, ada: User, memory: Remembrancer
) -> None:
    """As ids: the conversation that was summarised, the chunks that were read."""
    opened = await memory.conversations.open(as_actor(ada), ConversationCreate())
    path = f"/api/conversations/{opened.id}"
    body = {"messages": words(30), "user_id": str(ada.id)}
    await api.client.post(f"{path}/messages", json=body, headers=api.admin)
    await api.client.post(f"{path}/summarize", headers=api.admin)
    await api.client.get(f"{path}/chunks", headers=api.admin)
    actions = [action for (action,) in rows("SELECT action FROM audit_log ORDER BY id")]
    assert "conversations.summarise" in actions
    assert "chunk.read" in actions
