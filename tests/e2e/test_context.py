"""What an agent is told, from first to last message: the same prefix, nobody else's memory."""

import asyncio
import hashlib
import sys
from typing import Any
from uuid import UUID

import pytest
from entry_points import Door, PythonDoor, Refused, refusals
from helpers import audit_lines, person, rows

from remembrancer import (
    Agent,
    AgentCreate,
    InvalidInput,
    MessageCreate,
    Remembrancer,
    Scope,
    User,
    as_actor,
)


def digest(context: Any) -> str:
    return hashlib.sha256(context["stable"]["text"].encode()).hexdigest()


async def talk(door: Door, user: User, agent: Agent | None = None, **fields: Any) -> Any:
    chosen = {"agent_id": str(agent.id)} if agent else {}
    return (await door.open(user=user, **chosen, **fields))["id"]


async def fill(door: Door, user: User, agent: Agent, count: int) -> list[str]:
    """Memories of a user, of several categories."""
    made = await door.remember_many(
        [
            {"content": f"Ada knows fact number {n}.", "category": category, "importance": n / 40}
            for n in range(count)
            for category in [("person", "project", "context")[n % 3]]
        ],
        user=user,
        agent=agent,
    )
    return [one["memory"]["id"] for one in made]


_ELSEWHERE = """
import asyncio, hashlib, sys
from uuid import UUID
from remembrancer import ContextQuery, Remembrancer, as_actor

async def main():
    url, user, agent, talk = sys.argv[1:]
    async with Remembrancer.open(database_url=url) as memory:
        context = await memory.conversations.context(
            as_actor(UUID(user), UUID(agent)), ContextQuery(conversation_id=UUID(talk))
        )
        print(hashlib.sha256(context.stable.text.encode()).hexdigest())

asyncio.run(main())
"""


async def elsewhere(url: str, user: User, agent: Agent, conversation: str) -> str:
    """The hash of the stable block that another process makes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _ELSEWHERE,
        *(url, str(user.id), str(agent.id), conversation),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def test_the_stable_block_is_one_hash_over_a_hundred_turns(
    memory: Remembrancer, database_url: str, ada: User, agent: Agent
) -> None:
    """Memories are added, reworded and pinned in between; a restart, and another process."""
    door = PythonDoor(memory, as_actor())
    ids = await fill(door, ada, agent, 30)
    where = await talk(door, ada, agent)
    hashes = set()
    for turn in range(100):
        begun = await door.turn(where, {"content": f"And what about number {turn}?"}, user=ada)
        hashes.add(digest(begun["context"]))
        if turn % 5 == 0:
            await door.remember(f"Ada learnt thing {turn}.", user=ada, agent=agent)
            await door.update(
                ids[turn % 30], content=f"Ada knew {turn} once.", category="habit", user=ada
            )
            await door.remember("Ada knows fact number 29.", user=ada, agent=agent)
            await door.pin(ids[(turn + 7) % 30], user=ada)
        if turn == 50:
            async with Remembrancer.open(database_url=database_url) as again:
                after = await PythonDoor(again, as_actor()).context(
                    user=ada, agent=agent, conversation_id=where, stable_tokens=5000
                )
                hashes.add(digest(after))
    hashes.add(await elsewhere(database_url, ada, agent, where))
    assert len(hashes) == 1
    assert begun["context"]["stable"]["ids"]


async def test_who_asks_first_freezes_for_all(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Eight first contexts at once, with writes beside them: one block."""
    door = PythonDoor(memory, as_actor())
    await fill(door, ada, agent, 20)
    where = await talk(door, ada, agent)
    found = await asyncio.gather(
        *(door.context(user=ada, agent=agent, conversation_id=where) for _ in range(8)),
        *(door.remember(f"At the same time {n}.", user=ada, agent=agent) for n in range(4)),
    )
    again = await door.context(user=ada, agent=agent, conversation_id=where)
    assert {digest(one) for one in found[:8]} == {digest(again)}
    assert rows("SELECT count(*) FROM frozen_contexts") == [(1,)]


