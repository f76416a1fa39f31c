"""How often a request waits for the database."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import psycopg
import pytest
from helpers import headers_of
from psycopg.pq import Trace
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from remembrancer import (
    Agent,
    AssociationCreate,
    ContextQuery,
    ConversationCreate,
    MemoryCreate,
    MemoryFilter,
    MessageCreate,
    Mode,
    Outcome,
    RecallQuery,
    Relation,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.api import create_app
from remembrancer.associations.writer import AssociationWriter
from remembrancer.audit.reads import Reads
from remembrancer.context.renderer import Renderer
from remembrancer.context.service import Contexts
from remembrancer.context.template_files import Templates
from remembrancer.conversations.service import Conversations
from remembrancer.db import engine as engine_module
from remembrancer.db import pipeline, trips
from remembrancer.db.engine import Database
from remembrancer.db.sql import Statement, numbered
from remembrancer.erasure.deletions import erase_derived
from remembrancer.extraction.remake import remake_chunks
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.budget import Budget
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.service import Memories
from remembrancer.recall.access_counts import AccessCounts
from remembrancer.recall.service import SIZES, Recall

pytestmark = pytest.mark.skipif(not psycopg.pq.PGconn.__module__, reason="needs the trace of libpq")


class Traffic:
    """The messages of the protocol that one connection sent (F) and got (B), in order."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = []

    def read(self, path: Path) -> None:
        self.lines = [line.split("\t") for line in path.read_text().splitlines()]

    @property
    def round_trips(self) -> int:
        """How often the client sent and then waited."""
        return [who for who, _ in groupby(line[0] for line in self.lines)].count("F")

    @property
    def steps(self) -> str:
        """The kinds of messages in each direction, a line for each turn."""
        turns = groupby(self.lines, key=lambda line: line[0])
        return "\n".join(f"{who} {' '.join(line[2] for line in lines)}" for who, lines in turns)

    def sent(self, kind: str) -> int:
        return sum(line[0] == "F" and line[2] == kind for line in self.lines)


async def _traced(database: Database, call: Any) -> Traffic:
    async with database._location.pool.lend() as lent:
        driver = lent.driver
    traffic = Traffic()
    with tempfile.NamedTemporaryFile() as file:
        driver.pgconn.trace(file.fileno())
        driver.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        await call()
        driver.pgconn.untrace()
        traffic.read(Path(file.name))
    return traffic


async def _takes_one_trip(database: Database, call: Any) -> None:
    for _ in range(4):  # until the statements are prepared
        await call()
    traffic = await _traced(database, call)
    assert traffic.sent("Sync") == 1
    assert traffic.round_trips == 1, traffic.lines


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.RECENT])
async def test_recall_waits_for_the_database_once(
    memory: Remembrancer, alone: Database, ada: User, agent: Agent, mode: Mode
) -> None:
    """Settings, rule, search and contents travel together: one trip there and back."""
    for content in ("Ada lives in Lisbon.", "Ada plays the cello.", "Ada likes tea."):
        await memory.remember(content, user=ada, agent=agent)
    backend = replace(memory.backend, database=alone, reads=Reads(alone, whose="all"))
    recall = Recall(backend, memory.embedder, AccessCounts(alone))
    wanted = RecallQuery(query="Where does Ada live?", mode=mode)

    async def ask() -> None:
        assert (await recall.recall(as_actor(ada, agent), wanted)).hits

    await _takes_one_trip(alone, ask)


async def test_a_walk_over_associations_takes_no_trip_of_its_own(
    memory: Remembrancer, alone: Database, ada: User
) -> None:
    """Recall guesses whether a user has associations: a wrong guess costs one more trip, once."""
    before = await memory.remember("Ada lives in Lisbon.", user=ada)
    backend = replace(memory.backend, database=alone, reads=Reads(alone, whose="all"))
    recall = Recall(backend, memory.embedder, AccessCounts(alone))
    wanted = RecallQuery(query="Where does Ada live?")

    async def ask() -> None:
        answer = await recall.recall(as_actor(ada), wanted)
        assert any(hit.relations for hit in answer.hits) is is_associated

    is_associated = False
    await _takes_one_trip(alone, ask)
    link = AssociationCreate(target_id=before.memory.id, relation=Relation.UPDATES)
    await memory.memories.remember(
        as_actor(ada), MemoryCreate(content="Ada lives in Porto.", associations=[link])
    )
    is_associated = True
    await ask()
    await _takes_one_trip(alone, ask)


