"""CASES 37: a question that nobody's memory is about, and messages that say nothing."""

from entry_points import Door, refusals

from remembrancer import User

FACTS = [
    "Ada lives in Porto, near the river.",
    "Ada drinks oat milk in her coffee.",
    "Ada works as a nurse in the night shift.",
]


async def test_case_37_nothing_to_say(door: Door, ada: User) -> None:
    """The capital of France is nothing that Ada said; where she lives is."""
    await door.remember_many([{"content": fact} for fact in FACTS], user=ada)
    elsewhere = {"stable_tokens": 0}
    city, coffee, _ = FACTS
    for message, fact in [
        ("What should I drink?", coffee),
        ("Which city do I live in?", city),
        ("A coffee, please", coffee),
    ]:
        block = (await door.context(message=message, **elsewhere, user=ada))["dynamic"]
        assert fact in block["text"]
    block = await door.context(message="What is the capital of France?", **elsewhere, user=ada)
    assert block["dynamic"]["ids"] == []
    where = (await door.open(user=ada))["id"]

    async def told(message: str) -> set[str]:
        block = (await door.turn(where, {"content": message}, user=ada))["context"]["dynamic"]
        return {fact for fact in FACTS if fact in block["text"]} | set(block["ids"])

    stable = (await door.turn(where, {"content": "Hello!"}, user=ada))["context"]["stable"]
    assert all(fact in stable["text"] for fact in FACTS)
    assert await told("What is the capital of France?") == set()
    assert await told("ok, thanks!") == set()


async def test_case_37_recall_says_how_relevant(door: Door, ada: User) -> None:
    """There is no dog: every hit says that it is not about one."""
    await door.remember_many([{"content": fact} for fact in FACTS], user=ada)
    hits = (await door.recall("dog", user=ada))["hits"]
    assert len(hits) == len(FACTS)
    assert all(hit["relevance"] < 0.3 for hit in hits)
    [best, *_] = (await door.recall("Where does Ada live?", user=ada))["hits"]
    assert best["content"] == FACTS[0]
    assert best["relevance"] > 0.6
    answer = await door.call("memory_recall", {"query": "dog", "min_relevance": 0}, user=ada)
    assert len(answer["result"]["found"]) == len(FACTS)
    assert all(found["relevance"] < 0.3 for found in answer["result"]["found"])


async def test_case_37_min_relevance(door: Door, ada: User) -> None:
    """Recall and the tool leave out what has nothing to do with the query; the tool says so."""
    await door.remember_many([{"content": fact} for fact in FACTS], user=ada)
    assert (await door.recall("dog", user=ada, min_relevance=0.15))["hits"] == []
    asked = {"query": "Where does Ada live?"}
    [best, *_] = (await door.recall(**asked, user=ada, min_relevance=0.6))["hits"]
    assert best["content"] == FACTS[0]
    nothing = (await door.call("memory_recall", {"query": "dog"}, user=ada))["result"]
    assert nothing["found"] == []
    assert "nothing" in nothing["note"].lower()
    found = (await door.call("memory_recall", asked, user=ada))["result"]
    assert found["found"][0]["content"] == FACTS[0]
    assert "note" not in found
    for wrong in (-0.1, 1.1):
        [refusal] = await refusals(door.recall("dog", user=ada, min_relevance=wrong))
        assert refusal.status == 422
        assert "min_relevance" in refusal.fields


async def test_case_37_nothing_said_displaces_nothing(door: Door, ada: User) -> None:
    """Three identical messages count once, and "Noted." comes after every fact."""
    await door.remember_many([{"content": fact} for fact in FACTS], user=ada)
    where = (await door.open(user=ada))["id"]
    said = ["Is Porto nice?", "Is Porto nice?", "Noted.", "Is Porto nice?", "ok"]
    await door.say(where, [{"content": text} for text in said], user=ada)
    answer = await door.recall("Tell me about Porto", user=ada, limit=4)
    hits = [hit["content"] for hit in answer["hits"]]
    assert sorted(hits) == sorted([*FACTS, "Is Porto nice?"])
