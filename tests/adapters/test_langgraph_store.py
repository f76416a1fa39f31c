"""The LangGraph store: the contract of `BaseStore`, kept as memories of one user."""

import asyncio
import time
from typing import Any
from uuid import uuid4

import anyio.to_thread
import psycopg
import pytest
from helpers import GENERATED, Store, empty, person, rows
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from remembrancer import Agent, InvalidInput, MemoryUpdate, NotFound, Remembrancer, User, as_actor
from remembrancer.adapters.langgraph import RemembrancerStore


@pytest.fixture
async def store(memory: Remembrancer, ada: User) -> RemembrancerStore:
    return RemembrancerStore(memory, as_actor(ada))


async def test_an_item_is_kept_changed_and_deleted(store: RemembrancerStore) -> None:
    """Put, get, put again and delete; the times are those of the first and the last put."""
    await store.aput(("prefs", "food"), "diet", {"likes": ["tea"], "score": 1.5, "none": None})
    first = await store.aget(("prefs", "food"), "diet")
    assert first is not None
    assert first.value == {"likes": ["tea"], "score": 1.5, "none": None}
    assert (first.namespace, first.key) == (("prefs", "food"), "diet")
    await store.aput(("prefs", "food"), "diet", {"likes": ["coffee"]})
    again = await store.aget(("prefs", "food"), "diet")
    assert again is not None
    assert again.value == {"likes": ["coffee"]}
    assert again.created_at == first.created_at
    assert again.updated_at > first.updated_at
    await store.adelete(("prefs", "food"), "diet")
    assert await store.aget(("prefs", "food"), "diet") is None
    await store.adelete(("prefs", "food"), "diet")


async def test_case_28_items_that_differ_in_a_sign_are_two(store: RemembrancerStore) -> None:
    """So are versions of one item."""
    for key, sign in (("1", "+"), ("2", "-"), ("1", "-")):
        await store.aput(("facts",), key, {"text": f"Ada's blood type is O{sign}"})
        item = await store.aget(("facts",), key)
        assert item is not None
        assert item.value == {"text": f"Ada's blood type is O{sign}"}
    assert len(await store.asearch(("facts",))) == 2


