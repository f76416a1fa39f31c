"""Who locks several rows takes them in the order of their ids: nobody waits in a circle."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
import pytest
from helpers import ADMIN, person, rows
from sqlalchemy import text

from remembrancer import (
    Actor,
    ConversationCreate,
    InvalidInput,
    MessageCreate,
    Remembrancer,
    Role,
    SpaceCreate,
    UserUpdate,
    as_actor,
)
from remembrancer.db import engine
from remembrancer.db.engine import Database
from remembrancer.db.urls import libpq_url
from remembrancer.errors import Deadlock

Write = Callable[[Remembrancer, Actor, UUID], Awaitable[Any]]
"""What a user does, in a conversation of theirs."""


def _say(memory: Remembrancer, actor: Actor, talk: UUID) -> Awaitable[Any]:
    return memory.conversations.append(actor, talk, [MessageCreate(content="I like tea.")])


def _say_by_name(memory: Remembrancer, actor: Actor, talk: UUID) -> Awaitable[Any]:
    """Append with words of a stranger, which goes step by step."""
    said = [MessageCreate(content="I like tea.", platform_user_id=who) for who in ("Ada-1", "new")]
    return memory.conversations.append(Actor(Role.SERVICE), talk, said)


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Deadlocks that Postgres ends, though the transaction is made again and nobody notices."""
    found = []
    translate = engine.translate

    def note(error: Exception) -> Exception:
        translated = translate(error)
        if isinstance(translated, Deadlock):
            found.append(error)
        return translated

    monkeypatch.setattr(engine, "translate", note)
    return found


@pytest.fixture
def outside(database_url: str) -> Iterator[psycopg.Connection]:
    """A transaction that holds up others until it is rolled back."""
    with psycopg.connect(libpq_url(database_url)) as connection:
        yield connection
        connection.rollback()


WRITES: Final[dict[str, Write]] = {
    "remember": lambda memory, actor, _: memory.remember("I like tea.", user=actor.user_id),
    "append": _say,
    "append step by step": _say_by_name,
    "open a conversation": lambda m, a, _: m.conversations.open(a, ConversationCreate()),
    "make a space": lambda m, a, _: m.spaces.create(a, SpaceCreate(name="Garden")),
    "change the user": lambda m, a, _: m.users.update(
        as_actor(), a.require_user(), UserUpdate(display_name="Ada B.")
    ),
    "erase": lambda m, a, _: m.users.erase(
        as_actor(), a.require_user(), memories_only=True, dry_run=False
    ),
}


async def test_two_merges_of_a_pair_beside_a_writer_wait_for_nobody_in_a_circle(
    memory: Remembrancer, database_url: str
) -> None:
    """One merges, one is told that it is done, and what was written belongs to the survivor."""
    with psycopg.connect(libpq_url(database_url), autocommit=True) as owner:
        for number, (name, write) in enumerate(WRITES.items()):
            first = (await person(memory, "Ada", f"first{number}")).id
            second = (await person(memory, "Ada", f"second{number}")).id
            talk = await memory.conversations.open(
                as_actor(second), ConversationCreate(platform=f"second{number}")
            )
            key = (str(first),)
            # The first merge has locked both users, and waits.
            owner.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", key)
            merges = [asyncio.create_task(memory.users.merge(as_actor(), first, second))]
            await _waiting(1)
            merges.append(asyncio.create_task(memory.users.merge(as_actor(), second, first)))
            await _waiting(2)
            writer = asyncio.ensure_future(write(memory, as_actor(second), talk.id))
            await _waiting(3, writer)
            owner.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", key)
            one, other, _ = await asyncio.gather(*merges, writer, return_exceptions=True)
            assert not isinstance(one, BaseException), name
            assert isinstance(other, InvalidInput), (name, other)
            assert not writer.exception(), (name, writer.exception())
            assert rows("SELECT merged_into FROM users WHERE id = %s", second) == [(first,)]
    assert rows(
        "SELECT DISTINCT owner_id <> ALL (ARRAY(SELECT id FROM users"
        " WHERE merged_into IS NOT NULL)) FROM memories"
    ) == [(True,)]


async def _both(outside: psycopg.Connection, first: Awaitable[Any], second: Awaitable[Any]) -> None:
    """Let the first wait for ``outside`` and the second for either; then both go on."""
    tasks = [asyncio.ensure_future(first)]
    await _waiting(1, tasks[0])
    tasks.append(asyncio.ensure_future(second))
    await _waiting(2, tasks[1])
    outside.rollback()
    await asyncio.gather(*tasks)


async def _talk(memory: Remembrancer, opener: UUID, *others: UUID) -> UUID:
    """A conversation in which others said something."""
    talk = await memory.conversations.open(
        as_actor(opener), ConversationCreate(platform=str(uuid4()))
    )
    said = [MessageCreate(content="I like tea.", user_id=other) for other in others]
    if said:
        await memory.conversations.append(Actor(Role.SERVICE), talk.id, said)
    return talk.id


