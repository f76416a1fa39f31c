"""``jobs``: list background jobs."""

from collections.abc import Sequence
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.options import Json
from remembrancer.cli.output import as_json, console, day, plain, table
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.jobs.schemas import Job, JobCounts, JobStatus


def jobs(
    context: typer.Context,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="The most jobs.")] = 20,
    json: Json = False,
) -> None:
    """List background jobs, newest first, with the number in each status."""

    async def work(app: Remembrancer) -> tuple[JobCounts, Sequence[Job]]:
        page = await app.jobs.list(ADMIN, status=status, limit=limit)
        return await app.jobs.counts(ADMIN), page.items

    counts, items = with_store(context, work)
    if json:
        as_json(items)
        return
    numbers = ", ".join(f"{number:,} {name}" for name, number in counts if number)
    console().print(plain(numbers or "No jobs."))
    if items:
        console().print(_table(items))


def _table(items: Sequence[Job]) -> object:
    rows = [
        [
            str(job.id),
            job.task,
            " ".join(job.arguments.values()),
            job.status.value,
            str(job.tries),
            job.reason or _counts(job),
            day(job.next_try_at or job.ended_at or job.started_at or job.queued_at),
        ]
        for job in items
    ]
    return table("Id", "Task", "Of", "Status", "Tries", "Outcome", "Last or next", rows=rows)


def _counts(job: Job) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in job.counts.items())
