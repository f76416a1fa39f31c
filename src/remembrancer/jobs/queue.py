"""The queue in SQL. Arguments of jobs are ids, never text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import BigInteger, column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.keyset import Keyset
from remembrancer.db.rows import all_rows
from remembrancer.db.sql import statement
from remembrancer.jobs.schemas import Job
from remembrancer.paging import Page

SUMMARISE: Final = "summarise"
"""The task that summarises one conversation."""

STATUSES: Final = {
    "todo": "queued",
    "doing": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "aborting": "running",
    "aborted": "cancelled",
}
"""Our status of a job by procrastinate's."""

LONGEST_WAIT: Final = 600.0
"""Maximum of seconds between two tries of a job."""
ENDED: Final = ("succeeded", "cancelled", "aborted")
"""Statuses of jobs that nobody has to look at."""
FAILED: Final = ("failed",)

_sql = partial(statement, "remembrancer.jobs", "queue")
_RECOVER: Final = text("SELECT * FROM jobs.recover(:silent)")
_STATUS: Final = text("SELECT CAST(status AS text) FROM jobs.procrastinate_jobs WHERE id = :id")
_RUN_NOW: Final = text("""
    UPDATE jobs.procrastinate_jobs SET scheduled_at = NULL WHERE id = :id AND status = 'todo'
""")

_PAGES: Final = Keyset("jobs", column("id", BigInteger), descending=True)


@dataclass(frozen=True, slots=True)
class StatusCount:
    status: str
    jobs: int
    retrying: int
    oldest: float
    """Seconds since the first queued one was queued."""


def enqueue_sql(task: str, name: str, id_column: str) -> str:
    """Return an SQL expression that queues ``task`` for the id in a column.

    It yields the job's id, or null if the same job is queued already. The job is in the queue
    when the transaction commits.
    """
    key = f"'{task}:' || {id_column}"
    return f"jobs.enqueue('{task}', '{task}', {key}, jsonb_build_object('{name}', {id_column}))"


def running_sql(task: str, id_column: str) -> str:
    """Return an SQL condition: a job of ``task`` for the id in a column is running."""
    return (
        "EXISTS (SELECT FROM jobs.procrastinate_jobs AS running "
        f"WHERE running.lock = '{task}:' || {id_column} AND running.status = 'doing')"
    )


def failed_sql(task: str, name: str) -> str:
    """Return a query of the ids that failed jobs of ``task`` were for, as ``id``."""
    return (
        f"SELECT DISTINCT CAST(failed.args ->> '{name}' AS uuid) AS id "  # noqa: S608 - callers pass constants
        "FROM jobs.procrastinate_jobs AS failed "
        f"WHERE failed.status = 'failed' AND failed.task_name = '{task}'"
    )


async def recover(connection: AsyncConnection, silent: float) -> Sequence[int]:
    """Requeue jobs whose worker is gone or silent for so many seconds; return their ids."""
    await connection.execute(_sql("forget_later_heartbeats"), {"silent": silent})
    await connection.execute(_sql("forget_later_tries"), {"longest_wait": LONGEST_WAIT})
    return list((await connection.execute(_RECOVER, {"silent": silent})).scalars())


async def is_due(connection: AsyncConnection, tasks: Sequence[str]) -> bool:
    """Return whether a job of one of the tasks is ready to run."""
    found = await connection.execute(_sql("is_due"), {"tasks": list(tasks)})
    return bool(found.scalar_one())


async def delete_old(
    connection: AsyncConnection, statuses: Sequence[str], before: datetime, most: int
) -> int:
    """Delete up to ``most`` jobs of which nothing happened since a time; return how many."""
    binds = {"statuses": list(statuses), "before": before, "most": most}
    return (await connection.execute(_sql("delete_old"), binds)).rowcount


async def erase(connection: AsyncConnection, conversation_ids: Sequence[UUID]) -> Counter[str]:
    """Delete the jobs of erased conversations; return the deleted rows by table."""
    keys = {"keys": [f"{SUMMARISE}:{conversation_id}" for conversation_id in conversation_ids]}
    return Counter(jobs=(await connection.execute(_sql("erase_of_conversations"), keys)).rowcount)


async def note(
    connection: AsyncConnection, job_id: int, reason: str | None, counts: Mapping[str, int]
) -> None:
    """Store the outcome of a job, with the reason of a failure."""
    binds = {"job_id": job_id, "reason": reason, "counts": to_json(dict(counts)).decode()}
    await connection.execute(_sql("note"), binds)


async def count(connection: AsyncConnection) -> list[StatusCount]:
    return await all_rows(connection, StatusCount, _sql("count"))


async def page(
    connection: AsyncConnection, limit: int, cursor: str | None, statuses: Sequence[str]
) -> Page[Job]:
    """Return a page of jobs, newest first; with statuses, only those."""
    position = _PAGES.position(cursor)
    binds: dict[str, Any] = {
        "count": limit + 1,
        "before": position[0] if position else None,
        "statuses": list(statuses) or None,
    }
    rows = (await connection.execute(_sql("page"), binds)).mappings()
    jobs = [Job(**{**row, "status": STATUSES[row["status"]]}) for row in rows]
    return _PAGES.cut(jobs, limit)


async def status_of(connection: AsyncConnection, job_id: int) -> str | None:
    status: str | None = (await connection.execute(_STATUS, {"id": job_id})).scalar_one_or_none()
    return None if status is None else STATUSES[status]


async def run_now(connection: AsyncConnection, job_id: int) -> None:
    """Run a job that waits for its next try."""
    await connection.execute(_RUN_NOW, {"id": job_id})


async def repeat(connection: AsyncConnection, job_id: int) -> int | None:
    """Queue a copy of a job; return None if the same is queued already."""
    new_id: int | None = (await connection.execute(_sql("repeat"), {"id": job_id})).scalar_one()
    return new_id
