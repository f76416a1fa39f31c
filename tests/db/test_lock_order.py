"""Who holds two users takes them in the order of their ids, so that nobody waits in a circle."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from helpers import person, rows
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


async def _waiting(count: int, task: asyncio.Future[Any] | None = None) -> None:
    """Wait until so many transactions wait for others."""
    until = time.monotonic() + 20
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