async def test_what_changed_since_the_freeze_is_told_beside_it(
    door: Door, ada: User, agent: Agent
) -> None:
    """New words, new memories and ids that are gone stand in the dynamic block."""
    boss = await door.remember("Alec is the boss.", user=ada, agent=agent)
    team = await door.remember("Sarah is on the Platform team.", user=ada, agent=agent)
    where = await talk(door, ada, agent)
    first = await door.context(user=ada, conversation_id=where)
    assert first["dynamic"]["ids"] == []
    new = await door.remember("Ada has a cat.", user=ada, agent=agent)
    await door.update(team["memory"]["id"], content="Sarah is on the Design team.", user=ada)
    second = await door.context(user=ada, conversation_id=where)
    assert digest(first) == digest(second)
    assert "Sarah is on the Platform team." in second["stable"]["text"]
    assert "Sarah is on the Design team." in second["dynamic"]["text"]
    assert set(second["dynamic"]["ids"]) == {team["memory"]["id"], new["memory"]["id"]}
    await door.forget(boss["memory"]["id"], user=ada)
    third = await door.context(user=ada, conversation_id=where)
    assert "Alec" not in third["stable"]["text"] + third["dynamic"]["text"]
    assert f"[id:{boss['memory']['id']}] is no longer known" in third["dynamic"]["text"]
    await door.restore(boss["memory"]["id"], user=ada)
    assert digest(await door.context(user=ada, conversation_id=where)) == digest(first)