async def test_a_search_in_large_sets_takes_no_trip_of_its_own(
    memory: Remembrancer, alone: Database, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process learns which sets are large: that costs one more trip, once."""
    monkeypatch.setitem(SIZES, "most_own", 2)
    for content in ("Ada lives in Lisbon.", "Ada plays the cello.", "Ada likes tea."):
        await memory.remember(content, user=ada)
    backend = replace(memory.backend, database=alone, reads=Reads(alone, whose="all"))
    recall = Recall(backend, memory.embedder, AccessCounts(alone))
    wanted = RecallQuery(query="Where does Ada live?")

    async def ask() -> None:
        assert (await recall.recall(as_actor(ada), wanted)).hits

    assert (await _traced(alone, ask)).sent("Sync") > 1
    await _takes_one_trip(alone, ask)


async def test_a_context_waits_for_the_database_once(
    memory: Remembrancer, alone: Database, ada: User, agent: Agent
) -> None:
    """The frozen block, what changed and what is recalled travel together."""
    for content in ("Ada lives in Lisbon.", "Ada plays the cello.", "Ada likes tea."):
        await memory.remember(content, user=ada, agent=agent)
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate(agent_id=agent.id))
    backend = replace(memory.backend, database=alone, reads=Reads(alone, whose="all"))
    recall = Recall(backend, memory.embedder, AccessCounts(alone))
    contexts = Contexts(backend, recall, Renderer(Templates()), memory.settings.context)
    wanted = ContextQuery(conversation_id=talk.id, message="Where does Ada live?")

    async def ask() -> None:
        assert (await contexts.context(as_actor(ada, agent), wanted)).stable.ids

    await _takes_one_trip(alone, ask)


@pytest.mark.parametrize("path", ["recall", "context"])
async def test_a_request_waits_for_the_database_once(
    memory: Remembrancer, alone: Database, ada: User, agent: Agent, path: str
) -> None:
    """The check of a key that is known travels with what it is for."""
    await memory.remember("Ada lives in Lisbon.", user=ada, agent=agent)
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate(agent_id=agent.id))
    app = create_app(Remembrancer(memory.settings, alone, memory.embedder))
    headers = await headers_of(memory, KeyCreate(name="service", role=Role.SERVICE))
    asked = {"query": "Where does Ada live?"}
    if path == "context":
        asked = {"message": "Where does Ada live?", "conversation_id": str(talk.id)}
    body = {"user_id": str(ada.id), "agent_id": str(agent.id), **asked}
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:

        async def ask() -> None:
            answer = await client.post(f"/api/memory/{path}", json=body, headers=headers)
            assert "Lisbon" in answer.text

        await _takes_one_trip(alone, ask)


async def test_an_append_waits_for_the_database_three_times(
    memory: Remembrancer, alone: Database, ada: User, agent: Agent
) -> None:
    """The owners; what is locked and written, in one transaction; its commit."""
    talk = await memory.conversations.open(as_actor(ada), ConversationCreate(agent_id=agent.id))
    backend = replace(memory.backend, database=alone)
    conversations = Conversations(backend, memory.summaries.after_append, erase_derived)
    keys = map(str, count())

    async def append() -> None:
        messages = [
            MessageCreate(content="I live in Lisbon."),
            MessageCreate(content="I like tea."),
        ]
        await conversations.append(
            as_actor(ada, agent), talk.id, messages, idempotency_key=next(keys)
        )

    for _ in range(4):  # until the statements are prepared
        await append()
    traffic = await _traced(alone, append)
    assert traffic.round_trips <= 3, traffic.steps


async def test_remember_waits_for_the_database_three_times(
    memory: Remembrancer, alone: Database, ada: User, agent: Agent
) -> None:
    """One transaction: locks and what decides, then writes and the answer, then the commit."""
    actor = as_actor(ada, agent)
    talk = await memory.conversations.open(actor, ConversationCreate(agent_id=agent.id))
    backend = replace(memory.backend, database=alone)
    near, budget = (
        memory.settings.recall.near_duplicate,
        Budget(10_000, memory.backend.usage_counts),
    )
    pipeline = WritePipeline(backend.search, budget)
    memories = Memories(backend, pipeline, budget, AssociationWriter(near), remake_chunks)
    words = iter(["Lisbon", "Porto", "Faro", "Braga", "Evora"])

    async def remember() -> None:
        content = f"Ada lived in {next(words)} for a while."
        statement = MemoryCreate(content=content, conversation_id=talk.id)
        result = await memories.remember(actor, statement, idempotency_key=content)
        assert result.outcome is Outcome.CREATED

    for _ in range(4):  # until the statements are prepared
        await remember()
    traffic = await _traced(alone, remember)
    assert traffic.round_trips <= 3, traffic.steps


async def test_a_round_trip_after_a_rollback_is_like_any_other(alone: Database) -> None:
    """The driver drops what is prepared on the connection; it is prepared again."""
    query = Statement(numbered("SELECT CAST(:answer AS int) AS answer"), {"answer": 42})
    for _ in range(4):  # until the driver has prepared a statement too
        async with alone.system() as connection:
            await connection.execute(text("SELECT 1"))
        await alone.one_round_trip(as_actor(), query)
    with pytest.raises(DBAPIError):
        async with alone.system() as connection:
            await connection.execute(text("SELECT 1 / 0"))
    [[row]] = await alone.one_round_trip(as_actor(), query)
    assert row.answer == 42


async def test_a_connection_prepares_a_limited_number_of_statements(
    alone: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further ones run all the same."""
    monkeypatch.setattr(pipeline, "MOST_PREPARED", 4)
    for number in range(8):
        query = Statement(numbered(f"SELECT {number} AS answer"), {})
        [[row]] = await alone.one_round_trip(as_actor(), query)
        assert row.answer == number
    held = "SELECT count(*) AS held FROM pg_prepared_statements WHERE name LIKE 'remembrancer%'"
    [[row]] = await alone.one_round_trip(as_actor(), Statement(numbered(held), {}))
    assert row.held == 4


class Counted:
    """Statements run while counting."""

    count = 0


@contextmanager
def _counting(database: Database) -> Iterator[Counted]:
    counted = Counted()
    mine = asyncio.current_task()
    send = engine_module.pipelined

    def note(count: int) -> None:
        # What is written beside a request, once a second, is no part of it.
        counted.count += count * (asyncio.current_task() is mine)

    def executed(*_: Any) -> None:
        note(1)

    async def pipelined(
        driver: Any, statements: Sequence[Statement], *settings: Mapping[str, str]
    ) -> list[Sequence[Any]]:
        note(len(statements))
        return await send(driver, statements, *settings)

    engine = database._location.pool.engine.sync_engine
    event.listen(engine, "before_cursor_execute", executed)
    try:
        with (
            patch.object(engine_module, "pipelined", pipelined),
            patch.object(trips, "pipelined", pipelined),
        ):
            yield counted
    finally:
        event.remove(engine, "before_cursor_execute", executed)


async def test_listing_asks_the_same_number_of_questions_for_any_number_of_rows(
    memory: Remembrancer, ada: User
) -> None:
    """No query a row, in lists of memories, people and conversations."""
    actor = as_actor(ada)

    async def look() -> list[int]:
        counts = []
        for call in (
            memory.memories.list(actor, MemoryFilter(), limit=100),
            memory.users.list(actor, limit=100),
            memory.conversations.list(actor, limit=100),
            memory.agents.list(actor, limit=100),
        ):
            with _counting(memory.database) as counted:
                await call
            counts.append(counted.count)
        return counts

    await _fill(memory, ada, 1)
    few = await look()
    await _fill(memory, ada, 30)
    assert await look() == few


async def _fill(memory: Remembrancer, user: User, count: int) -> None:
    actor = as_actor(user)
    statements = [MemoryCreate(content=f"Fact {count}.{n}") for n in range(count)]
    await memory.memories.remember_many(actor, statements)
    for _ in range(count):
        await memory.conversations.open(actor, ConversationCreate())


async def test_bulk_writing_runs_the_same_number_of_statements_for_any_number_of_rows(
    memory: Remembrancer, ada: User
) -> None:
    """No query a row, in remembering many and in appending many."""
    actor = as_actor(ada)
    conversation = (await memory.conversations.open(actor, ConversationCreate())).id

    async def write(count: int) -> list[int]:
        statements = [
            MemoryCreate(content=f"Fact {count}.{n}", subject=f"s{count}.{n}") for n in range(count)
        ]
        said = [MessageCreate(content=f"Word {count}.{n}") for n in range(count)]
        counts = []
        for call in (
            lambda: memory.memories.remember_many(actor, statements),
            lambda: memory.memories.remember_many(actor, statements),
            lambda: memory.conversations.append(actor, conversation, said),
        ):
            with _counting(memory.database) as counted:
                await call()
            counts.append(counted.count)
        return counts

    few, many = await write(2), await write(60)
    # One fewer for many: only small batches get suggestions.
    assert many == [few[0] - 1, *few[1:]]


async def test_forgetting_many_runs_the_same_number_of_statements_for_any_number(
    memory: Remembrancer, ada: User
) -> None:
    """No query a memory or message, in forgetting and in its undo."""
    actor = as_actor(ada)
    talk = (await memory.conversations.open(actor, ConversationCreate())).id

    async def forget(count: int) -> list[int]:
        texts = [f"Ada keeps {n} bees in garden {count}." for n in range(count)]
        statements = [MemoryCreate(content=text) for text in texts]
        await memory.conversations.append(actor, talk, [MessageCreate(content=t) for t in texts])
        stored = await memory.memories.remember_many(actor, statements)
        ids = [result.memory.id for result in stored.items if result.memory is not None]
        with _counting(memory.database) as forgetting:
            result = await memory.memories.forget_many(actor, ids)
        assert (result.memories, result.messages) == (count, count)
        assert result.undo_id is not None
        with _counting(memory.database) as undoing:
            await memory.memories.undo_forget(actor, result.undo_id)
        return [forgetting.count, undoing.count]

    assert await forget(2) == await forget(40)


async def test_reading_a_memory_asks_the_same_number_of_questions_for_any_history(
    memory: Remembrancer, ada: User
) -> None:
    """Versions and mentions come in one query each."""
    actor = as_actor(ada)
    made = await memory.remember("Ada lives in Lisbon.", user=ada)

    async def read() -> int:
        with _counting(memory.database) as counted:
            await memory.memories.get(actor, made.memory.id)
        return counted.count

    few = await read()
    for _ in range(10):
        await memory.remember("Ada lives in Lisbon.", user=ada)
    assert await read() == few
