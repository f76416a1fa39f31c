"""Extraction by workers: at once, after a crash, and while the model is out."""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from helpers import ADMIN, Store, empty, rows
from scripted import Json, Reply, Scripted, answer, fact, minded

from remembrancer import ConversationCreate, MessageCreate, Remembrancer, User, as_actor
from remembrancer.cli import main
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url, service_url
from remembrancer.jobs.queue import SUMMARISE
from remembrancer.jobs.schemas import JobStatus
from remembrancer.jobs.worker import Worker
from remembrancer.settings import JobSettings

_LINE = re.compile(r"^\[(\d+)\] \S+ \w+ (\w+): (word \S+)$", re.MULTILINE)


@pytest.fixture
async def minds(memory: Remembrancer, model: Scripted) -> AsyncIterator[Remembrancer]:
    async with minded(memory, model.base_url, retries=0) as services:
        yield services


def facts_in_lines(body: Json) -> Reply:
    """Finds one fact in each of the first four lines."""
    asked = "\n".join(m["content"] for m in body["messages"] if m["role"] == "user")
    found = _LINE.findall(asked)
    said = [fact(f"{who} said {what}.", who, int(number)) for number, who, what in found[:4]]
    return answer(f"{len(said)} words.", *said, delay=0.02)


async def conversation(minds: Remembrancer, user: User, count: int, prefix: str = "word ") -> UUID:
    made = await minds.conversations.open(as_actor(user), ConversationCreate())
    said = [MessageCreate(content=f"{prefix}{n}") for n in range(1, count + 1)]
    if said:
        await minds.conversations.append(as_actor(user), made.id, said)
    return made.id


def worker(minds: Remembrancer, **settings: Any) -> Worker:
    return Worker(
        minds.database,
        JobSettings(**{"first_wait": 0, "heartbeat": 0.2, "sweep": 0.2, **settings}),
        {SUMMARISE: minds.summaries.job},
        {SUMMARISE: minds.summaries.sweep},
    )


def most_left() -> int:
    """The most messages of a conversation that have no summary."""
    return rows("SELECT max(message_count - summarised_to) FROM conversations")[0][0]


async def until(condition: Any, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.02)


def each_fact_once() -> None:
    """Fail unless each summary has its four facts, and no message gave two."""
    [(found,)] = rows("SELECT 4 * count(*) FROM chunks")
    assert found > 0
    cited = rows(
        "SELECT count(*), count(DISTINCT message_id), count(DISTINCT content), sum(mention_count)"
        " FROM memories"
    )
    assert cited == [(found, found, found, found)]
    hanging = "SELECT count(*) FROM recall_items WHERE source_type = 'memory' AND active"
    assert rows(hanging) == [(found,)]


async def test_case_5_a_model_that_is_out_fails_the_job_and_the_backlog_drains_afterwards(
    minds: Remembrancer, model: Scripted, ada: User
) -> None:
    """Failed, with counts and the kind of error; then done, without a new message."""
    model.said = [Reply("down: word 1", status=500)]
    talk = await conversation(minds, ada, 60)
    await worker(minds, tries=2, sweep=3600).run(once=True)
    [job] = (await minds.jobs.list(ADMIN)).items
    assert (job.status, job.reason) == (JobStatus.FAILED, "LanguageModelUnavailable: HTTP 500")
    assert job.counts == {"messages": 0, "chunks": 0, "facts": 0, "refused": 0}
    assert rows("SELECT summarised_to FROM conversations") == [(0,)]
    assert rows("SELECT 1 FROM chunks") == rows("SELECT 1 FROM memories") == []
    model.said = facts_in_lines
    await worker(minds).run(once=True)
    [(end,)] = rows("SELECT summarised_to FROM conversations WHERE id = %s", talk)
    assert end >= 30
    each_fact_once()