async def test_a_turn_through_another_agent_stores_nothing(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """The message is refused as a whole, and not only its context."""
    door = PythonDoor(memory, as_actor())
    where = await talk(door, ada, agent)
    other = await memory.agents.create(as_actor(), AgentCreate(name="Another"))
    with pytest.raises(InvalidInput) as refused:
        await memory.conversations.begin_turn(
            as_actor(ada.id, other.id), UUID(where), MessageCreate(content="Hello")
        )
    assert refused.value.field == "agent_id"
    page = await memory.conversations.messages(as_actor(ada.id), UUID(where))
    assert list(page.items) == []


async def test_case_36_a_chat_that_never_ends_is_frozen_anew(
    door: Door, ada: User, agent: Agent
) -> None:
    """After a silence, after many changes and on request; what is left out is counted."""
    await fill(door, ada, agent, 6)
    where = await talk(door, ada, agent)

    async def told(**wanted: Any) -> Any:
        return await door.context(user=ada, conversation_id=where, **wanted)

    first = await told()
    late = await door.remember("Ada moved to Lisbon.", user=ada, agent=agent)
    assert digest(await told()) == digest(first)

    await door.say(where, [{"content": "Good night"}, {"content": "Good morning"}], user=ada)
    assert digest(await told()) == digest(first)
    rows("UPDATE frozen_contexts SET frozen_at = frozen_at - interval '9 hours'")
    rows("UPDATE messages SET created_at = created_at - interval '8 hours' WHERE position = 1")
    second = await told()
    assert late["memory"]["id"] in second["stable"]["ids"]
    assert second["dynamic"]["ids"] == []
    assert digest(await told()) == digest(second)

    await fill(door, ada, agent, 40)
    third = await told()
    assert len(third["stable"]["ids"]) + third["stable"]["left_out"] == 40 + 1
    assert third["dynamic"]["ids"] == []

    await door.remember("Ada sings in a choir.", user=ada, agent=agent)
    assert digest(await told()) == digest(third)
    fourth = await told(refresh=True)
    assert "Ada sings in a choir." in fourth["stable"]["text"]
    assert digest(await told()) == digest(fourth)


async def test_an_erased_memory_lives_on_in_no_frozen_block(
    memory: Remembrancer, door: Door, ada: User, agent: Agent
) -> None:
    """Neither in the text nor in a table, and a new one under its number is not taken for it."""
    kept = await door.remember("Ada likes tea.", user=ada, agent=agent)
    gone = await door.remember("Ada likes herring.", subject="Herring", user=ada, agent=agent)
    where = await talk(door, ada, agent)
    await door.context(user=ada, conversation_id=where)
    await door.erase_memory(gone["memory"]["id"], user=ada, dry_run=False)
    told = await door.context(user=ada, conversation_id=where)
    assert told["stable"]["ids"] == [kept["memory"]["id"]]
    assert "erring" not in told["stable"]["text"] + told["dynamic"]["text"]
    assert rows("SELECT memory_id FROM frozen_lines") == [(kept["memory"]["id"],)]


async def test_an_erased_message_takes_its_words_out_of_the_block(
    door: Door, ada: User, agent: Agent
) -> None:
    """Words that rest on it, and what falls back to earlier ones, are told anew."""
    where = await talk(door, ada, agent)
    said = await door.say(where, [{"content": "I like herring"}], user=ada)
    message = said["messages"][0]["id"]
    made = await door.remember("Ada likes fish.", user=ada, agent=agent)
    await door.update(
        made["memory"]["id"], content="Ada likes herring.", message_id=message, user=ada
    )
    first = await door.context(user=ada, conversation_id=where)
    assert "herring" in first["stable"]["text"]
    await door.delete_message(where, message, user=ada)
    told = await door.context(user=ada, conversation_id=where)
    assert "herring" not in told["stable"]["text"] + told["dynamic"]["text"]
    assert rows("SELECT count(*) FROM frozen_lines") == [(0,)]


async def test_an_erased_person_leaves_the_blocks_of_others(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """What they shared in a space was told to its members; nothing of it is left."""
    space = await door.create_space(name="Garden", user=ada)
    await door.add_member(space["id"], bob, user=ada)
    await door.remember_in(
        space["id"], "Ada waters the roses.", subject="Roses", visibility="shared", user=ada
    )
    where = await talk(door, bob, agent, space_id=space["id"])
    assert "roses" in (await door.context(user=bob, conversation_id=where))["stable"]["text"]
    await door.erase_user(ada, dry_run=False)
    told = await door.context(user=bob, conversation_id=where)
    assert "oses" not in told["stable"]["text"]
    assert rows("SELECT count(*) FROM frozen_lines") == [(0,)]


async def test_what_may_no_longer_be_told_leaves_the_block(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Unshared in a space, or moved to another scope: the rule of now decides."""
    space = await door.create_space(name="Garden", user=ada)
    await door.add_member(space["id"], bob, user=ada)
    made = await door.remember_in(
        space["id"], "Ada waters the roses.", visibility="shared", user=ada
    )
    await door.remember("Bob has a secret plan.", user=bob, agent=agent)
    where = await talk(door, bob, agent, space_id=space["id"])
    assert len((await door.context(user=bob, conversation_id=where))["stable"]["ids"]) == 2
    await door.show(made["memory"]["id"], "private", user=ada)
    await door.prefer(bob, agent, False)
    told = await door.context(user=bob, conversation_id=where)
    assert told["stable"]["ids"] == []
    assert "plan" not in told["stable"]["text"] + told["dynamic"]["text"]
    assert told["scope"] == Scope.GLOBAL


async def test_a_group_is_told_what_nobody_owns_and_what_matters_of_the_speaker(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """The stable block is one for all of them; the other person's memory is in neither."""
    await door.remember("The shop closes at six.", shared=True, kind="identity", agent=agent)
    await door.remember("Ada is deaf in one ear.", importance=0.9, user=ada, agent=agent)
    await door.remember("Ada wore red once.", importance=0.2, user=ada, agent=agent)
    await door.remember("Bob is afraid of dogs.", importance=0.9, user=bob, agent=agent)
    where = await talk(door, ada, agent)
    alone = await door.context(user=ada, conversation_id=where)
    assert "deaf" in alone["stable"]["text"]
    await door.say(where, [{"content": "Hello!", "user_id": str(bob.id)}])
    by_ada = await door.context(user=ada, conversation_id=where)
    by_bob = await door.context(user=bob, conversation_id=where)
    assert by_ada["group"]
    assert digest(by_ada) == digest(by_bob)
    assert "six" in by_ada["stable"]["text"]
    assert "deaf" not in by_ada["stable"]["text"]
    assert "The current speaker: Ada" in by_ada["dynamic"]["text"]
    assert "deaf" in by_ada["dynamic"]["text"]
    assert "red" not in by_ada["dynamic"]["text"]
    assert "dogs" not in by_ada["dynamic"]["text"]
    assert "The current speaker: Bob" in by_bob["dynamic"]["text"]
    assert "dogs" in by_bob["dynamic"]["text"]
    assert "deaf" not in by_bob["dynamic"]["text"]


async def test_what_one_group_said_is_told_in_no_other_group(
    memory: Remembrancer, door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """A summary has words of all who were there, and the readers of another group were not."""
    carol = await person(memory, "Carol")
    code = {"content": "My locker code word is marzipan.", "user_id": str(ada.id)}
    said = [{"content": f"Filler {n}.", "user_id": str(bob.id)} for n in range(30)]
    first = await talk(door, ada, agent)
    await door.say(first, [code, *said])
    await door.summarize(first, user=ada)
    other = await talk(door, bob, agent)
    await door.say(other, [{"content": "Hi", "user_id": str(carol.id)}])
    alone = await talk(door, bob, agent)

    async def told(where: str) -> str:
        context = await door.context(
            user=bob, conversation_id=where, message="What is the locker code word?"
        )
        return context["dynamic"]["text"] + context["stable"]["text"]

    assert "marzipan" in await told(first)
    assert "marzipan" in await told(alone)  # he was there
    assert "marzipan" not in await told(other)


async def test_somebody_who_joins_can_be_greeted_from_their_own_memory(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """What is known of them and what they said last elsewhere; nothing of who is there already."""
    private = await talk(door, bob, agent)
    await door.say(private, [{"content": "The auth migration is driving me mad."}], user=bob)
    await door.remember("Bob debugs the auth migration.", importance=0.4, user=bob, agent=agent)
    await door.remember("Ada is deaf in one ear.", importance=0.9, user=ada, agent=agent)
    group = await talk(door, ada, agent)
    await door.say(group, [{"content": "Hi", "user_id": str(bob.id)}])
    told = await door.context(user=bob, conversation_id=group, joined=True)
    text = told["dynamic"]["text"]
    assert "Who has just joined: Bob" in text
    assert "Bob debugs the auth migration." in text
    assert "driving me mad" in text
    assert "deaf" not in text + told["stable"]["text"]


async def test_the_context_recalls_for_the_message_with_dates(
    door: Door, ada: User, agent: Agent
) -> None:
    """CASE 25: what was said a moment ago is there at once; what the prompt has is not repeated."""
    earlier = await talk(door, ada, agent)
    said = await door.say(earlier, [{"content": "My sister lives in Porto."}], user=ada)
    where = await talk(door, ada, agent)
    told = await door.context(user=ada, conversation_id=where, message="Where does my sister live?")
    assert "My sister lives in Porto." in told["dynamic"]["text"]
    assert told["dynamic"]["ids"] == [said["messages"][0]["id"]]
    turn = await door.turn(where, {"content": "My brother lives in Rome."}, user=ada)
    assert [m["content"] for m in turn["messages"]] == ["My brother lives in Rome."]
    assert "Rome" not in turn["context"]["dynamic"]["text"]
    bare = await door.context(user=ada, conversation_id=where, message="Where is my brother?")
    assert "Rome" in bare["dynamic"]["text"]


async def test_a_turn_is_two_calls(door: Door, ada: User, agent: Agent) -> None:
    """Sent again with the same key, both are stored once; the window is what was said."""
    await door.remember("Ada prefers tea.", user=ada, agent=agent)
    where = await talk(door, ada, agent)
    for _ in range(2):
        turn = await door.turn(where, {"content": "A drink, please."}, user=ada, key="t1")
    assert "Ada prefers tea." in turn["context"]["stable"]["text"]
    for _ in range(2):
        stored = await door.answer(where, "Tea is coming.", user=ada, key="a1")
    assert stored["message_count"] == 2
    turn = await door.turn(where, {"content": "Thanks!"}, user=ada, window=2)
    assert [(m["role"], m["content"]) for m in turn["messages"]] == [
        ("assistant", "Tea is coming."),
        ("user", "Thanks!"),
    ]


async def test_a_turn_is_for_the_sender_the_platform_names(
    memory: Remembrancer, door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """A backend that only knows platform ids gets the context of who sent the message."""
    await door.remember("Bob is afraid of dogs.", importance=0.9, user=bob, agent=agent)
    where = await talk(door, ada, agent, platform="discord")
    turn = await door.turn(where, {"content": "Hi!", "platform_user_id": "Bob-1"})
    assert "The current speaker: Bob" in turn["context"]["dynamic"]["text"]
    assert "dogs" in turn["context"]["dynamic"]["text"]


async def test_budgets_hold_through_the_doors(door: Door, ada: User, agent: Agent) -> None:
    """From nothing to plenty; what is left out is counted."""
    await fill(door, ada, agent, 40)
    for budget in (0, 30, 100, 400, 5000):
        told = await door.context(
            user=ada,
            agent=agent,
            message="Which fact is number 7?",
            stable_tokens=budget,
            dynamic_tokens=budget,
        )
        for block in (told["stable"], told["dynamic"]):
            assert block["tokens"] <= budget
        assert told["stable"]["left_out"] + len(told["stable"]["ids"]) == 40
    where = await talk(door, ada, agent)
    first = await door.context(user=ada, conversation_id=where, stable_tokens=20)
    again = await door.context(user=ada, conversation_id=where, stable_tokens=20)
    assert first["stable"]["text"] == again["stable"]["text"] == ""


async def test_a_context_without_a_user_is_shared_knowledge(
    door: Door, ada: User, agent: Agent
) -> None:
    """Default deny; and only what is for every agent or for this one."""
    await door.remember("Ada likes tea.", user=ada, agent=agent)
    await door.remember("The shop closes at six.", shared=True)
    await door.remember("Only the helper knows.", shared=True, scope="agent", agent=agent)
    told = await door.context(message="Who likes tea?")
    assert "six" in told["stable"]["text"]
    assert "Ada" not in told["stable"]["text"] + told["dynamic"]["text"]
    assert "helper" not in told["stable"]["text"]
    assert "helper" in (await door.context(agent=agent))["stable"]["text"]


async def test_contexts_are_refused_and_noted_as_everything_else(
    memory: Remembrancer, door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Somebody else's conversation does not exist; reads and refusals are in the audit log."""
    made = await door.remember("Ada likes tea.", user=ada, agent=agent)
    where = await talk(door, ada, agent)
    other = await door.create_agent(name="Other")
    for refusal in await refusals(
        door.context(user=bob, conversation_id=where),
        door.context(user=ada, conversation_id="01a22122-6c7b-70e8-9adc-37a15847897c"),
        door.turn(where, {"content": "Hi", "role": "assistant"}, user=ada),
        door.context(user=ada, agent=other["id"], conversation_id=where),
        door.context(user=ada, stable_tokens=-1),
        door.context(user=ada, message=" "),
        door.context(user=ada, window=201),
        door.bulletin("01a22122-6c7b-70e8-9adc-37a15847897c"),
        door.bulletin(agent.id, tokens=-1),
    ):
        assert refusal.status in {404, 422}
        assert refusal.fields
    own = await door.of(bob)
    with pytest.raises(Refused) as refused:
        await own.context(user=ada)
    assert refused.value.status == 404
    await door.context(user=ada, conversation_id=where)
    await memory.reads.flush()
    lines = [line for line in audit_lines() if line.action == "context.read"]
    assert [line.outcome for line in lines].count("refused") == 2
    assert any(made["memory"]["id"] in line.target_ids for line in lines)


async def test_being_listed_is_no_access_being_recalled_is(
    memory: Remembrancer, door: Door, ada: User, agent: Agent
) -> None:
    """Else nothing in the stable block would ever fade."""
    made = await door.remember("Ada likes tea.", user=ada, agent=agent)
    where = await talk(door, ada, agent)
    await door.context(user=ada, conversation_id=where, message="What does Ada like?")
    await memory.access_counts.flush()
    assert (await door.read(made["memory"]["id"], user=ada))["access_count"] == 0
    await door.context(user=ada, agent=agent, stable_tokens=0, message="What does Ada like?")
    await memory.access_counts.flush()
    assert (await door.read(made["memory"]["id"], user=ada))["access_count"] == 1


async def test_a_bulletin_is_a_function_of_shared_knowledge(
    door: Door, ada: User, agent: Agent
) -> None:
    """The same bytes each time, by kind, within its budget, and nothing of a person."""
    await door.remember("Ada likes tea.", user=ada, agent=agent)
    for n in range(30):
        await door.remember(
            f"Shared thing {n} is so.", shared=True, kind=["fact", "decision"][n % 2]
        )
    first = await door.bulletin(agent.id)
    assert first == await door.bulletin(agent.id)
    assert first["text"].index("### Decision") < first["text"].index("### Fact")
    assert "Ada" not in first["text"]
    small = await door.bulletin(agent.id, tokens=150)
    assert small["tokens"] <= 150
    assert small["left_out"] + len(small["ids"]) == 30
    # The weightiest come first.
    assert "### Fact" not in small["text"]


async def test_nothing_said_while_remembering_is_paused_is_remembered(
    memory: Remembrancer, door: Door, ada: User, agent: Agent
) -> None:
    """It is read with the conversation, and neither recalled, summarised nor learnt from."""
    where = await talk(door, ada, agent)
    await door.say(where, [{"content": "My cat is called Tom."}], user=ada)
    assert (await door.pause(where, user=ada))["paused_at"]
    said = await door.say(
        where, [{"content": f"My herring {n} is a secret."} for n in range(40)], user=ada
    )
    assert said["off_record"]
    [refused] = await refusals(
        door.remember("Ada has a herring.", user=ada, agent=agent, conversation_id=where)
    )
    assert refused.status == 409
    assert refused.fields == ["conversation_id"]
    assert (await door.pause(where, user=ada, paused=False))["paused_at"] is None
    await door.say(where, [{"content": f"Word {n}."} for n in range(25)], user=ada)
    done = await door.summarize(where, user=ada)
    assert done["summarised_to"] == 46
    chunks = await door.chunks(where, user=ada)
    assert "herring" not in str(chunks)
    told = await door.context(user=ada, agent=agent, message="What is called a herring?")
    assert "herring" not in told["stable"]["text"] + told["dynamic"]["text"]
    window = await door.window(where, user=ada, last=50)
    assert "herring" in str(window)


async def test_a_merge_tells_the_survivor_anew(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Nothing is told under an owner who has it no more, and undoing it brings back each one's."""
    await door.remember("Ada likes tea.", user=ada, agent=agent)
    await door.remember("Bob likes gin.", user=bob, agent=agent)
    where = await talk(door, bob, agent)
    await door.context(user=bob, conversation_id=where)
    merged = await door.merge(ada, bob)
    told = await door.context(user=bob, conversation_id=where)
    assert len(told["stable"]["ids"]) == 2
    await door.unmerge(ada, merged["undo_id"])
    told = await door.context(user=bob, conversation_id=where)
    assert "gin" in told["stable"]["text"]
    assert "tea" not in told["stable"]["text"]
