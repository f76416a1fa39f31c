"""What goes wrong in memory systems, tried at every way in (the project's list of cases)."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from entry_points import Door, Json, Refused, refusals
from helpers import audit_lines, rows

from remembrancer import Agent, Remembrancer, Role, SpaceCreate, User, as_actor
from remembrancer.users.rules import local_day


async def _gathered(*calls: Any) -> tuple[list[Any], list[Refused]]:
    """The answers and the refusals of calls made at the same time."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    refused = [one for one in ended if isinstance(one, Refused)]
    answered = [one for one in ended if not isinstance(one, BaseException)]
    assert len(refused) + len(answered) == len(ended), ended
    return answered, refused


# 1 Duplicates --------------------------------------------------------------------------


async def test_a_fact_written_three_times_and_then_three_at_once_is_one_memory(
    door: Door, ada: User, agent: Agent
) -> None:
    """Repeating a fact adds a mention that cites its source, never a second memory."""
    sources = [(await door.source(ada))["message_id"] for _ in range(6)]

    def write(source: str) -> Any:
        return door.remember("Ada plays the cello.", user=ada, agent=agent, message_id=source)

    outcomes = [(await write(source))["outcome"] for source in sources[:3]]
    assert outcomes == ["created", "mentioned", "mentioned"]
    written, refused = await _gathered(*(write(source) for source in sources[3:]))
    assert not refused
    assert [one["outcome"] for one in written] == ["mentioned"] * 3
    listed = await door.listed(user=ada, agent=agent)
    [memory] = listed["memories"]
    assert (listed["total"], memory["mention_count"], memory["version"]) == (1, 6, 1)
    history = await door.read(memory["id"], user=ada, agent=agent)
    assert sorted(m["message_id"] for m in history["mentions"]) == sorted(sources)


async def test_a_fact_first_written_by_many_at_once_is_one_memory(door: Door, ada: User) -> None:
    """Nobody has to be first: of parallel writers exactly one creates."""
    written, refused = await _gathered(
        *(door.remember("Ada plays the cello.", user=ada) for _ in range(6))
    )
    assert not refused
    assert Counter(one["outcome"] for one in written) == {"created": 1, "mentioned": 5}
    assert (await door.listed(user=ada))["memories"][0]["mention_count"] == 6


async def test_the_same_words_in_another_case_and_spacing_are_the_same_fact(
    door: Door, ada: User
) -> None:
    """Sameness is of the words, not of the bytes."""
    await door.remember("Ada plays the cello.", user=ada)
    again = await door.remember("  ada plays\tTHE cello ", user=ada)
    assert again["outcome"] == "mentioned"


# 2 Injective ids -----------------------------------------------------------------------


async def test_ids_of_two_parts_are_never_joined(door: Door) -> None:
    """(`a`, `b_c`) and (`a_b`, `c`) are two people, whatever their parts look like joined."""
    pairs = [("a", "b_c"), ("a_b", "c"), ("a", "b:c"), ("a:b", "c"), ("a/b", "c"), ("a", "b/c")]
    found = [
        await door.resolve(platform=platform, platform_user_id=user_id, display_name="X")
        for platform, user_id in pairs
    ]
    assert len({one["id"] for one in found}) == len(pairs)


# 3 Lost update -------------------------------------------------------------------------


async def test_eight_parallel_appends_lose_nothing_and_leave_no_gap(
    door: Door, ada: User, agent: Agent
) -> None:
    """Positions are gap-free, and a retry under the same key doubles nothing."""
    conversation = (await door.open(user=ada, agent=agent))["id"]

    def append(number: int) -> Any:
        said = [{"content": f"Message {number}"}, {"role": "assistant", "content": f"Re {number}"}]
        return door.say(conversation, said, user=ada, key=f"k{number}")

    once, refused = await _gathered(*(append(n) for n in range(8)))
    twice, refused_again = await _gathered(*(append(n) for n in range(8)))
    assert not refused
    assert not refused_again
    assert sorted(map(str, once)) == sorted(map(str, twice))
    window = await door.window(conversation, user=ada, last=100)
    assert [message["position"] for message in window] == list(range(1, 17))
    assert len({message["content"] for message in window}) == 16
    for first, second in zip(window[::2], window[1::2], strict=True):
        assert second["content"] == first["content"].replace("Message", "Re")


