"""``jobs``: list background jobs."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table

from remembrancer.app import Remembrancer
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.output import day, plain, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.jobs.schemas import Job, JobStatus


@store_command()
async def jobs(
    app: Remembrancer,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="The most jobs.")] = 20,
) -> Output:
    """List background jobs, newest first, with the number in each status."""
    items = (await app.jobs.list(ADMIN, status=status, limit=limit)).items
    counts = await app.jobs.counts(ADMIN)
    numbers = ", ".join(f"{number:,} {name}" for name, number in counts if number)
    return Output(items, Group(plain(numbers or "No jobs."), *([_table(items)] if items else [])))


def _table(items: Sequence[Job]) -> Table:
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
