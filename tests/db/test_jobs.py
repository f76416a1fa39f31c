"""Jobs: in the queue with what calls for them, done once, and done in the end."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from os import environ
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from helpers import ADMIN, audit_lines, rows
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager

from remembrancer import (
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    RemembrancerError,
    User,
    as_actor,
)
from remembrancer.db.trips import together
from remembrancer.errors import Conflict, Deadlock, Forbidden, NotFound
from remembrancer.extraction.service import Summaries
from remembrancer.extraction.summariser import Summary, Verbatim
from remembrancer.extraction.transcript import Transcript
from remembrancer.jobs import queue
from remembrancer.jobs.queue import SUMMARISE
from remembrancer.jobs.schemas import Job, JobStatus
from remembrancer.jobs.worker import Worker
from remembrancer.settings import JobSettings, SummarySettings


async def opened(memory: Remembrancer, user: User, count: int = 0) -> UUID:
    """A conversation with so many messages."""
    made = await memory.conversations.open(as_actor(user), ConversationCreate())
    if count:
        await say(memory, user, made.id, count)
    return made.id


async def say(memory: Remembrancer, user: User, conversation: UUID, count: int) -> None:
    said = [MessageCreate(content=f"word {n}") for n in range(count)]
    await memory.conversations.append(as_actor(user), conversation, said)


def worker_of(memory: Remembrancer, summariser: Any = None, **settings: Any) -> Worker:
    """A worker that tries again at once, over summaries made by ``summariser``.

    It is no dead one if this process does nothing for a second or two.
    """
    summaries = Summaries(
        memory.backend,
        summariser or Verbatim(),
        SummarySettings(),
    )
    return Worker(
        memory.database,
        JobSettings(**{"first_wait": 0, "heartbeat": 1, "sweep": 0.2, **settings}),
        {SUMMARISE: summaries.job},
        {SUMMARISE: summaries.sweep},
    )


async def listed(memory: Remembrancer) -> Sequence[Job]:
    return (await memory.jobs.list(ADMIN)).items


async def until(condition: Any, seconds: float = 240) -> None:
    """Wait until something is true; fail if it does not become so."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.02)


def ranges(conversation: UUID | None = None) -> list[tuple[int, int]]:
    where = "WHERE conversation_id = %s" if conversation else ""
    values = [conversation] if conversation else []
    return rows(f"SELECT range_start, range_end FROM chunks {where} ORDER BY 1, 2", *values)


def unsummarised() -> int:
    return rows("SELECT coalesce(max(message_count - summarised_to), 0) FROM conversations")[0][0]


class Failing:
    """A summariser that is ill: every call fails, quoting what it was given."""

    calls = 0

    async def summarise(self, transcript: Transcript) -> Summary:
        self.calls += 1
        raise RuntimeError(transcript.text)