async def test_access_counts_beside_an_erasure_of_what_others_cite(
    memory: Remembrancer, outside: psycopg.Connection, deadlocks: list[Exception]
) -> None:
    """The erasure locks the memories of all their owners at once."""
    citing, erased = sorted([(await person(memory, "Ada", f"{n}")).id for n in range(2)])
    talk = await _talk(memory, erased, erased)
    noted = [
        (user, (await memory.remember("Ada likes tea.", user=user)).memory.id)
        for user in (citing, erased)
    ]
    rows(
        "UPDATE mentions SET message_id = m.id, conversation_id = m.conversation_id"
        " FROM messages AS m WHERE m.conversation_id = %s AND mentions.owner_id = %s RETURNING 1",
        talk,
        citing,
    )
    rows(
        "INSERT INTO saved_filters (user_id, id, name, filters)"
        " VALUES (%s, gen_random_uuid(), 'x', '{}') RETURNING 1",
        erased,
    )
    # The erasure comes to them late.
    outside.execute("SELECT FROM saved_filters FOR UPDATE")
    memory.access_counts._counts.update(noted)
    erasure = memory.users.erase(ADMIN, erased, dry_run=False)
    await _both(outside, erasure, memory.access_counts.flush())
    assert deadlocks == []
    assert rows("SELECT owner_id, access_count FROM memories") == [(citing, 1)]


async def test_a_merge_beside_an_erasure_of_another_in_two_conversations(
    memory: Remembrancer, outside: psycopg.Connection, deadlocks: list[Exception]
) -> None:
    """Wherever their rows lie."""
    ada, twin, bob = [(await person(memory, name, name)).id for name in ("Ada", "twin", "Bob")]
    first, second = [await _talk(memory, twin, bob) for _ in range(2)]
    # Its row is behind that of the second now.
    await memory.conversations.append(as_actor(twin), first, [MessageCreate(content="Me too.")])
    outside.execute("SELECT FROM conversations WHERE id = %s FOR UPDATE", [second])
    merge = memory.users.merge(ADMIN, ada, twin)
    await _both(outside, merge, memory.users.erase(ADMIN, bob, dry_run=False))
    assert deadlocks == []
    assert rows("SELECT DISTINCT opened_by FROM conversations") == [(ada,)]


async def test_a_merge_beside_an_erasure_of_another_in_a_space_and_a_conversation(
    memory: Remembrancer, outside: psycopg.Connection, deadlocks: list[Exception]
) -> None:
    """Both lock spaces before conversations."""
    ada, twin, bob = [(await person(memory, name, name)).id for name in ("Ada", "twin", "Bob")]
    space = await memory.spaces.create(as_actor(twin), SpaceCreate(name="Garden"))
    await memory.spaces.add_member(as_actor(twin), space.id, user_id=bob)
    alone = await _talk(memory, bob)
    await _talk(memory, twin, bob)
    outside.execute("SELECT FROM conversations WHERE id = %s FOR UPDATE", [alone])
    erasure = memory.users.erase(ADMIN, bob, dry_run=False)
    await _both(outside, erasure, memory.users.merge(ADMIN, ada, twin))
    assert deadlocks == []
    assert rows("SELECT created_by FROM spaces") == [(ada,)]


async def test_a_merge_beside_an_erasure_of_one_with_a_former_id(
    memory: Remembrancer, outside: psycopg.Connection, deadlocks: list[Exception]
) -> None:
    """Both lock the former id too, in its place."""
    former, ada, survivor = sorted([(await person(memory, "Ada", f"{n}")).id for n in range(3)])
    await memory.users.merge(ADMIN, ada, former)
    key = [str(ada)]
    outside.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", key)
    merge = memory.users.merge(ADMIN, survivor, ada)
    await _both(outside, merge, memory.users.erase(ADMIN, ada, dry_run=False))
    assert deadlocks == []


async def test_an_erasure_locks_former_ids_and_those_who_cite_in_one_order(
    memory: Remembrancer, outside: psycopg.Connection, deadlocks: list[Exception]
) -> None:
    """A merge of the two waits for the former id, and holds nobody."""
    former, citing, ada = sorted([(await person(memory, "Ada", f"{n}")).id for n in range(3)])
    await memory.users.merge(ADMIN, ada, former)
    talk = await _talk(memory, ada, ada)
    await memory.remember("Ada likes tea.", user=citing)
    rows(
        "UPDATE mentions SET message_id = m.id, conversation_id = m.conversation_id"
        " FROM messages AS m WHERE m.conversation_id = %s AND mentions.owner_id = %s RETURNING 1",
        talk,
        citing,
    )
    outside.execute("SELECT FROM users WHERE id = %s FOR UPDATE", [former])
    merge = memory.users.merge(ADMIN, citing, ada)
    await _both(outside, merge, memory.users.erase(ADMIN, ada, dry_run=False))
    assert deadlocks == []


async def _waiting(count: int, task: asyncio.Future[Any] | None = None) -> None:
    """Wait until so many transactions wait for others."""
    until = time.monotonic() + 120
    query = (
        "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)"
        " WHERE NOT granted AND datname = current_database()"
    )
    while rows(query) != [(count,)]:
        assert time.monotonic() < until, "nobody waits"
        assert task is None or not task.done(), task
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_a_transaction_that_must_be_repeated_is_no_outage(
    memory: Remembrancer, state: str
) -> None:
    """Deadlocks and serialisation failures say that the change is to be made again."""
    database: Database = memory.database
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Deadlock):
        async with database.system() as connection:
            await connection.execute(text(raising))
