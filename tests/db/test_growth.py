"""Search in sets too large to compare all of: shared knowledge, and a user's very many items."""

from collections.abc import Iterator, Sequence

import pytest
from helpers import rows
from rule_removal import rule_removal

from remembrancer import (
    Actor,
    Agent,
    AgentCreate,
    MemoryCreate,
    RecallQuery,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.schemas import Kind
from remembrancer.recall import item_cache, service

TOWNS = ("Lisbon", "Porto", "Oslo", "Bergen", "Graz", "Linz", "Turin", "Genoa", "Ghent", "Bruges")
THINGS = ("bakery", "library", "harbour", "stadium", "museum", "station", "market", "bridge")
STATEMENTS = [
    f"The {thing} of {town} opens at {n + 6}." for n, thing in enumerate(THINGS) for town in TOWNS
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of more than 20 items are large, and searched in the database."""
    monkeypatch.setattr(item_cache, "FEW", 1_000_000)
    monkeypatch.setitem(service.SIZES, "most_shared", 20)
    monkeypatch.setitem(service.SIZES, "most_own", 20)


async def share(memory: Remembrancer, agent: Agent | None = None, **details: object) -> None:
    statements = [MemoryCreate(content=text, shared=True, **details) for text in STATEMENTS]
    await memory.memories.remember_many(as_actor(agent=agent), statements)
    rows("ANALYZE recall_items")


async def remember(
    memory: Remembrancer, user: User, agent: Agent | None = None, **details: object
) -> None:
    statements = [MemoryCreate(content=text, **details) for text in STATEMENTS]
    await memory.memories.remember_many(as_actor(user, agent), statements)


async def found(memory: Remembrancer, query: str, user: User, **details: object) -> Sequence[str]:
    answer = await memory.recall(query, user=user, **details)
    return [hit.content for hit in answer.hits]


@pytest.mark.usefixtures("small")
async def test_a_large_shared_set_gives_what_comparing_all_gives(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same hits, as many as asked for, the user's own among them."""
    await share(memory)
    await memory.remember("Ada meets her sister at the harbour of Oslo.", user=ada)
    queries = ["When does the museum of Graz open?", "harbour in Oslo", STATEMENTS[7]]
    by_index = [await found(memory, query, ada, limit=16) for query in queries]
    monkeypatch.setitem(service.SIZES, "most_shared", 1000)
    assert by_index == [await found(memory, query, ada, limit=16) for query in queries]
    assert [len(hits) for hits in by_index] == [16] * 3
    assert by_index[0][0].startswith("The museum of Graz")
    assert any("her sister" in hit for hit in by_index[1])
    assert by_index[2][0] == STATEMENTS[7]


@pytest.mark.usefixtures("small")
async def test_as_many_come_back_as_there_are_whatever_the_filter(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """Where the index gives too few, all are compared."""
    await share(memory)
    goals = [
        MemoryCreate(content=f"Visit town {n}.", shared=True, kind=Kind.GOAL) for n in range(3)
    ]
    await memory.memories.remember_many(as_actor(), goals)
    assert len(await found(memory, "Which bakery?", ada, kinds=[Kind.GOAL])) == 3
    assert len(await found(memory, "Which bakery?", ada, limit=50)) == 50
    assert len(await found(memory, "Which bakery?", ada, limit=83)) == 83
    assert len(await found(memory, "Which bakery?", ada, agent=agent, limit=20)) == 20


@pytest.mark.usefixtures("small")
async def test_shared_items_of_another_agent_stay_its_own_in_a_large_set(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """What the index finds obeys the access rule, also what it finds by words."""
    await share(memory, agent, scope="agent")
    assert await found(memory, STATEMENTS[0], ada) == []
    assert (await found(memory, STATEMENTS[0], ada, agent=agent))[0] == STATEMENTS[0]


@pytest.mark.usefixtures("small")
async def test_of_very_many_own_items_the_old_ones_are_found_by_words(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """The newest are compared; an older one is found by a word, and by its own text first."""
    for user in (ada, bob):
        await remember(memory, user)
    hits = await found(memory, "Which places are in Lisbon?", ada, limit=40)
    assert {text for text in STATEMENTS if "Lisbon" in text} <= set(hits)
    assert (await found(memory, STATEMENTS[1], ada))[0] == STATEMENTS[1]
    assert "stadium" not in " ".join(await found(memory, "boats and water", ada, limit=20))
    assert await found(memory, "Lisbon", bob, limit=40) == await found(
        memory, "Lisbon", ada, limit=40
    )


@pytest.mark.usefixtures("small")
async def test_the_own_text_of_an_old_memory_comes_first(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where each of its words is in more items than are read."""
    monkeypatch.setitem(service.SIZES, "most_postings", 3)
    await remember(memory, ada)
    for text in (STATEMENTS[1], STATEMENTS[40], STATEMENTS[-1]):
        assert (await found(memory, text, ada))[0] == text


@pytest.mark.usefixtures("small")
async def test_what_was_just_written_into_large_sets_is_found_at_once(
    memory: Remembrancer, ada: User
) -> None:
    await share(memory)
    await remember(memory, ada)
    question = "Where does the ferry leave?"
    assert not any("ferry" in text for text in await found(memory, question, ada))
    await memory.memories.remember(
        as_actor(), MemoryCreate(content="The ferry leaves from the north quay.", shared=True)
    )
    await memory.remember("The ferry leaves me seasick.", user=ada)
    hits = await found(memory, question, ada)
    assert all("ferry" in text for text in hits[:2])


@pytest.mark.usefixtures("small")
async def test_a_process_that_knows_nothing_of_large_sets_answers_the_same(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, whatever it guessed first."""
    await share(memory)
    await remember(memory, ada)
    recall = memory.memories.recall.__self__
    for question in ("harbour in Oslo", "Which bakery opens at eleven?"):
        answers = []
        for guess in ({}, {SHARED_OWNER}, {ada.id}, {SHARED_OWNER, ada.id}):
            monkeypatch.setattr(recall, "_large", set(guess))
            answers.append([await found(memory, question, ada, limit=20) for _ in range(2)])
        assert answers == [[answers[0][0]] * 2] * 4


@pytest.mark.usefixtures("small")
async def test_in_large_sets_row_security_hides_what_is_not_ones_own(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """In every role, also when the statement forgets the rule."""
    await share(memory)
    for user in (ada, bob):
        await remember(memory, user)
    query = RecallQuery(query=STATEMENTS[0], limit=100)
    for role in Role:
        actor = Actor(role, user_id=ada.id)
        with rule_removal() as removal, removal.needed():
            hits = (await memory.memories.recall(actor, query)).hits
        assert {hit.user_id for hit in hits} == {ada.id, None}


@pytest.mark.usefixtures("small")
async def test_without_the_rule_large_sets_show_what_other_agents_have(
    memory: Remembrancer, ada: User, agent: Agent
) -> None:
    """The counter-proof: it is the rule that hides them, of shared knowledge and of one's own."""
    other_agent = await memory.agents.create(as_actor(), AgentCreate(name="Other"))
    await share(memory, agent, scope="agent")
    await remember(memory, ada, agent, scope="agent")
    assert await found(memory, STATEMENTS[0], ada, agent=other_agent) == []
    with rule_removal():
        shown = await memory.recall(STATEMENTS[0], user=ada, agent=other_agent, limit=50)
    assert {hit.user_id for hit in shown.hits} == {ada.id, None}


@pytest.fixture
def other_size(memory: Remembrancer) -> Iterator[None]:
    rows("UPDATE embedding_model SET dimensions = 8 RETURNING 1")
    yield
    rows(f"UPDATE embedding_model SET dimensions = {memory.embedder.dimensions} RETURNING 1")
    rows("SELECT app_index_shared()")


@pytest.mark.usefixtures("other_size")
async def test_the_index_of_shared_vectors_has_the_size_of_the_model(memory: Remembrancer) -> None:
    """It is made anew for a model of another size, and there is none above pgvector's limit."""
    definition = "SELECT pg_get_indexdef(to_regclass('ix_recall_items_shared_vector'))"
    [(before,)] = rows(definition)
    assert f"halfvec({memory.embedder.dimensions})" in before
    rows("SELECT app_index_shared()")
    [(after,)] = rows(definition)
    assert "halfvec(8)" in after
    rows("UPDATE embedding_model SET dimensions = 4096 RETURNING 1")
    rows("SELECT app_index_shared()")
    assert rows(definition) == [(None,)]
