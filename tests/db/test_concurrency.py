"""Many at once: the database decides who is first, and nobody waits for ever."""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from helpers import rows
from sqlalchemy import TextClause, text

from remembrancer import (
    Conflict,
    ConversationCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    User,
    as_actor,
)
from remembrancer.db.engine import Database
from remembrancer.db.sql import Statement, numbered
from remembrancer.db.trips import together
from remembrancer.errors import DatabaseUnavailable, Deadlock
from remembrancer.memories import repository


async def test_a_hundred_first_looks_at_a_new_person_make_one_user(memory: Remembrancer) -> None:
    """Whoever asks gets the same user, and no other user is left behind."""
    who = ResolveUser(platform="discord", platform_user_id="new", display_name="New")
    found = await asyncio.gather(*(memory.users.resolve(as_actor(), who) for _ in range(100)))
    assert len({user.id for user in found}) == 1
    assert rows("SELECT count(*) FROM users") == [(1,)]


async def test_strangers_who_speak_at_once_in_any_order_become_one_user_each(
    memory: Remembrancer, ada: User
) -> None:
    """Appends that make the same people known do not wait for each other in a circle."""
    actor = as_actor(ada)
    opened = [
        await memory.conversations.open(actor, ConversationCreate(platform="x")) for _ in range(10)
    ]
    names = [f"stranger{n}" for n in range(6)]

    async def append(index: int) -> None:
        order = names if index % 2 else names[::-1]
        said = [MessageCreate(content=f"I am {n}", platform_user_id=n) for n in order]
        await memory.conversations.append(as_actor(), opened[index].id, said)

    await asyncio.gather(*(append(index) for index in range(10)))
    linked = rows("SELECT count(*), count(DISTINCT user_id) FROM platform_links WHERE platform='x'")
    assert linked == [(6, 6)]
    assert rows("SELECT count(DISTINCT owner_id), count(*) FROM messages") == [(6, 60)]
    assert rows("SELECT count(*) FROM users") == [(7,)]