class Waiting:
    """A summariser that takes its time."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.go_on = asyncio.Event()

    async def summarise(self, transcript: Transcript) -> Summary:
        self.called.set()
        await self.go_on.wait()
        return Summary(transcript.text)


# In the queue -----------------------------------------------------------------------------


async def test_a_job_is_queued_above_thirty_messages_and_holds_ids_only(
    memory: Remembrancer, ada: User
) -> None:
    """Nothing at thirty, one job at the thirty-first, none more while it waits."""
    conversation = await opened(memory, ada, 30)
    assert await listed(memory) == []
    for _ in range(3):
        await say(memory, ada, conversation, 1)
    [job] = await listed(memory)
    assert (job.task, job.status, job.tries) == (SUMMARISE, JobStatus.QUEUED, 0)
    assert job.arguments == {"conversation_id": str(conversation)}


async def test_a_few_long_messages_call_for_a_summary_too(memory: Remembrancer, ada: User) -> None:
    """By size, as soon as what has left the window is too much."""
    conversation = await opened(memory, ada)
    long = MessageCreate(content="long " * 6000)
    await memory.conversations.append(as_actor(ada), conversation, [long])
    await say(memory, ada, conversation, 19)
    assert await listed(memory) == []  # it is in the window still
    await say(memory, ada, conversation, 1)
    assert len(await listed(memory)) == 1
    await memory.worker.run(once=True)
    assert ranges() == [(1, 1)]


async def test_a_job_lives_and_dies_with_the_transaction_that_calls_for_it(
    memory: Remembrancer, ada: User
) -> None:
    """Rolled back, it never was."""
    conversation = await opened(memory, ada, 40)
    rows("DELETE FROM jobs.procrastinate_jobs")

    async def call_for_it(*, fail: bool) -> None:
        async with memory.database.system() as connection:
            async with together(connection) as trip:
                memory.summaries.after_append(trip, conversation)
            if fail:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        await call_for_it(fail=True)
    assert await listed(memory) == []
    await call_for_it(fail=False)
    assert len(await listed(memory)) == 1


async def test_what_comes_while_a_job_runs_queues_one_more(memory: Remembrancer, ada: User) -> None:
    """It may have come too late for the running one; of the same key one runs at a time."""
    conversation = await opened(memory, ada, 31)
    slow = Waiting()
    async with worker_of(memory, slow, concurrency=3, sweep=60).running():
        await slow.called.wait()
        for _ in range(3):
            await say(memory, ada, conversation, 1)
        counts = await memory.jobs.counts(ADMIN)
        assert (counts.running, counts.queued) == (1, 1)
        slow.go_on.set()
        await until(
            lambda: rows(
                "SELECT 1 FROM jobs.procrastinate_jobs WHERE id IN "
                "(SELECT max(id) FROM jobs.procrastinate_jobs) AND status = 'succeeded'"
            )
        )
    assert ranges() == [(1, 11)]


def newest_of_theirs() -> str:
    return max(path.stem for path in Path(SchemaManager.get_migrations_path()).glob("*.sql"))


async def test_the_queue_has_the_schema_its_package_expects(memory: Remembrancer) -> None:
    """No migration of the installed procrastinate is newer than what our migration made."""
    [(comment,)] = rows("SELECT obj_description('jobs'::regnamespace, 'pg_namespace')")
    assert comment == f"procrastinate {newest_of_theirs()}"


# Done -------------------------------------------------------------------------------------


async def test_a_worker_summarises_until_nothing_is_due(memory: Remembrancer, ada: User) -> None:
    """Twenty at a time, never into the window; counts and times are told, a rerun does nothing."""
    await opened(memory, ada, 75)
    await memory.worker.run(once=True)
    assert ranges() == [(1, 20), (21, 40), (41, 55)]
    [job] = await listed(memory)
    assert (job.status, job.tries, job.reason) == (JobStatus.SUCCEEDED, 1, None)
    assert job.counts == {"messages": 55, "chunks": 3, "facts": 0, "refused": 0}
    assert job.queued_at <= job.started_at <= job.ended_at  # type: ignore[operator]
    before = rows("SELECT * FROM chunks ORDER BY id"), rows("SELECT * FROM conversations")
    await memory.worker.run(once=True)
    assert before == (rows("SELECT * FROM chunks ORDER BY id"), rows("SELECT * FROM conversations"))


async def test_a_failing_job_ends_as_failed_and_the_backlog_drains_once_it_can(
    memory: Remembrancer, ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    """Case 5: tried as often as it may be, nothing stored; well again, with no new write."""
    talks = [await opened(memory, ada, 45) for _ in range(3)]
    ill = Failing()
    await worker_of(memory, ill, tries=3, sweep=60).run(once=True)
    jobs = await listed(memory)
    assert [job.status for job in jobs] == [JobStatus.FAILED] * 3
    assert [job.tries for job in jobs] == [3] * 3
    assert {job.reason for job in jobs} == {"RuntimeError"}
    assert jobs[0].counts == {"messages": 0, "chunks": 0, "facts": 0, "refused": 0}
    assert ill.calls == 9
    counts = await memory.jobs.counts(ADMIN)
    assert (counts.failed, counts.queued, counts.running) == (3, 0, 0)
    assert (ranges(), unsummarised()) == ([], 45)
    assert rows("SELECT count(*) FROM recall_items WHERE source_type = 'chunk'") == [(0,)]
    told = caplog.text + str(rows("SELECT * FROM jobs.job_outcomes, jobs.procrastinate_jobs"))
    assert "word" not in told

    async with worker_of(memory).running():
        await until(lambda: unsummarised() <= 30)
    for talk in talks:
        assert ranges(talk) == [(1, 20)]


async def test_a_job_that_failed_waits_longer_each_time(memory: Remembrancer, ada: User) -> None:
    """It is queued again for later, and seen to be retried."""
    await opened(memory, ada, 31)
    await worker_of(memory, Failing(), first_wait=100).run(once=True)
    [job] = await listed(memory)
    assert (job.status, job.tries, job.reason) == (JobStatus.QUEUED, 1, "RuntimeError")
    assert job.next_try_at is not None
    assert job.ended_at is not None
    assert 95 < (job.next_try_at - job.ended_at).total_seconds() < 105
    assert (await memory.jobs.counts(ADMIN)).retrying == 1


async def test_a_retried_job_runs_without_waiting(memory: Remembrancer, ada: User) -> None:
    """One that waits for its next try runs now; one that failed is done by a new one."""
    await opened(memory, ada, 31)
    await worker_of(memory, Failing(), first_wait=100).run(once=True)
    [waiting] = await listed(memory)
    await memory.jobs.retry(ADMIN, waiting.id)
    await worker_of(memory, Failing(), tries=2, sweep=60).run(once=True)
    [failed] = await listed(memory)
    assert (failed.id, failed.status) == (waiting.id, JobStatus.FAILED)
    await memory.jobs.retry(ADMIN, failed.id)
    with pytest.raises(Conflict):
        await memory.jobs.retry(ADMIN, failed.id)
    await worker_of(memory).run(once=True)
    assert ranges() == [(1, 11)]
    for job_id in (0, -1, 2**63, 10**9):
        with pytest.raises(NotFound):
            await memory.jobs.retry(ADMIN, job_id)
    with pytest.raises(Forbidden):
        await memory.jobs.retry(as_actor(ada), failed.id)
    told = [line.target_ids for line in audit_lines() if line.action == "job.retry"]
    assert told == [[str(waiting.id)], [str(failed.id)]]


async def test_while_a_job_waits_for_its_next_try_no_other_piles_up(
    memory: Remembrancer, ada: User
) -> None:
    """Neither appends nor sweeps queue a second one."""
    conversation = await opened(memory, ada, 31)
    await worker_of(memory, Failing(), first_wait=100).run(once=True)
    for _ in range(3):
        await say(memory, ada, conversation, 1)
        assert await memory.summaries.sweep(everything=True) == 0
    assert len(await listed(memory)) == 1


async def test_the_minutely_sweep_looks_at_failed_jobs_alone(
    memory: Remembrancer, ada: User
) -> None:
    """What nobody has tried is found at the start of a worker, and each hour."""
    await opened(memory, ada, 31)
    rows("DELETE FROM jobs.procrastinate_jobs RETURNING 1")
    assert await memory.summaries.sweep(everything=False) == 0
    assert await memory.summaries.sweep(everything=True) == 1
    rows("UPDATE jobs.procrastinate_jobs SET status = 'failed' RETURNING 1")
    assert await memory.summaries.sweep(everything=False) == 1
    await memory.worker.run(once=True)
    assert await memory.summaries.sweep(everything=False) == 0


async def test_a_stopped_worker_gives_its_job_back(memory: Remembrancer, ada: User) -> None:
    """Within seconds, to be done by the next worker, however often that happens."""
    await opened(memory, ada, 31)
    for _ in range(2):
        slow = Waiting()
        began = time.monotonic()
        async with worker_of(memory, slow, tries=1).running():
            await slow.called.wait()
            began = time.monotonic()
        assert time.monotonic() - began < 60
        assert [job.status for job in await listed(memory)] == [JobStatus.QUEUED]
    await memory.worker.run(once=True)
    assert ranges() == [(1, 11)]


@pytest.mark.parametrize("where", ["maintenance", "queue"])
async def test_a_worker_goes_on_after_a_deadlock(
    memory: Remembrancer,
    ada: User,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    where: str,
) -> None:
    """At once, and nobody reads of a lost database."""
    error: Exception = Deadlock(Deadlock.AGAIN)
    owner: Any = queue
    name = "recover"
    if where == "queue":
        error = ConnectorException()
        error.__cause__ = psycopg.errors.DeadlockDetected("deadlock detected")
        owner, name = JobManager, "fetch_job"
    method = getattr(owner, name)
    errors = [error]

    async def deadlocked(*args: Any, **kwargs: Any) -> Any:
        if errors:
            raise errors.pop()
        return await method(*args, **kwargs)

    await opened(memory, ada, 31)
    monkeypatch.setattr(owner, name, deadlocked)
    await memory.worker.run(once=True)
    assert ranges() == [(1, 11)]
    assert not errors
    assert "a deadlock undid" in caplog.text
    assert "lost the database" not in caplog.text


async def test_only_admins_see_jobs(memory: Remembrancer, ada: User) -> None:
    """A service and a user are refused."""
    for actor in (as_actor(ada), as_actor()):
        for call in (memory.jobs.list(actor), memory.jobs.counts(actor)):
            with pytest.raises(RemembrancerError) as refused:
                await call
            assert refused.value.status == 403


# Many at once -----------------------------------------------------------------------------


async def test_parallel_appends_with_summaries_lose_and_double_nothing(
    memory: Remembrancer, ada: User, bob: User
) -> None:
    """20 appends to each of 6 conversations at once: gap-free positions, no chunk overlaps."""
    talks = [await opened(memory, ada, 15) for _ in range(6)]

    async def append(talk: UUID, n: int) -> None:
        said = [
            MessageCreate(content=f"{n} from {name}", user_id=user.id)
            for name, user in (("Ada", ada), ("Bob", bob))
        ]
        await memory.conversations.append(as_actor(), talk, said)

    async with worker_of(memory, concurrency=3).running():
        await asyncio.gather(*(append(talk, n) for n in range(20) for talk in talks))
        await until(lambda: unsummarised() <= 30)
    for talk in talks:
        said = rows(
            "SELECT position, content FROM messages WHERE conversation_id = %s ORDER BY 1", talk
        )
        assert [position for position, _ in said] == list(range(1, 56))
        pairs = [content for _, content in said[15:]]
        assert sorted(pairs) == sorted(f"{n} from {w}" for n in range(20) for w in ("Ada", "Bob"))
        assert all(
            one.split()[0] == other.split()[0]
            for one, other in zip(pairs[::2], pairs[1::2], strict=True)
        )
        tiled(talk)


def tiled(conversation: UUID) -> None:
    """Fail unless each copy of the summaries covers the beginning, without gap or overlap."""
    [(end,)] = rows("SELECT summarised_to FROM conversations WHERE id = %s", conversation)
    found = sorted(set(ranges(conversation)))
    assert found[0][0] == 1
    assert found[-1][1] == end
    assert all(before[1] + 1 == after[0] for before, after in pairwise(found))
    [(chunks, items)] = rows(
        "SELECT (SELECT count(*) FROM chunks WHERE conversation_id = %s),"
        " (SELECT count(*) FROM recall_items WHERE source_type = 'chunk' AND conversation_id = %s)",
        conversation,
        conversation,
    )
    assert chunks == items


async def test_several_at_the_same_conversation_do_each_range_once(
    memory: Remembrancer, ada: User
) -> None:
    """On demand, from all sides, while a worker is at it."""
    conversation = await opened(memory, ada, 130)
    actor = as_actor(ada)
    async with worker_of(memory).running():
        done = await asyncio.gather(
            *(memory.conversations.summarize(actor, conversation) for _ in range(4))
        )
    assert sum(one.messages for one in done) <= 110
    assert ranges() == [(n, n + 19) for n in range(1, 101, 20)] + [(101, 110)]


# Killed -----------------------------------------------------------------------------------


def started(database_url: str) -> subprocess.Popen[bytes]:
    """A worker as a process of its own."""
    ours = {
        "REMEMBRANCER_JOBS__HEARTBEAT": "0.2",
        "REMEMBRANCER_JOBS__FIRST_WAIT": "0",
        "REMEMBRANCER_SUMMARIES__BATCH": "4",
        "REMEMBRANCER_EMBEDDING__THREADS": "1",
    }
    command = [sys.executable, "-m", "remembrancer", "--database-url", database_url, "worker"]
    return subprocess.Popen(
        command, env=environ | ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


async def test_kill_9_amid_summarising_changes_nothing_in_the_end(
    memory: Remembrancer, ada: User, database_url: str
) -> None:
    """Killed at random moments, again and again: the next worker goes on where it was."""
    conversation, said, killed = await opened(memory, ada, 240), 240, 0
    left = "SELECT CAST(status AS text) FROM jobs.procrastinate_jobs WHERE status <> 'succeeded'"
    while killed < 2:
        before = len(ranges())
        worker = started(database_url)
        try:
            await until(lambda before=before: len(ranges()) > before)
            await asyncio.sleep(random.uniform(0, 0.1))
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        if rows(left):
            killed += 1
        else:  # On a busy machine it may have ended first.
            await say(memory, ada, conversation, 240)
            said += 240
    assert rows(left) == [("doing",)]
    worker = started(database_url)
    try:
        await until(lambda: not rows(left))
    finally:
        worker.send_signal(signal.SIGINT)
        assert worker.wait(timeout=60) == 0
    tiled(conversation)
    [(end, count)] = rows("SELECT summarised_to, count(*) FROM conversations, chunks GROUP BY 1")
    assert said - 30 <= end <= said - 20
    assert ranges() == [(n, n + 3) for n in range(1, end, 4)]
    assert count == end / 4
    with psycopg.connect(database_url) as connection:
        loose = connection.execute(
            "SELECT count(*) FROM recall_items AS i WHERE source_type = 'chunk' AND NOT EXISTS"
            " (SELECT FROM chunks AS c WHERE c.id = i.source_id)"
        ).fetchone()
    assert loose == (0,)