async def test_fifty_conversations_at_once_lose_and_double_no_fact(
    minds: Remembrancer, model: Scripted, ada: User, bob: User
) -> None:
    """Twenty appends in parallel, workers beside them: each message once, in one chunk."""
    model.said = facts_in_lines
    talks = [await conversation(minds, one, 0) for one in (ada, bob) for _ in range(25)]
    gate = asyncio.Semaphore(20)

    async def say(number: int, talk: UUID, part: int) -> None:
        who = as_actor(ada if number < 25 else bob)
        said = [MessageCreate(content=f"word {number}-{part}-{n}") for n in range(8)]
        async with gate:
            await minds.conversations.append(who, talk, said)

    # Appends and worker share a process and its cores here: a late heartbeat is no death.
    async with worker(minds, concurrency=2, heartbeat=1).running():
        await asyncio.gather(*(say(n, t, part) for n, t in enumerate(talks) for part in range(4)))
        await until(lambda: most_left() <= 30)
    assert rows("SELECT DISTINCT message_count FROM conversations") == [(32,)]
    assert rows("SELECT count(*) FROM chunks") == [(50,)]
    each_fact_once()
    overlapping = """
        SELECT 1 FROM chunks AS a JOIN chunks AS b USING (owner_id, conversation_id)
         WHERE a.id < b.id AND a.range_start <= b.range_end AND b.range_start <= a.range_end
    """
    assert rows(overlapping) == []
    gaps = """
        SELECT 1 FROM messages GROUP BY conversation_id
        HAVING count(*) <> 32 OR min(position) <> 1 OR max(position) <> 32
            OR count(DISTINCT position) <> 32
    """
    assert rows(gaps) == []


async def test_kill_9_amid_extraction_changes_nothing_in_the_end(
    minds: Remembrancer, model: Scripted, ada: User, database_url: str
) -> None:
    """Chunk and facts come together or not at all; the next worker goes on from there."""
    model.said = facts_in_lines
    await conversation(minds, ada, 140)
    ours = {
        "REMEMBRANCER_JOBS__HEARTBEAT": "0.2",
        "REMEMBRANCER_JOBS__FIRST_WAIT": "0",
        "REMEMBRANCER_SUMMARIES__BATCH": "4",
        "REMEMBRANCER_EMBEDDING__THREADS": "1",
        "REMEMBRANCER_LLM__MODEL": "openai:scripted",
        "REMEMBRANCER_LLM__BASE_URL": model.base_url,
    }
    command = [sys.executable, "-m", "remembrancer", "--database-url", database_url, "worker"]

    def started() -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=os.environ | ours, **quiet)  # type: ignore[call-overload]

    def done() -> int:
        return rows("SELECT summarised_to FROM conversations")[0][0]

    for _ in range(3):
        before = done()
        process = started()
        try:
            await until(lambda before=before: done() > before)
            await asyncio.sleep(random.uniform(0, 0.2))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    process = started()
    try:
        await until(lambda: done() >= 110)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    each_fact_once()
    assert rows("SELECT count(*) FROM chunks") == [(done() / 4,)]


def test_the_command_line_extracts_and_reviews(
    database_url: str,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: Scripted,
) -> None:
    """``doctor`` names the model; facts wait, are listed, confirmed and rejected."""
    Store.url = database_url
    monkeypatch.setenv("REMEMBRANCER_DATABASE_OWNER_URL", database_url)
    service = service_url(database_url)
    migrate(driver_url(database_url), driver_url(service))
    empty(database_url)

    def command(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["--data-dir", str(tmp_path), "--database-url", service, *words])
        assert not ended.value.code
        return capsys.readouterr().out

    assert "no facts (set" in command("doctor")
    monkeypatch.setenv("REMEMBRANCER_LLM__MODEL", "openai:scripted")
    monkeypatch.setenv("REMEMBRANCER_LLM__BASE_URL", model.base_url)
    monkeypatch.setenv("REMEMBRANCER_EXTRACTION__REVIEW", "confirm")
    assert "openai:scripted" in command("doctor")
    model.said = facts_in_lines
    file = tmp_path / "chat.jsonl"
    said = [
        {"content": f"word {n}", "conversation": "one", "sender": "Ada", "platform_user_id": "a"}
        for n in range(1, 24)
    ]
    file.write_text("\n".join(json.dumps(line) for line in said))
    command("import", str(file))
    assert "1 summary, 3 facts" in command("conversations", "summarize", "--all")
    assert "Ada said word 2." in command("review", "list", "--user", "Ada")
    waiting = json.loads(command("review", "list", "--user", "Ada", "--json"))
    ids = {one["content"]: one["id"] for one in waiting}
    [rejected] = json.loads(
        command("review", "reject", ids["Ada said word 2."], "--user", "Ada", "--json")
    )
    assert rejected["outcome"] == "rejected"
    assert command("review", "confirm", "--all", "--user", "Ada").count("confirmed") == 2
    assert rows("SELECT content, status FROM memories ORDER BY content") == [
        ("Ada said word 1.", "active"),
        ("Ada said word 2.", "forgotten"),
        ("Ada said word 3.", "active"),
    ]
