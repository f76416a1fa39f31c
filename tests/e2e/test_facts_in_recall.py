"""Facts and summaries beside the messages that they are from: none of them costs a message."""

from entry_points import Door, Json

from remembrancer import User

TALK = [
    ("I sailed to Porto with my sister", "Ada sailed to Porto with her sister."),
    ("My brother repairs old radios", "Ada's brother repairs old radios."),
    ("I am learning to bake rye bread", "Ada is learning to bake rye bread."),
    ("Our neighbour adopted a greyhound", "Ada's neighbour adopted a greyhound."),
    ("I broke my ankle on the stairs", "Ada broke her ankle on the stairs."),
    ("I planted tomatoes on the balcony", "Ada planted tomatoes on the balcony."),
]
SAID = [said for said, _ in TALK]
FACTS = [fact for _, fact in TALK]
QUESTIONS = [
    "Where did Ada sail with her sister?",
    "Who repairs old radios?",
    "Which bread is Ada learning to bake?",
    "Which dog did the neighbour adopt?",
    "Where did Ada break her ankle?",
    "What did Ada plant on the balcony?",
]
EVERYTHING = ["memory", "message", "chunk"]


async def told(door: Door, ada: User, facts: list[str] = FACTS, said: list[str] = SAID) -> Json:
    """A talk with a fact from each message, summarised; the memories by their text."""
    where = (await door.open(user=ada))["id"]
    filler = [{"role": "system", "content": f"word {n}"} for n in range(20)]
    messages = [{"content": text, "sender_name": "Ada"} for text in said]
    stored = (await door.say(where, [*messages, *filler], user=ada))["messages"]
    memories = {}
    for fact, message in zip(facts, stored, strict=False):
        source = {"conversation_id": where, "message_id": message["id"], "allow_similar": True}
        memories[fact] = (await door.remember(fact, user=ada, **source))["memory"]
    await door.summarize(where, user=ada)
    return memories


async def test_a_fact_takes_no_place_beside_its_message(door: Door, ada: User) -> None:
    """The message comes first, whatever is asked for, and the same hits in any run."""
    await told(door, ada)
    for number, question in enumerate(QUESTIONS):
        for sources in (["memory", "message"], EVERYTHING):
            asked = {"user": ada, "sources": sources}
            assert await door.contents(question, **asked, limit=1) == [SAID[number]]
            hits = await door.contents(question, **asked, limit=4)
            assert hits[0] == SAID[number]
            assert await door.contents(question, **asked, limit=4) == hits
        [alone] = await door.contents(question, user=ada, limit=1, sources=["memory"])
        assert alone == FACTS[number]


async def test_as_many_hits_as_asked_for_with_facts_and_chunks(door: Door, ada: User) -> None:
    """What says the same fills the places that are left."""
    await told(door, ada)
    question = QUESTIONS[0]
    visible = len(SAID) + len(FACTS) + 1
    for limit in range(1, visible + 3):
        asked = {"user": ada, "limit": limit, "sources": EVERYTHING}
        hits = (await door.recall(question, **asked))["hits"]
        assert len({hit["id"] for hit in hits}) == len(hits) == min(limit, visible)
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)


async def test_the_text_of_the_query_is_first_beside_its_message(door: Door, ada: User) -> None:
    """A fact, or a message that has facts, comes first if the query has its words."""
    await told(door, ada)
    for text in (FACTS[3], SAID[4]):
        [hit] = (await door.recall(text, user=ada, limit=1, sources=EVERYTHING))["hits"]
        assert hit["content"] == text


async def test_a_fact_that_says_more_keeps_its_place(door: Door, ada: User) -> None:
    """One that its message hardly tells, one with a later version, one without its message."""
    said = ["Yes, that is right", *SAID[1:]]
    memories = await told(door, ada, ["Ada plays the trombone in a brass band.", *FACTS[1:]], said)
    [hit] = (await door.recall("Who plays the trombone?", user=ada, limit=1))["hits"]
    assert hit["content"] == "Ada plays the trombone in a brass band."
    changed = memories[FACTS[1]]["id"]
    await door.update(changed, user=ada, subject="radios")
    hits = (await door.recall(QUESTIONS[1], user=ada, limit=2))["hits"]
    assert changed in [hit["id"] for hit in hits]


async def test_a_fact_does_not_bring_a_message_that_the_asker_may_not_see(
    door: Door, ada: User, bob: User
) -> None:
    """What Ada shares in a space is recalled by Bob; the private talk it is from is not."""
    space = (await door.create_space(user=ada, name="Boats", member_ids=[str(bob.id)]))["id"]
    where = (await door.open(user=ada))["id"]
    said = [{"content": text, "sender_name": "Ada"} for text in SAID]
    stored = (await door.say(where, said, user=ada))["messages"]
    for fact, message in zip(FACTS, stored, strict=True):
        source = {"conversation_id": where, "message_id": message["id"], "allow_similar": True}
        shared = {"space_id": space, "visibility": "shared"}
        await door.remember(fact, user=ada, **source, **shared)
    hits = (await (await door.of(bob)).recall(QUESTIONS[0], user=bob, limit=50))["hits"]
    assert sorted(hit["content"] for hit in hits) == sorted(FACTS)
