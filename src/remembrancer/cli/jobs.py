"""``jobs``: what is queued, what runs, what failed and why."""

from collections.abc import Sequence
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import as_json, console, day, plain, table
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.jobs.schemas import Job, JobCounts, JobStatus


def jobs(
    context: typer.Context,
    status: Annotated[JobStatus | None, typer.Option(help="In this state only.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most jobs.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show background jobs, newest first, and count them all."""

    async def work(app: Remembrancer) -> tuple[JobCounts, Sequence[Job]]:
        page = await app.jobs.list(ADMIN, status=status, limit=limit)
        return await app.jobs.counts(ADMIN), page.items

    counts, found = with_store(context, work)
    if json:
        as_json(found)
        return
    numbers = ", ".join(f"{number:,} {name}" for name, number in counts if number)
    console().print(plain(numbers or "No jobs."))
    if found:
        console().print(_table(found))


def _table(found: Sequence[Job]) -> object:
    rows = [
        [
            str(job.id),
            job.task,
            " ".join(job.arguments.values()),
            job.status.value,
            str(job.tries),
            job.reason or _did(job),
            day(job.next_try_at or job.ended_at or job.started_at or job.queued_at),
        ]
        for job in found
    ]
    return table("Id", "Task", "Of", "State", "Tries", "Outcome", "Last or next", rows=rows)


def _did(job: Job) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in job.counts.items())