async def test_retries_that_overtake_their_first_attempt_append_once(door: Door, ada: User) -> None:
    """Eight copies of one request at the same time are one append, and all get its answer."""
    conversation = (await door.open(user=ada))["id"]
    answers, refused = await _gathered(
        *(door.say(conversation, [{"content": "Hi"}], user=ada, key="same") for _ in range(8))
    )
    assert not refused
    assert all(answer == answers[0] for answer in answers)
    assert len(await door.window(conversation, user=ada)) == 1


async def test_a_key_that_comes_with_another_request_is_refused(door: Door, ada: User) -> None:
    """An idempotency key stands for one request."""
    await door.remember("Ada plays the cello.", user=ada, key="k")
    with pytest.raises(Refused) as refused:
        await door.remember("Ada plays the violin.", user=ada, key="k")
    assert (refused.value.status, refused.value.fields) == (409, ["Idempotency-Key"])
    assert (await door.listed(user=ada))["total"] == 1


async def test_a_key_of_one_user_says_nothing_to_another(door: Door, ada: User, bob: User) -> None:
    """Two people may use the same idempotency key."""
    await door.remember("I live in Lisbon.", user=ada, key="k")
    other = await door.remember("I live in Oslo.", user=bob, key="k")
    assert other["memory"]["user_id"] == str(bob.id)


# 4 Stale write -------------------------------------------------------------------------


async def _at_version_three(door: Door, user: User) -> str:
    memory_id = (await door.remember("Ada is 30.", user=user))["memory"]["id"]
    for age in (31, 32):
        await door.update(memory_id, user=user, content=f"Ada is {age}.")
    return memory_id


async def test_of_two_updates_from_version_three_one_lands_and_one_conflicts(
    door: Door, ada: User
) -> None:
    """The loser is told the current version, and its words are nowhere."""
    memory_id = await _at_version_three(door, ada)
    landed, refused = await _gathered(
        *(
            door.update(memory_id, user=ada, content=content, expected_version=3)
            for content in ("Ada is 33.", "Ada is 34.")
        )
    )
    assert [one["version"] for one in landed] == [4]
    [loser] = refused
    assert (loser.status, loser.fields) == (409, ["expected_version"])
    assert loser.extra["current_version"] == 4
    history = await door.read(memory_id, user=ada)
    assert [v["version"] for v in history["versions"]] == [1, 2, 3, 4]


async def test_without_an_expected_version_both_updates_land(door: Door, ada: User) -> None:
    """Whoever does not ask for a version gets the next one."""
    memory_id = await _at_version_three(door, ada)
    landed, refused = await _gathered(
        *(door.update(memory_id, user=ada, content=c) for c in ("Ada is 33.", "Ada is 34."))
    )
    assert not refused
    assert sorted(one["version"] for one in landed) == [4, 5]


async def test_an_etag_that_is_not_current_fails_the_precondition(door: Door, ada: User) -> None:
    """The same rule by ``If-Match``: 412, and the current version named."""
    memory_id = await _at_version_three(door, ada)
    with pytest.raises(Refused) as refused:
        await door.update(memory_id, user=ada, content="Ada is 33.", if_version=2)
    assert refused.value.status == 412
    assert refused.value.extra["current_version"] == 3


# 11 Intervals --------------------------------------------------------------------------


def _learnt(memory_id: str, when: str) -> None:
    """Let a memory have been learnt at another time than now."""
    for table in ("memory_versions", "recall_items"):
        rows(f"UPDATE {table} SET recorded_at = %s WHERE memory_id = %s", when, memory_id)