async def test_an_item_is_a_memory_with_versions(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """It is recalled, listed and has a history like everything else that is known of its user."""
    await store.aput(("facts",), "1", {"text": "Ada plays the cello."})
    await store.aput(("facts",), "1", {"text": "Ada plays the viola."})
    answer = await memory.recall("Which instrument does Ada play?", user=ada)
    assert [hit.content for hit in answer.hits] == ["Ada plays the viola."]
    history = await memory.memories.get(as_actor(ada), answer.hits[0].id)
    assert history.address == ["langgraph", "facts", "1"]
    assert [one.content for one in history.versions] == [
        "Ada plays the cello.",
        "Ada plays the viola.",
    ]


async def test_two_items_that_say_the_same_are_two(store: RemembrancerStore) -> None:
    """Equal values under two keys are neither a duplicate nor a mention of each other."""
    for key in ("1", "2"):
        await store.aput(("n",), key, {"text": "Likes tea."})
    await store.adelete(("n",), "1")
    assert [item.key for item in await store.asearch(("n",))] == ["2"]


async def test_what_somebody_says_is_no_mention_of_an_item(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """A program may delete its item; the same statement from elsewhere stays."""
    await store.aput(("n",), "1", {"text": "Ada likes tea."})
    written = await memory.remember("Ada likes tea.", user=ada)
    await store.adelete(("n",), "1")
    assert written.outcome == "created"
    assert (await memory.memories.get(as_actor(ada), written.memory.id)).status == "active"


async def test_names_that_join_alike_are_apart(store: RemembrancerStore) -> None:
    """Namespaces are lists of names: siblings, joins and prefixes of names never match."""
    places = [(("a",), "b_c"), (("a_b",), "c"), (("a", "b"), "c"), (("ab",), "c"), (("a",), "b")]
    for number, (namespace, key) in enumerate(places):
        await store.aput(namespace, key, {"n": number})
    for number, (namespace, key) in enumerate(places):
        item = await store.aget(namespace, key)
        assert item is not None
        assert item.value == {"n": number}
    assert {i.value["n"] for i in await store.asearch(("a",))} == {0, 2, 4}
    assert {i.value["n"] for i in await store.asearch(("a", "b"))} == {2}
    assert {i.value["n"] for i in await store.asearch(("a%",))} == set()
    assert len(await store.asearch(())) == 5


NAMES = st.sampled_from(["a", "ab", "b", "a_b", "%", "*", "Ä"])
NAMESPACES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
SCALARS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from(["x", "y", "é"]))
VALUES = st.sampled_from(
    [
        {},
        {"p": None},
        {"p": 1},
        {"p": "x", "q": -3},
        {"q": {"r": 1}},
        {"p": {"r": 1, "s": "é"}},
        {"p": [1, {"r": "x"}], "q": None},
    ]
)
FILTERS = st.one_of(
    st.none(),
    VALUES,
    st.builds(lambda o, n: {"p": {o: n}}, st.sampled_from(["$eq", "$ne"]), SCALARS),
)
PUTS = st.builds(
    PutOp, NAMESPACES, NAMES, st.one_of(st.none(), VALUES), index=st.none(), ttl=st.none()
)
GETS = st.builds(GetOp, NAMESPACES, NAMES, refresh_ttl=st.booleans())
SEARCHES = st.builds(
    SearchOp,
    st.lists(NAMES, max_size=2).map(tuple),
    FILTERS,
    st.just(50),
    st.just(0),
    query=st.none(),
)
CONDITIONS = st.builds(
    MatchCondition,
    st.sampled_from(["prefix", "suffix"]),
    st.lists(NAMES, min_size=1, max_size=2).map(tuple),
)
LISTS = st.builds(
    ListNamespacesOp,
    st.lists(CONDITIONS, max_size=2).map(tuple),
    st.one_of(st.none(), st.integers(1, 3)),
    st.integers(0, 5),
    st.integers(0, 2),
)
BATCHES = st.lists(
    st.one_of(
        st.lists(st.one_of(PUTS, PUTS, GETS, SEARCHES), min_size=3, max_size=10),
        st.lists(LISTS, min_size=1, max_size=3),
    ),
    min_size=2,
    max_size=5,
)


def told(result: Any) -> Any:
    """What a result says, without times and, for searches, without an order."""
    if isinstance(result, list) and result and hasattr(result[0], "value"):
        return sorted((item.namespace, item.key, repr(sorted(item.value))) for item in result)
    return (result.namespace, result.key, result.value) if hasattr(result, "value") else result


async def test_it_answers_as_the_frameworks_own_store_does(
    memory: Remembrancer, ada: User, database_url: str
) -> None:
    """Batches of every operation have the same results as on LangGraph's store in memory."""
    loop = asyncio.get_running_loop()

    async def play(batches: list[list[Any]]) -> None:
        await asyncio.to_thread(empty, database_url)
        store = RemembrancerStore(memory, as_actor(await person(memory, "Ada")))
        reference = InMemoryStore()
        for batch in batches:
            # It keeps, and lists, namespaces that were only asked for.
            for name in [name for name, items in reference._data.items() if not items]:
                del reference._data[name]
            expected = [told(one) for one in reference.batch(batch)]
            assert [told(one) for one in await store.abatch(batch)] == expected

    @GENERATED
    @given(BATCHES)
    def compare(batches: list[list[Any]]) -> None:
        asyncio.run_coroutine_threadsafe(play(batches), loop).result()

    await asyncio.to_thread(compare)


async def test_filters_compare(store: RemembrancerStore) -> None:
    """Operators, nested objects and lists; what cannot be compared does not match."""
    for key, value in {
        "1": {"score": 4, "day": "2026-01-02", "tags": ["a", "b"], "in": {"x": 1, "y": 2}},
        "2": {"score": 4.5, "day": "2026-03-02", "tags": ["a"], "in": {"x": 2}},
        "3": {"score": None},
    }.items():
        await store.aput(("f",), key, value)

    async def keys(wanted: dict[str, Any]) -> set[str]:
        return {item.key for item in await store.asearch(("f",), filter=wanted)}

    assert await keys({"score": {"$gt": 4}}) == {"2"}
    assert await keys({"score": {"$gte": 4, "$lt": 4.5}}) == {"1"}
    assert await keys({"score": {"$lte": 4.5}}) == {"1", "2"}
    assert await keys({"score": {"$ne": 4}}) == {"2", "3"}
    assert await keys({"day": {"$gt": "2026-02-01"}}) == {"2"}
    assert await keys({"tags": ["a"]}) == {"2"}
    assert await keys({"in": {"x": 1}}) == {"1"}
    assert await keys({"score": 4, "tags": ["a"]}) == set()
    # As in LangGraph's own store, a dot is part of a name.
    await store.aput(("f",), "4", {"in.x": 1, "a-b": "x' OR '1'='1"})
    assert await keys({"in.x": 1}) == {"4"}
    assert await keys({"a-b": "x' OR '1'='1"}) == {"4"}
    assert await keys({"a-b": "x"}) == set()
    with pytest.raises(ValueError, match="unknown operator"):
        await keys({"score": {"$near": 4}})


async def test_a_search_ranks_what_the_filter_leaves(store: RemembrancerStore) -> None:
    """By meaning and words, the best first, filters before the ranking, pages after it."""
    texts = ["Likes green tea.", "Lives in Oslo.", "Owns a red bicycle.", "Drinks coffee at noon."]
    for number, text in enumerate(texts):
        await store.aput(("facts", str(number % 2)), str(number), {"text": text, "n": number})
    found = await store.asearch(("facts",), query="Which hot drinks does she like?")
    assert {found[0].key, found[1].key} == {"0", "3"}
    assert len(found) == 4
    scores = [item.score for item in found]
    assert None not in scores
    assert scores == sorted(scores, reverse=True)
    odd = await store.asearch(("facts", "1"), query="Which hot drinks does she like?")
    assert [item.key for item in odd] == ["3", "1"]
    one = await store.asearch(("facts",), query="bicycle", filter={"n": {"$lt": 2}}, limit=1)
    assert len(one) == 1
    assert one[0].value["n"] < 2
    second = await store.asearch(("facts",), query="Which hot drinks?", limit=1, offset=1)
    both = await store.asearch(("facts",), query="Which hot drinks?", limit=2)
    assert [item.key for item in second] == [both[1].key]


async def test_what_is_indexed_is_up_to_the_writer(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """Fields that are named are recalled by; with `index=False` an item is found by key alone."""
    value = {"title": "Sailing", "body": "Knots and charts", "secret": "rosebud"}
    await store.aput(("d",), "fields", value, index=["title", "body"])
    await store.aput(("d",), "hidden", {"text": "Ada sails a sloop."}, index=False)
    answer = await memory.recall("sailing a sloop, rosebud", user=ada)
    assert [hit.content for hit in answer.hits] == ["Sailing; Knots and charts"]
    hidden = await store.aget(("d",), "hidden")
    assert hidden is not None
    found = await store.asearch(("d",), query="sloop")
    assert [(item.key, item.score is None) for item in found] == [
        ("fields", False),
        ("hidden", True),
    ]
    await store.aput(("d",), "hidden", {"text": "Ada sails a sloop."})
    assert (await memory.recall("Who sails a sloop?", user=ada)).hits[0].content.endswith("sloop.")


async def test_an_item_that_is_not_indexed_stays_out_of_recall(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """Case 51: nothing that is done to its memory brings it into recall."""
    await store.aput(("d",), "hidden", {"text": "Ada sails a sloop."}, index=False)
    [[memory_id]] = rows("SELECT id FROM memories")
    actor = as_actor(ada)
    await memory.memories.forget(actor, memory_id)
    await memory.memories.restore(actor, memory_id)
    await memory.memories.deactivate(actor, memory_id)
    await memory.memories.activate(actor, memory_id)
    await memory.memories.update(actor, memory_id, MemoryUpdate(importance=1.0))
    assert not (await memory.recall("Who sails a sloop?", user=ada)).hits
    assert await store.aget(("d",), "hidden") is not None


async def test_an_item_expires(memory: Remembrancer, ada: User) -> None:
    """After its time it is gone for every operation; a refreshing read begins the time anew."""
    store = RemembrancerStore(
        memory, as_actor(ada), ttl={"default_ttl": 60, "refresh_on_read": True}
    )
    await store.aput(("t",), "kept", {"n": 1})
    await store.aput(("t",), "gone", {"n": 2}, ttl=5)
    await store.aput(("t",), "always", {"n": 3}, ttl=None)

    def shift(minutes: int) -> None:
        rows(
            "UPDATE memories SET valid_to = valid_to - make_interval(mins => %s)"
            " WHERE address IS NOT NULL",
            minutes,
        )

    shift(4)
    assert await store.aget(("t",), "gone", refresh_ttl=False) is not None
    assert await store.aget(("t",), "kept") is not None
    shift(4)
    assert await store.aget(("t",), "gone") is None
    assert {item.key for item in await store.asearch(("t",))} == {"kept", "always"}
    await store.aput(("t",), "more", {"n": 4})
    statuses = rows("SELECT address[3], status FROM memories ORDER BY 1")
    assert statuses == [
        ("always", "active"),
        ("gone", "forgotten"),
        ("kept", "active"),
        ("more", "active"),
    ]
    [left] = rows("SELECT round(extract(epoch FROM valid_to - now()) / 60) FROM memories"
                  " WHERE address[3] = 'kept'")[0]  # fmt: skip
    assert left == 60


async def test_threads_use_the_methods_that_do_not_await(store: RemembrancerStore) -> None:
    """From a thread they work as awaited ones do; on the event loop they refuse to stop it."""

    def work() -> Any:
        store.put(("sync",), "1", {"text": "from a thread"})
        return store.get(("sync",), "1"), store.search(("sync",)), store.list_namespaces()

    item, found, namespaces = await asyncio.to_thread(work)
    assert item.value == {"text": "from a thread"}
    assert [one.key for one in found] == ["1"]
    assert namespaces == [("sync",)]
    for error in (RuntimeError, asyncio.InvalidStateError):
        with pytest.raises(error, match="use the async method"):
            store.get(("sync",), "1")


async def test_names_may_have_line_breaks(store: RemembrancerStore) -> None:
    """One at the end makes another name."""
    for name in ("ada", "ada\n"):
        await store.aput(("users", name), "k", {"name": name})
    assert await store.alist_namespaces(suffix=("ada",)) == [("users", "ada")]
    assert await store.alist_namespaces(prefix=("users", "ada")) == [("users", "ada")]
    assert [item.value for item in await store.asearch(("users", "ada\n"))] == [{"name": "ada\n"}]


async def test_nodes_that_do_not_await_use_it(store: RemembrancerStore) -> None:
    """LangGraph runs them in threads, and hands them the store of the graph."""

    def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        assert runtime.store is not None
        runtime.store.put(("said",), "1", {"text": state["said"]})
        return {"said": runtime.store.search(("said",))[0].value["text"].upper()}

    graph = StateGraph(dict)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    compiled = graph.compile(store=store)
    assert await compiled.ainvoke({"said": "hello"}) == {"said": "HELLO"}


async def test_another_event_loop_is_served_too(store: RemembrancerStore) -> None:
    """A graph that runs on a loop of its own, as under `asyncio.run` in a thread, is served."""

    async def elsewhere() -> Any:
        await store.aput(("other",), "1", {"n": 1})
        return await store.aget(("other",), "1")

    assert (await asyncio.to_thread(asyncio.run, elsewhere())).value == {"n": 1}


async def test_nobody_sees_another_users_items(
    memory: Remembrancer, ada: User, bob: User, agent: Agent
) -> None:
    """Same namespaces and keys, other people, other agents: each has its own, and one store
    may serve them all."""
    who = [as_actor(ada)]
    store = RemembrancerStore(memory, lambda: who[0])
    everybody = [as_actor(ada), as_actor(bob), as_actor(ada, agent), as_actor(bob, agent)]
    for number, actor in enumerate(everybody):
        who[0] = actor
        await store.aput((str(bob.id),), "k", {"text": f"secret number {number}"})
    for number, actor in enumerate(everybody):
        who[0] = actor
        item = await store.aget((str(bob.id),), "k")
        assert item is not None
        assert item.value == {"text": f"secret number {number}"}
        for query in (None, "secret number"):
            [found] = await store.asearch((), query=query)
            assert found.value == {"text": f"secret number {number}"}
    who[0] = as_actor(ada)
    await store.adelete((str(bob.id),), "k")
    assert await store.alist_namespaces() == []
    who[0] = as_actor(bob)
    assert await store.alist_namespaces() == [(str(bob.id),)]


async def test_a_store_goes_on_when_its_user_is_merged(
    memory: Remembrancer, ada: User, bob: User, store: RemembrancerStore
) -> None:
    """Under the id it was made with: read, searched, written and deleted from."""
    await store.aput(("n",), "1", {"text": "Likes tea."}, ttl=60)
    await memory.users.merge(as_actor(), bob.id, ada.id)
    await store.aput(("n",), "2", {"text": "Likes rain."})
    assert {item.key for item in await store.asearch(("n",), query="drinks")} == {"1", "2"}
    await store.adelete(("n",), "1")
    assert await store.aget(("n",), "1") is None
    assert rows("SELECT DISTINCT owner_id FROM memories") == [(bob.id,)]


async def test_what_cannot_be_kept_is_refused(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """Too much, no JSON, secrets in a value or a key: the reason is named, nothing is stored."""
    refused: list[tuple[tuple[str, ...], str, Any, str]] = [
        (("n",), "k", {"text": "x" * 9000}, "8,192 bytes"),
        (("n",), "k", {"text": object()}, "only JSON"),
        (("n",), "k", {"text": "a\x00b"}, "NUL"),
        (("n",), "k", {"number": "4111 1111 1111 1111"}, "card"),
        (("n",), "4111 1111 1111 1111", {"n": 1}, "may not be stored"),
        (("n",), "k" * 256, {"n": 1}, "255"),
        (("n",) * 70, "k", {"n": 1}, "names"),
    ]
    for namespace, key, value, reason in refused:
        with pytest.raises(InvalidInput, match=reason):
            await store.abatch([PutOp(("n",), "fine", {"n": 1}), PutOp(namespace, key, value)])
    assert await store.asearch(()) == []
    for namespace in ((), ("a.b",), ("",), ("langgraph",)):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "k", {"n": 1})
    with pytest.raises(InvalidInput, match="0 or more"):
        await store.asearch((), limit=-1)
    assert await store.aget(("n",), "\x00") is None
    assert await store.asearch(("n", "\ud800")) == []
    for wanted in ({"text": "a\x00b"}, {"a\x00b": "text"}, {"text": "\ud800"}):
        with pytest.raises(InvalidInput, match="filter"):
            await store.asearch((), filter=wanted)
    with pytest.raises(NotFound):
        await RemembrancerStore(memory, as_actor(uuid4())).aget(("n",), "k")


async def test_its_words_change_only_with_its_value(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """A person may forget an item; new words for it alone would contradict its value."""
    await store.aput(("n",), "k", {"text": "Likes tea."})
    [one] = (await memory.memories.list(as_actor(ada))).items
    with pytest.raises(InvalidInput, match="update the record through the program"):
        await memory.memories.update(as_actor(ada), one.id, MemoryUpdate(content="Likes gin."))
    await memory.memories.forget(as_actor(ada), one.id)
    assert await store.aget(("n",), "k") is None
    await store.aput(("n",), "k", {"text": "Likes coffee."})
    assert len(await store.asearch(("n",))) == 1


async def test_what_the_budget_evicts_is_still_there_for_the_program(
    memory: Remembrancer, ada: User, store: RemembrancerStore
) -> None:
    """Evicted items leave recall, not the store; a put takes them into use again."""
    await store.aput(("n",), "k", {"text": "Ada collects stamps."})
    rows("UPDATE memories SET status = 'evicted'")
    rows("UPDATE recall_items SET active = false")
    assert (await memory.recall("stamps", user=ada)).hits == []
    item = await store.aget(("n",), "k")
    assert item is not None
    await store.aput(("n",), "k", item.value)
    assert len((await memory.recall("stamps", user=ada)).hits) == 1
    assert rows("SELECT count(*), max(version) FROM memories") == [(1, 1)]


async def test_case_52_reads_that_refresh_beside_writes_and_deletes(
    memory: Remembrancer, ada: User
) -> None:
    """Ten workers over the same items: nothing waits for ever, and nothing is called an outage."""
    store = RemembrancerStore(
        memory, as_actor(ada), ttl={"default_ttl": 60, "refresh_on_read": True}
    )
    keys = [str(number) for number in range(6)]
    for key in keys:
        await store.aput(("t",), key, {"n": 0})

    async def work(worker: int) -> None:
        for turn in range(6):
            # Every read finds half of the time used up, and starts it again.
            # In a thread, for the locks it waits for are held by calls of this event loop.
            await anyio.to_thread.run_sync(
                rows,
                "UPDATE memories SET valid_to = now() + interval '5 minutes' WHERE id = ANY ("
                "SELECT id FROM memories WHERE valid_to IS NOT NULL ORDER BY id FOR UPDATE)",
            )
            key = keys[(worker + turn) % len(keys)]
            order = keys if worker % 2 else keys[::-1]
            await store.abatch([GetOp(("t",), each) for each in order])
            await store.asearch(("t",))
            await store.abatch([PutOp(("t",), each, {"n": turn}) for each in (key, order[0])])
            if worker == turn:
                await store.adelete(("t",), key)

    # asyncio's own group leaves the test's task cancelled on Python 3.11 when a worker fails, and
    # the failure then spreads to every test behind it.
    async with anyio.create_task_group() as workers:
        for worker in range(10):
            workers.start_soon(work, worker)
    assert len(await store.asearch(("t",), limit=20)) <= len(keys)


async def test_case_52_a_deadlock_is_tried_again(memory: Remembrancer, ada: User) -> None:
    """Whoever else locks the rows of two items in the other order: the read that is chosen as the
    victim answers all the same."""
    store = RemembrancerStore(
        memory, as_actor(ada), ttl={"default_ttl": 60, "refresh_on_read": True}
    )
    for key in ("a", "b"):
        await store.aput(("t",), key, {"n": 1})
    rows("UPDATE memories SET valid_to = now() + interval '5 minutes'")
    first, last = [row[0] for row in rows("SELECT id FROM memories ORDER BY id")]
    lock = "SELECT 1 FROM memories WHERE id = %s FOR UPDATE"
    with psycopg.connect(Store.url) as other:
        other.execute("SET deadlock_timeout = '1min'")
        other.execute(lock, [last])
        read = asyncio.create_task(store.abatch([GetOp(("t",), "a"), GetOp(("t",), "b")]))
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while rows(waiting) == [(0,)]:
            await asyncio.to_thread(time.sleep, 0.01)
        await asyncio.to_thread(other.execute, lock, [first])
        other.rollback()
        assert [item.key for item in await read] == ["a", "b"]
