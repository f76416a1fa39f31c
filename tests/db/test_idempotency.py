"""Repeated requests are carried out once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from helpers import rows

from remembrancer import (
    Actor,
    AgentCreate,
    ConversationCreate,
    IdempotencyMismatch,
    InvalidInput,
    MemoryCreate,
    MessageCreate,
    Remembrancer,
    Role,
    SimilarMemoryExists,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.idempotency import delete_old, once

ADMIN = Actor(Role.ADMIN)


async def _twice(call: Any) -> tuple[Any, Any]:
    return await call(), await call()


async def test_every_way_to_create_carries_out_a_repeated_request_once(
    memory: Remembrancer, ada: User
) -> None:
    """The second answer is the first, and there is one of what was made."""
    actor = as_actor(ada)
    opened = await memory.conversations.open(actor, ConversationCreate())
    made = {
        "agents": lambda: memory.agents.create(ADMIN, AgentCreate(name="A"), idempotency_key="k"),
        "spaces": lambda: memory.spaces.create(actor, SpaceCreate(name="S"), idempotency_key="k"),
        "memories": lambda: memory.memories.remember(
            actor, MemoryCreate(content="x"), idempotency_key="k"
        ),
        "messages": lambda: memory.conversations.append(
            actor, opened.id, [MessageCreate(content="x")], idempotency_key="k"
        ),
    }
    for table, call in made.items():
        first, second = await _twice(call)
        assert first == second
        assert rows(f"SELECT count(*) FROM {table}") == [(1,)]
    again = await _twice(
        lambda: memory.conversations.open(actor, ConversationCreate(), idempotency_key="k")
    )
    assert again[0] == again[1]
    assert rows("SELECT count(*) FROM conversations") == [(2,)]


async def test_a_request_that_failed_may_be_tried_again_with_its_key(
    memory: Remembrancer, ada: User
) -> None:
    """The key is kept with the work, so without the work there is no key."""
    actor = as_actor(ada)

    async def attempt() -> None:
        async with (
            memory.database.transaction(actor) as (connection, _),
            once(connection, "a", "k", "request"),
        ):
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            await attempt()
    assert rows("SELECT count(*) FROM idempotency_keys") == [(0,)]


async def test_a_suggestion_is_repeated_as_a_suggestion(memory: Remembrancer, ada: User) -> None:
    """A repeated request that stored nothing gets the same answer, not another try."""
    actor = as_actor(ada)
    await memory.memories.remember(actor, MemoryCreate(content="Ada is 30", subject="Ada"))
    similar = MemoryCreate(content="Ada lives in Lisbon", subject="Ada")
    for _ in range(2):
        with pytest.raises(SimilarMemoryExists):
            await memory.memories.remember(actor, similar, idempotency_key="k")
    assert rows("SELECT count(*), sum(mention_count) FROM memories") == [(1, 1)]


async def test_a_key_means_another_request_in_another_action_or_for_another_owner(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """Keys of different people or purposes never meet."""
    for actor, action in ((as_actor(ada), "a"), (as_actor(ada), "b"), (as_actor(bob), "a")):
        async with (
            memory.database.transaction(actor) as (connection, _),
            once(connection, action, "k", [action]) as answer,
        ):
            assert answer.earlier is None
            answer.new = "kept"
    with pytest.raises(IdempotencyMismatch):
        async with (
            memory.database.transaction(as_actor(ada)) as (connection, _),
            once(connection, "a", "k", ["other"]),
        ):
            pass


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "a\x00b", "\ud800", "\u200b"])
async def test_what_cannot_be_a_key_is_refused_by_name(
    memory: Remembrancer, ada: User, key: str
) -> None:
    """1 to 255 printable characters."""
    with pytest.raises(InvalidInput) as refused:
        await memory.memories.remember(
            as_actor(ada), MemoryCreate(content="x"), idempotency_key=key
        )
    assert refused.value.field == "Idempotency-Key"


async def test_keys_are_forgotten_after_a_day(memory: Remembrancer, ada: User) -> None:
    """Not before, and all of them whoever they belong to."""
    actor = as_actor(ada)
    for key in ("old", "new"):
        await memory.memories.remember(actor, MemoryCreate(content=key), idempotency_key=key)
    rows("UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'old'")
    async with memory.database.system() as connection:
        assert await delete_old(connection, datetime.now(UTC) - timedelta(days=1), 100) == 1
    assert rows("SELECT key FROM idempotency_keys") == [("new",)]