async def test_what_held_twice_is_two_intervals(door: Door, ada: User) -> None:
    """Asked as of a day between them, neither holds; nothing learnt later is ever told."""
    text = "Ada is assigned to Payments."
    spans = [("2026-01-05", "2026-02-20", "2026-01-05"), ("2026-06-01", "2026-07-30", "2026-06-10")]
    for begin, end, learnt in spans:
        written = await door.remember(
            text, user=ada, valid_from=f"{begin}T00:00:00Z", valid_to=f"{end}T00:00:00Z"
        )
        assert written["outcome"] == "created"
        _learnt(written["memory"]["id"], f"{learnt}T00:00:00Z")
    assert (await door.listed(user=ada))["total"] == 2

    async def told(day: str) -> list[str]:
        wanted = {"as_of": f"{day}T12:00:00Z", "sources": ["memory"]}
        hits = (await door.recall("Who is assigned to Payments?", user=ada, **wanted))["hits"]
        recent = (await door.recall(None, user=ada, mode="recent", **wanted))["hits"]
        assert [hit["id"] for hit in hits] == [hit["id"] for hit in recent]
        return [hit["valid_from"][:10] for hit in hits]

    assert await told("2026-02-01") == ["2026-01-05"]
    assert await told("2026-03-15") == []
    assert await told("2026-06-05") == []  # it held, but nobody had said so yet
    assert await told("2026-06-15") == ["2026-06-01"]
    assert await told("2026-08-15") == []


async def test_an_update_is_not_told_as_of_a_day_before_it(door: Door, ada: User) -> None:
    """The words that were current then are the answer, whatever was learnt since."""
    made = (await door.remember("Ada works at Acme.", user=ada))["memory"]["id"]
    _learnt(made, "2026-01-01T00:00:00Z")
    await door.update(made, user=ada, content="Ada works at Bravo.")
    wanted = {"as_of": "2026-03-01T00:00:00Z"}
    assert await door.contents("Where does Ada work?", user=ada, **wanted) == ["Ada works at Acme."]
    assert await door.contents("Where does Ada work?", user=ada) == ["Ada works at Bravo."]


# 12 Isolation --------------------------------------------------------------------------