async def test_the_database_itself_refuses_a_second_copy_of_a_statement(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lock that orders writers, the unique constraint still holds."""
    statement = repository._sql

    def no_lock(name: str) -> TextClause:
        return text("SELECT pg_sleep(0.01)") if name == "lock_owner" else statement(name)

    monkeypatch.setattr(repository, "_sql", no_lock)
    calls = [memory.remember("Ada plays the cello.", user=ada) for _ in range(8)]
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert all(not isinstance(one, BaseException) or isinstance(one, Conflict) for one in ended)
    assert rows("SELECT count(*) FROM memories") == [(1,)]
    assert rows("SELECT count(*) FROM recall_items") == [(1,)]


async def test_variants_of_a_statement_written_at_once_are_one_memory(
    memory: Remembrancer, ada: User
) -> None:
    """The same statement, spelled in two ways, from several writers at the same moment."""
    wordings = ["I always drink green tea", "i ALWAYS drink  green tea."] * 3
    written = await asyncio.gather(*(memory.remember(w, user=ada) for w in wordings))
    assert Counter(one.outcome.value for one in written) == {"created": 1, "mentioned": 5}
    assert rows("SELECT count(*), sum(mention_count) FROM memories") == [(1, 6)]


async def test_updates_restores_and_deletes_at_once_leave_one_history(
    memory: Remembrancer, ada: User
) -> None:
    """However they interleave: versions count up by one and recall knows one current text."""
    actor = as_actor(ada)
    memory_id = (await memory.remember("Ada is 1.", user=ada)).memory.id

    async def change(n: int) -> None:
        with suppress(Exception):
            if n % 5 == 0:
                await memory.memories.forget(actor, memory_id)
                await memory.memories.restore(actor, memory_id)
            else:
                await memory.memories.update(actor, memory_id, MemoryUpdate(content=f"Ada is {n}."))

    await asyncio.gather(*(change(n) for n in range(20)))
    [(version, status)] = rows("SELECT version, status FROM memories")
    numbers = [n for (n,) in rows("SELECT version FROM memory_versions ORDER BY version")]
    assert numbers == list(range(1, version + 1))
    assert status == "active"
    current = rows("SELECT memory_version FROM recall_items WHERE superseded_at IS NULL")
    assert current == [(version,)]


async def test_a_pool_of_ten_serves_fifty_readers_and_writers(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """No request holds one connection while it waits for another."""
    conversation = await memory.conversations.open(as_actor(ada), ConversationCreate())

    async def write(n: int, user: User) -> None:
        said = [MessageCreate(content=f"Word {n}")]
        await memory.memories.remember(as_actor(user), MemoryCreate(content=f"Fact {n}"))
        await memory.conversations.append(as_actor(ada), conversation.id, said)
        with suppress(Exception):
            await memory.memories.get(as_actor(user), "nothing1")

    async def read(n: int, user: User) -> None:
        await memory.recall(f"Fact {n}", user=user)
        await memory.memories.list(as_actor(user))

    calls = [call(n, user) for n in range(13) for user in (ada, bob) for call in (write, read)]
    async with asyncio.timeout(240):
        await asyncio.gather(*calls)
        await memory.access_counts.flush()
    assert rows("SELECT count(*) FROM messages") == [(26,)]
    assert rows("SELECT count(*) FROM memories") == [(26,)]


async def test_access_counts_and_mentions_of_the_same_memories_do_not_deadlock(
    memory: Remembrancer, ada: User
) -> None:
    """Both update many memories at once, each in its own order."""
    actor = as_actor(ada)
    statements = [MemoryCreate(content=f"Fact {n}") for n in range(40)]
    await memory.memories.remember_many(actor, statements)

    async def count() -> None:
        await memory.recall("Fact", user=ada, limit=40)
        await memory.access_counts.flush()

    for _ in range(4):
        await asyncio.gather(
            count(), count(), memory.memories.remember_many(actor, statements[::-1])
        )
    assert rows("SELECT min(mention_count), min(access_count) FROM memories") == [(5, 8)]


@pytest.mark.parametrize("error", [Deadlock, DatabaseUnavailable])
async def test_access_counts_that_cannot_be_written_are_not_lost(
    memory: Remembrancer, ada: User, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """After a deadlock they are written at once, after an outage with the next ones."""
    await memory.remember("I like tea.", user=ada)
    await memory.recall("tea", user=ada)
    count, errors = repository.count_accesses, [error("not now")]

    async def fail(*args: Any) -> None:
        if errors:
            raise errors.pop()
        await count(*args)

    monkeypatch.setattr(repository, "count_accesses", fail)
    if error is Deadlock:
        await memory.access_counts.flush()
    else:
        with pytest.raises(error):
            await memory.access_counts.flush()
        assert rows("SELECT access_count FROM memories") == [(0,)]
        await memory.access_counts.flush()
    assert rows("SELECT access_count FROM memories") == [(1,)]


async def test_whoever_gives_up_waiting_leaves_no_answer_behind_for_the_next(
    alone: Database,
) -> None:
    """However far a question had come, the connection that was asked tells the next nothing."""
    long_before = Statement(numbered("SELECT 'before' AS told, pg_sleep(0.02)"), {})
    then = Statement(numbered("SELECT 'after' AS told"), {})
    for moment in range(40):
        with suppress(TimeoutError):
            async with asyncio.timeout(moment / 1000):
                await alone.one_round_trip(as_actor(), long_before, long_before)
        [[row]] = await alone.one_round_trip(as_actor(), then)
        assert row.told == "after"
        with suppress(TimeoutError):
            async with asyncio.timeout(moment / 1000), alone.system() as connection:
                await connection.execute(text("SELECT 'before', pg_sleep(0.02)"))
        async with alone.system() as connection:
            assert (await connection.execute(text("SELECT 'after'"))).scalar_one() == "after"


async def test_a_request_that_is_cancelled_between_rows_spoils_no_connection(
    alone: Database,
) -> None:
    """Of many rows, cancelled as the driver begins with them: the next request gets its own."""

    async def cancelled() -> None:
        async with alone.system() as connection:
            time.sleep(0.1)  # noqa: ASYNC251 - who was busy for long lets others go first, once
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            one = text("SELECT set_config('app.nothing', :value, true)")
            await connection.execute(one, [{"value": "a"}, {"value": "b"}])

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(cancelled())
    async with alone.system() as connection:
        assert (await connection.execute(text("SELECT 'after'"))).scalar_one() == "after"


async def test_a_transaction_that_is_cancelled_at_any_step_gives_its_connection_back(
    alone: Database,
) -> None:
    """Also as it begins: the next request gets a connection, and its own answer."""
    query = text("SELECT 'before' AS answer")

    async def read() -> None:
        async with alone.system() as connection, together(connection) as trip:
            trip.add(query, {})
            trip.add(query, {})

    for steps in range(80):
        task = asyncio.create_task(read())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(60), alone.system() as connection:
            assert (await connection.execute(text("SELECT 'after'"))).scalar_one() == "after"
