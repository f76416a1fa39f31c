"""The queue, in SQL: put in, put back, look at. Arguments are ids, never text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

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
"""procrastinate's words for the state of a job, and ours."""

_KEPT = {"succeeded": 1, "cancelled": 1, "aborted": 1, "failed": 30}
"""Days that ended jobs are kept."""


def enqueuing(task: str, name: str, id_column: str) -> str:
    """Return an SQL expression that queues ``task`` for the id in a column.

    It yields the job's id, or null if one waits already. The job is in the queue when the
    transaction commits, and never was if it does not.
    """
    key = f"'{task}:' || {id_column}"
    return f"jobs.enqueue('{task}', '{task}', {key}, jsonb_build_object('{name}', {id_column}))"


def runs(task: str, id_column: str) -> str:
    """Return an SQL condition: a job of ``task`` for the id in a column is running."""
    return (
        "EXISTS (SELECT FROM jobs.procrastinate_jobs AS running "
        f"WHERE running.lock = '{task}:' || {id_column} AND running.status = 'doing')"
    )


_RECOVER = text("SELECT * FROM jobs.recover(:silent)")

_FORGET = text("""
    DELETE FROM jobs.procrastinate_jobs AS j
     WHERE CAST(j.status AS text) = :status
       AND NOT EXISTS (SELECT FROM jobs.procrastinate_events AS e
                        WHERE e.job_id = j.id AND e.at > now() - make_interval(days => :days))
""")

_NOTE = text("""
    INSERT INTO jobs.job_outcomes (job_id, reason, counts)
    SELECT id, :reason, CAST(:counts AS jsonb) FROM jobs.procrastinate_jobs WHERE id = :job_id
    ON CONFLICT (job_id) DO UPDATE
       SET at = now(), reason = excluded.reason, counts = excluded.counts
""")

_COUNT = text("""
    SELECT CAST(status AS text) AS status, count(*) AS jobs,
           count(*) FILTER (WHERE status = 'todo' AND attempts > 0) AS retrying
      FROM jobs.procrastinate_jobs
     GROUP BY status
""")

_PAGE = """
    SELECT j.id, j.task_name AS task, CAST(j.status AS text) AS status, j.args AS arguments,
           j.attempts AS tries, o.reason, o.counts, e.queued_at, e.started_at,
           CASE WHEN j.status <> 'doing' THEN e.ended_at END AS ended_at,
           CASE WHEN j.status = 'todo' THEN j.scheduled_at END AS next_try_at
      FROM (SELECT *
              FROM jobs.procrastinate_jobs
             WHERE {conditions}
             ORDER BY id DESC
             LIMIT :limit) AS j
      LEFT JOIN jobs.job_outcomes AS o ON o.job_id = j.id
     CROSS JOIN LATERAL (
           SELECT min(at) FILTER (WHERE type = 'deferred') AS queued_at,
                  max(at) FILTER (WHERE type = 'started') AS started_at,
                  max(at) FILTER (WHERE type IN (
                      'deferred_for_retry', 'failed', 'succeeded', 'cancelled', 'aborted'
                  )) AS ended_at
             FROM jobs.procrastinate_events
            WHERE job_id = j.id
     ) AS e
     ORDER BY j.id DESC
"""

_FIND = text("""
    SELECT id, CAST(status AS text) AS status FROM jobs.procrastinate_jobs WHERE id = :id
""")

# What waits for its next try, now.
_HASTEN = text("""
    UPDATE jobs.procrastinate_jobs SET scheduled_at = NULL WHERE id = :id AND status = 'todo'
""")

_AGAIN = text("""
    SELECT jobs.enqueue(CAST(queue_name AS text), CAST(task_name AS text), lock, args)
      FROM jobs.procrastinate_jobs WHERE id = :id
""")


async def recover(connection: AsyncConnection, silent: float) -> Sequence[int]:
    """Put jobs back whose worker is gone, or has been silent for so many seconds."""
    return list((await connection.execute(_RECOVER, {"silent": silent})).scalars())


async def forget_old(connection: AsyncConnection) -> None:
    """Remove jobs that ended long enough ago."""
    for status, days in _KEPT.items():
        await connection.execute(_FORGET, {"status": status, "days": days})


async def note(
    connection: AsyncConnection, job_id: int, reason: str | None, counts: Mapping[str, int]
) -> None:
    """Write down what came of a job; ``reason`` says why it failed, if it did."""
    binds = {"job_id": job_id, "reason": reason, "counts": to_json(dict(counts)).decode()}
    await connection.execute(_NOTE, binds)


async def count(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Return the number of jobs by status."""
    return (await connection.execute(_COUNT)).all()


async def page(
    connection: AsyncConnection, limit: int, before: int | None, statuses: Sequence[str]
) -> Sequence[Row[Any]]:
    """Return jobs, newest first, one more than ``limit``."""
    conditions = ["true"]
    if before is not None:
        conditions.append("id < :before")
    if statuses:
        conditions.append("CAST(status AS text) = ANY (CAST(:statuses AS text[]))")
    binds = {"limit": limit + 1, "before": before, "statuses": list(statuses)}
    used = {name: value for name, value in binds.items() if value not in (None, [])}
    statement = text(_PAGE.format(conditions=" AND ".join(conditions)))
    return (await connection.execute(statement, used)).all()


async def find(connection: AsyncConnection, job_id: int) -> Row[Any] | None:
    """Return a job by its id."""
    return (await connection.execute(_FIND, {"id": job_id})).first()


async def hasten(connection: AsyncConnection, job_id: int) -> None:
    """Let a job that waits for its next try be run at once."""
    await connection.execute(_HASTEN, {"id": job_id})


async def again(connection: AsyncConnection, job_id: int) -> int | None:
    """Queue the work of a job anew; return the new job, null if its work waits already."""
    new: int | None = (await connection.execute(_AGAIN, {"id": job_id})).scalar_one()
    return new