async def test_what_two_users_tell_one_agent_stays_apart(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Neither a question, nor a filter, nor metadata reaches another owner's memory."""
    await door.remember("I live in Lisbon.", user=ada, agent=agent)
    await door.remember("I live in Oslo.", user=bob, agent=agent, metadata={"user_id": str(ada.id)})
    asked = {"user": ada, "agent": agent}
    assert await door.contents("Where do I live?", **asked) == ["I live in Lisbon."]
    assert await door.contents("I live in Oslo.", **asked) == ["I live in Lisbon."]
    assert await door.contents(None, mode="recent", **asked) == ["I live in Lisbon."]
    assert await door.contents("Where?", categories=["other"], **asked) == ["I live in Lisbon."]
    assert [m["content"] for m in (await door.listed(**asked))["memories"]] == ["I live in Lisbon."]
    assert (await door.listed(text="Oslo", **asked))["total"] == 0
    [owned] = rows("SELECT owner_id FROM memories WHERE content LIKE '%Oslo%'")
    assert owned == (bob.id,)


async def test_messages_are_recalled_for_their_sender_alone(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """In a conversation of two, each is told their own words."""
    conversation = (await door.open(user=ada, agent=agent))["id"]
    said = [
        {"content": "I live in Lisbon.", "user_id": str(ada.id)},
        {"content": "I live in Oslo.", "user_id": str(bob.id)},
    ]
    await door.say(conversation, said)
    for user, expected in ((ada, "I live in Lisbon."), (bob, "I live in Oslo.")):
        found = await door.contents("Where do I live?", user=user, agent=agent)
        assert found == [expected]


async def test_a_user_can_name_nobody_else(door: Door, ada: User, bob: User) -> None:
    """For one who can only be themselves, other users do not exist, at any call."""
    own = await door.of(bob)
    conversation = (await door.open(user=ada))["id"]
    calls = [
        own.remember("Ada lives in Oslo.", user=ada),
        own.remember_many([{"content": "Ada lives in Oslo."}], user=ada),
        own.listed(user=ada),
        own.recall("Where?", user=ada),
        own.open(user=ada),
        own.say(conversation, [{"content": "Hi"}]),
        own.say(conversation, [{"content": "Hi"}], user=ada),
        own.window(conversation),
        own.change_user(ada.id, display_name="Mallory"),
    ]
    assert {refused.status for refused in await refusals(*calls)} == {404}
    mine = (await own.open())["id"]
    with pytest.raises(Refused) as refused:
        await own.say(mine, [{"content": "I am Ada", "user_id": str(ada.id)}])
    assert refused.value.status == 404
    assert rows("SELECT count(*) FROM memories") == [(0,)]
    assert rows("SELECT count(*) FROM messages") == [(0,)]


async def test_nobody_is_the_owner_of_shared_knowledge(door: Door) -> None:
    """The fixed id under which shared knowledge is stored is not a user one can act for."""
    nobody = "00000000-0000-0000-0000-000000000000"
    for refused in await refusals(
        door.listed(user=nobody),
        door.recall("Anything?", user=nobody),
        door.remember("Something.", user=nobody),
        door.open(user=nobody),
    ):
        assert (refused.status, refused.fields) == (404, ["user_id"])


async def test_without_a_user_only_shared_knowledge_is_seen(
    door: Door, ada: User, agent: Agent
) -> None:
    """Default deny: nobody given, nobody's memories."""
    await door.remember("Ada lives in Lisbon.", user=ada)
    await door.remember("Ada has an agent.", user=ada, agent=agent)
    await door.remember("The office is in Lisbon.", shared=True)
    for asked in ({}, {"agent": agent}):
        assert await door.contents("Lisbon", **asked) == ["The office is in Lisbon."]
        assert (await door.listed(**asked))["total"] == 1


# 13 Sibling names ----------------------------------------------------------------------


async def test_names_that_look_alike_are_never_crossed(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """`john-doe` and `john_doe`, `acme` and `acme-corp`: no prefix, no pattern."""
    names = ["john-doe", "john_doe", "john%doe", "john", "JOHN-DOE", "john-doe "]
    people = [
        await door.resolve(platform="x", platform_user_id=name, display_name="John")
        for name in names
    ]
    assert len({one["id"] for one in people}) == len(names)
    for name, one in zip(names, people, strict=True):
        await door.remember(f"My handle is spelled {name!r}", user=one["id"], allow_similar=True)
    for name, one in zip(names, people, strict=True):
        found = await door.contents("My handle is spelled john-doe", user=one["id"])
        assert found == [f"My handle is spelled {name!r}"]
    acme, corp = [
        (await memory.spaces.create(as_actor(user), SpaceCreate(name=name))).id
        for user, name in ((ada, "acme"), (bob, "acme-corp"))
    ]
    for user, space in ((ada, acme), (bob, corp)):
        await door.remember("The plan", user=user, space_id=str(space), visibility="shared")
    for user, space, other in ((ada, acme, corp), (bob, corp, acme)):
        [hit] = (await door.recall("The plan", user=user))["hits"]
        assert hit["space_id"] == str(space)
        assert await door.contents("The plan", user=user, space_id=str(other)) == []


async def test_a_search_for_part_of_a_text_takes_wildcards_for_letters(
    door: Door, ada: User
) -> None:
    """``%`` and ``_`` in a text filter stand for themselves."""
    for content in ("100% wool", "1000 sheep", "snake_case", "snakeXcase", r"back\slash"):
        await door.remember(content, user=ada)
    for text, expected in (("100%", 1), ("e_c", 1), ("%", 1), ("_", 1), ("\\", 1)):
        assert (await door.listed(user=ada, text=text))["total"] == expected


# 14 Object-level access ----------------------------------------------------------------

_BY_ID = {
    "reads": lambda door, memory_id: door.read(memory_id),
    "edits": lambda door, memory_id: door.update(memory_id, content="Changed."),
    "pins": lambda door, memory_id: door.pin(memory_id),
    "unpins": lambda door, memory_id: door.pin(memory_id, pinned=False),
    "deletes": lambda door, memory_id: door.forget(memory_id),
    "restores": lambda door, memory_id: door.restore(memory_id),
}


@pytest.mark.parametrize("deed", _BY_ID)
async def test_who_does_something_to_another_ones_memory_by_id_finds_nothing(
    door: Door, ada: User, bob: User, deed: str
) -> None:
    """404, nothing changed, and exactly one line in the audit log."""
    memory_id = (await door.remember("Ada lives in Lisbon.", user=ada))["memory"]["id"]
    if deed == "restores":
        await door.forget(memory_id, user=ada)
    own = await door.of(bob)
    before = _everything()
    noted = len(audit_lines())
    with pytest.raises(Refused) as refused:
        await _BY_ID[deed](own, memory_id)
    assert (refused.value.status, refused.value.fields) == (404, ["memory_id"])
    assert _everything() == before
    [line] = audit_lines()[noted:]
    assert (line.outcome, line.actor_user_id, line.actor_role) == ("refused", bob.id, Role.USER)
    assert line.target_ids == [memory_id]


async def test_a_member_of_a_space_reads_a_shared_fact_but_cannot_change_it(
    door: Door, memory: Remembrancer, ada: User, bob: User
) -> None:
    """Shared is seen together, changed by its author alone."""
    space = await memory.spaces.create(
        as_actor(ada), SpaceCreate(name="Family", member_ids=[bob.id])
    )
    made = await door.remember(
        "Gran was born in 1931.", user=ada, space_id=str(space.id), visibility="shared"
    )
    memory_id = made["memory"]["id"]
    own = await door.of(bob)
    assert (await own.read(memory_id))["content"] == "Gran was born in 1931."
    before = _everything()
    for deed in ("edits", "pins", "unpins", "deletes", "restores"):
        with pytest.raises(Refused) as refused:
            await _BY_ID[deed](own, memory_id)
        assert refused.value.status == 404
    assert _everything() == before


async def test_an_id_that_cannot_be_one_is_simply_not_found(door: Door, ada: User) -> None:
    """Whatever stands for a memory's id, the answer is that there is none."""
    for wrong in (
        "zzzzzzzz",
        "a\x00b",
        "ä",
        "x" * 64,
        "x" * 5000,
        "%27%20OR%201=1",
        "..",
        "\ud800",
    ):
        for deed in _BY_ID.values():
            with pytest.raises(Refused) as refused:
                await deed(await _as(door, ada), wrong)
            assert refused.value.status in {404, 405, 422}


async def _as(door: Door, user: User) -> Door:
    return await door.of(user)


def _everything() -> list[Any]:
    return [
        rows(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        for table in ("memories", "memory_versions", "mentions", "recall_items", "postings")
    ]


# 20 Scripts ----------------------------------------------------------------------------

_SCRIPTS = {
    "Chinese": ("我昨天在北京的图书馆学习了量子物理", "量子物理"),
    "Japanese": ("私は毎週京都の寺で書道を習っています", "書道を習う"),
    "Thai": ("ฉันชอบกินต้มยำกุ้ง", "ต้มยำกุ้ง"),
    "Korean": ("저는 부산에서 고양이를 키워요", "고양이"),
    "Arabic": ("أعيش في القاهرة وأحب القهوة العربية", "القهوة العربية"),
    "German": (
        "Die Donaudampfschifffahrtsgesellschaft stellt mich ein",
        "Wer stellt mich ein",
    ),
    "emoji": ("🎻🎻 every 🌅", "🎻"),
}


@pytest.mark.parametrize("script", _SCRIPTS)
async def test_the_keyword_arm_finds_text_in(door: Door, ada: User, script: str) -> None:
    """A text is found by its words in its own language, by the keyword arm on its own."""
    content, query = _SCRIPTS[script]
    for other in ("I like tea.", "明日は雨が降る", "今天天气很好", "Der Zug ist spät"):
        await door.remember(other, user=ada)
    await door.remember(content, user=ada)
    hits = (await door.recall(query, user=ada))["hits"]
    by_words = [hit["content"] for hit in hits if "keyword" in hit["reasons"]["arms"]]
    assert by_words[:1] == [content]
    [hit] = [hit for hit in hits if hit["content"] == content]
    assert hit["reasons"]["arms"]["keyword"]["rank"] == 1


# 22 Time zones -------------------------------------------------------------------------


@pytest.mark.parametrize("offset", ["-11:00", "+00:00", "+05:45", "+14:00"])
async def test_an_instant_with_any_offset_comes_back_as_the_same_instant(
    door: Door, ada: User, offset: str
) -> None:
    """Storage is UTC; the moment is kept, whatever zone it was told in."""
    told = f"2026-03-01T00:30:00{offset}"
    moment = datetime.fromisoformat(told)
    conversation = (await door.open(user=ada))["id"]
    await door.say(conversation, [{"content": "Hello", "sent_at": told}], user=ada)
    [message] = await door.window(conversation, user=ada)
    assert datetime.fromisoformat(message["sent_at"]) == moment
    assert datetime.fromisoformat(message["sent_at"]).utcoffset() == timedelta(0)
    made = await door.remember("Ada moves.", user=ada, valid_from=told)
    assert datetime.fromisoformat(made["memory"]["valid_from"]) == moment
    assert rows("SELECT valid_from FROM memories") == [(moment.astimezone(UTC),)]


async def test_yesterday_recalls_by_the_users_own_day(door: Door, ada: User) -> None:
    """At one instant, three zones have three yesterdays, and each finds what lies in its own."""
    conversation = (await door.open(user=ada))["id"]
    said = {
        hour: datetime(2026, 3, 9, tzinfo=UTC) + timedelta(hours=hour) for hour in range(-20, 44, 4)
    }
    messages = [
        {"content": f"Note {hour}", "sent_at": moment.isoformat()} for hour, moment in said.items()
    ]
    await door.say(conversation, messages, user=ada)
    for zone in ("Pacific/Niue", "UTC", "Pacific/Kiritimati"):
        since, until = local_day(datetime(2026, 3, 10, 11, 30, tzinfo=UTC), zone, 1)
        wanted = {"since": since.isoformat(), "until": until.isoformat(), "limit": 100}
        found = await door.contents("Note", user=ada, **wanted)
        expected = {f"Note {hour}" for hour, moment in said.items() if since <= moment < until}
        assert len(expected) == 6
        assert set(found) == expected


async def test_a_time_without_a_zone_is_refused(door: Door, ada: User) -> None:
    """Nobody guesses what zone a client meant."""
    with pytest.raises(Refused) as refused:
        await door.remember("Ada moves.", user=ada, valid_from="2026-03-01T00:30:00")
    assert (refused.value.status, refused.value.fields) == (422, ["valid_from"])


async def test_a_users_time_zone_is_kept_until_another_is_told(door: Door) -> None:
    """The last zone told is the user's; being seen again without one changes nothing."""
    who: Json = {"platform": "x", "platform_user_id": "1", "display_name": "Ada"}
    assert (await door.resolve(**who))["time_zone"] == "UTC"
    told = await door.resolve(**who, time_zone="Pacific/Kiritimati")
    assert told["time_zone"] == "Pacific/Kiritimati"
    assert (await door.resolve(**who))["time_zone"] == "Pacific/Kiritimati"
    with pytest.raises(Refused) as refused:
        await door.resolve(**who, time_zone="Mars/Olympus")
    assert (refused.value.status, refused.value.fields) == (422, ["time_zone"])


# 23 One limit --------------------------------------------------------------------------


async def test_an_over_long_memory_meets_the_same_refusal_on_every_way(
    door: Door, ada: User
) -> None:
    """One limit, one reason, at each way to write a memory; nothing of it is stored."""
    longest = "x" * 2000
    kept = (await door.remember(longest, user=ada))["memory"]["id"]
    refused = await refusals(
        door.remember(longest + "x", user=ada),
        door.update(kept, user=ada, content=longest + "x"),
        door.remember_many([{"content": longest + "x"}], user=ada),
        door.remember_many([{"content": "fine"}, {"content": longest + "x"}], user=ada),
    )
    assert [one.status for one in refused] == [422] * 4
    assert [one.fields for one in refused] == [
        ["content"],
        ["content"],
        ["memories.0.content"],
        ["memories.1.content"],
    ]
    assert rows("SELECT count(*) FROM memory_versions") == [(1,)]


# Determinism ---------------------------------------------------------------------------


async def test_the_same_question_gets_the_same_answer(door: Door, ada: User, agent: Agent) -> None:
    """Same query, same store: the same hits in the same order with the same scores."""
    topics = ("tea", "coffee", "milk", "water", "juice", "wine")
    await door.remember_many(
        [{"content": f"Ada drinks {topic} at {n}."} for n, topic in enumerate(topics)], user=ada
    )

    async def ask(**wanted: Any) -> list[Json]:
        hits = (await door.recall("What does Ada drink?", user=ada, limit=20, **wanted))["hits"]
        return [{k: v for k, v in hit.items() if k != "access_count"} for hit in hits]

    first = [(hit["id"], hit["reasons"]) for hit in await ask()]
    assert len(first) == len(topics)
    for _ in range(2):
        assert [(hit["id"], hit["reasons"]) for hit in await ask()] == first


@pytest.mark.parametrize("mode", ["recent", "important"])
async def test_equal_scores_keep_one_order(door: Door, ada: User, mode: str) -> None:
    """Ties are broken by id, so a list never shuffles between two looks."""
    await door.remember_many(
        [{"content": f"Fact number {n}", "importance": 0.5} for n in range(12)], user=ada
    )
    orders = [
        [h["id"] for h in (await door.recall(None, user=ada, mode=mode, limit=12))["hits"]]
        for _ in range(3)
    ]
    assert len(set(orders[0])) == 12
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("sort", ["recent", "importance", "most_accessed"])
async def test_pages_of_equals_hold_each_memory_once(door: Door, ada: User, sort: str) -> None:
    """Walking the pages of a list meets every memory exactly once, in any order of it."""
    await door.remember_many([{"content": f"Fact number {n}"} for n in range(11)], user=ada)
    seen: list[str] = []
    cursor = None
    while True:
        page = await door.listed(user=ada, limit=3, cursor=cursor, sort=sort)
        seen += [memory["id"] for memory in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == page["total"] == 11


# 46 Said when, known when --------------------------------------------------------------


async def test_case_46_what_was_said_in_2020_and_stored_today_was_not_known_in_2021(
    door: Door, ada: User
) -> None:
    """Neither the message nor what is remembered of it; the order is that of the saying."""
    talk = (await door.open(user=ada))["id"]
    said = {"content": "I keep bees in Porto", "sent_at": "2020-05-01T10:00:00Z"}
    [message] = (await door.say(talk, [said], user=ada))["messages"]
    await door.remember("Ada kept bees.", user=ada, valid_from="2020-01-01T00:00:00Z")
    for as_of, count in (("2021-01-01T00:00:00Z", 0), ("2100-01-01T00:00:00Z", 2), (None, 2)):
        hits = (await door.recall("Who keeps bees?", user=ada, as_of=as_of))["hits"]
        assert len(hits) == count, as_of
    [hit] = (await door.recall("bees", user=ada, sources=["message"]))["hits"]
    assert (hit["id"], hit["at"][:10]) == (message["id"], "2020-05-01")


# 53 Groups -----------------------------------------------------------------------------


async def test_case_53_the_second_speaker_of_a_group_opens_its_conversation(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Bob has the conversation that Ada opened, and takes part once he speaks.

    A key of his own opens it then, not before.
    """
    group = {"platform": "telegram", "platform_conversation_id": "group-1", "agent": agent}
    opened = await door.open(user=ada, title="Choir", **group)
    of_bob = await door.of(bob)
    [refused] = await refusals(of_bob.open(**group))
    assert refused.status == 404
    for one in (door, await door.as_admin()):
        again = await one.open(user=bob, **group)
        assert (again["id"], again["title"]) == (opened["id"], "Choir")
    [refused] = await refusals(door.window(opened["id"], user=bob))
    assert refused.status == 404
    await door.turn(opened["id"], {"content": "I sing bass"}, user=bob)
    for user, one in ((bob, of_bob), (bob, door), (ada, door)):
        assert (await one.open(user=user, **group))["id"] == opened["id"]
    await door.say(opened["id"], [{"content": "I sing alto"}], user=ada)
    said = await door.window(opened["id"], user=bob)
    assert [(one["sender_name"], one["content"]) for one in said] == [
        ("Bob", "I sing bass"),
        ("Ada", "I sing alto"),
    ]


# 28 Sameness ---------------------------------------------------------------------------

DIFFERENT = [
    ("Ada's blood type is O+", "Ada's blood type is O-"),
    ("Milk: \u2705", "Milk: \u274c"),
    ("Ada on tea: \U0001f44d", "Ada on tea: \U0001f44e"),
    ("The load is < 10", "The load is > 10"),
    ("Sales: +5%", "Sales: -5%"),
    ("Her grade is A", "Her grade is A*"),
    ("Ada takes vitamin A", "Ada takes vitamin"),
    ("Ada likes The Who", "Ada likes who"),
    ("Ada ist nicht da", "Ada ist da"),
    ("\u827e\u8fbe\u5403\u8089", "\u827e\u8fbe\u4e0d\u5403\u8089"),
]
"""Pairs that a sign, a symbol, an emoji or a short word keeps apart."""


async def test_case_28_what_a_sign_or_short_word_keeps_apart_is_two_memories(
    door: Door, ada: User
) -> None:
    """Written one after the other, and all of them at once."""
    for pair in DIFFERENT:
        outcomes = [(await door.remember(content, user=ada))["outcome"] for content in pair]
        assert outcomes == ["created", "created"], pair
    again, refused = await _gathered(
        *(door.remember(f" {content}.", user=ada) for pair in DIFFERENT for content in pair)
    )
    assert not refused
    assert {one["outcome"] for one in again} == {"mentioned"}
    assert (await door.listed(user=ada))["total"] == 2 * len(DIFFERENT)


async def test_case_28_a_move_a_merge_a_review_and_a_document_keep_both(
    door: Door, ada: User, bob: User, agent: Agent
) -> None:
    """Nothing that compares statements takes the one for the other."""
    plus, minus = both = ["Ada's blood type is O+", "Ada's blood type is O-"]

    async def of_ada() -> list[str]:
        return sorted(one["content"] for one in (await door.listed(user=ada))["memories"])

    async def erase(content: str) -> None:
        [memory] = [m for m in (await door.listed(user=ada))["memories"] if m["content"] == content]
        await door.erase_memory(memory["id"], user=ada, dry_run=False)

    await door.remember(plus, user=ada)
    await door.prefer(ada, agent, True)
    await door.remember(minus, user=ada, agent=agent)
    assert (await door.move(ada, agent, to="global", dry_run=False))["merged"] == 0
    assert await of_ada() == both
    await erase(minus)
    await door.remember(minus, user=ada, pending=True)
    [waiting] = (await door.waiting(user=ada))["memories"]
    [done] = await door.review([(waiting["id"], "confirm")], user=ada)
    assert (done["outcome"], await of_ada()) == ("confirmed", both)
    await erase(plus)
    sent = {"facts": [{"id": "1", "content": plus, "added_at": "2024-01-01T00:00:00Z"}]}
    assert (await door.import_document(ada, sent))["facts_added"] == 1
    assert await of_ada() == both
    await erase(plus)
    await door.remember(plus, user=bob)
    await door.merge(ada, bob)
    assert await of_ada() == both


async def test_case_28_a_change_to_the_other_sign_is_a_change(door: Door, ada: User) -> None:
    """An update that alters only a sign is a new version, not the memory itself."""
    memory = (await door.remember("Ada's blood type is O+", user=ada))["memory"]
    changed = await door.update(memory["id"], user=ada, content="Ada's blood type is O-")
    assert (changed["version"], changed["content"][-2:]) == (2, "O-")
    assert (await door.remember("Ada's blood type is O+", user=ada))["outcome"] == "created"
