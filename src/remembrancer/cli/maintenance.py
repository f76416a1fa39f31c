"""``worker``, ``jobs``, ``reembed`` and ``migrate-preferences``: upkeep of a store."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group

from remembrancer.app import Remembrancer
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.http_server import StopSignals
from remembrancer.cli.output import Rows, console, day, progress, table
from remembrancer.cli.runtime import ADMIN, run, settings_of, with_store
from remembrancer.importers.uploads import serve_uploads
from remembrancer.jobs.schemas import Job, JobStatus
from remembrancer.preferences.migration import ToggleMigration
from remembrancer.preferences.schemas import MigrationCounts
from remembrancer.search.reembed import Reembedding
from remembrancer.settings import Settings
from remembrancer.telemetry.logs import log_to_stderr
from remembrancer.text import plural


def worker(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Stop as soon as no job is due.")] = False,
) -> None:
    """Run background jobs until Ctrl-C.

    A server does this itself, unless its settings say otherwise. Several workers share the jobs.

    Examples:
      remembrancer worker
      remembrancer worker --once
    """
    settings = settings_of(context)
    log_to_stderr(settings.log_level, settings.log_format)
    run(_work_until_stopped(settings, once=once))


async def _work_until_stopped(settings: Settings, *, once: bool) -> None:
    StopSignals().install()
    try:
        async with Remembrancer.open(settings=settings) as app:
            if not once:
                console().print("The worker is ready. Ctrl-C stops it.")
            serve_uploads(app)
            app.host.prepare = serve_uploads
            if once:
                await app.worker.run(once=True)
                await app.turns.once()
                return
            async with app.turns.running():
                await app.worker.run()
    except asyncio.CancelledError:
        return  # stopped by a signal; unfinished jobs are back in the queue


@store_command()
async def jobs(
    app: Remembrancer,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many jobs at most.")] = 20,
) -> Output:
    """List background jobs, such as summaries.

    The newest comes first, after the number of jobs in each status.

    Examples:
      remembrancer jobs --status failed
    """
    items = (await app.jobs.list(ADMIN, status=status, limit=limit)).items
    counts = await app.jobs.counts(ADMIN)
    oldest = f"; the oldest waits for {counts.oldest_seconds:,.0f} s" if counts.queued else ""
    by_status = counts.model_dump(exclude={"oldest_seconds"}).items()
    numbers = ", ".join(f"{number:,} {name}" for name, number in by_status if number) + oldest
    rows = _job_table(items)
    return Output(items, Group(numbers, rows) if items else rows)


def _job_table(items: Sequence[Job]) -> Rows:
    rows = [
        [
            str(job.id),
            job.task,
            " ".join(job.arguments.values()),
            job.status.value,
            str(job.tries),
            job.reason or ", ".join(f"{number:,} {name}" for name, number in job.counts.items()),
            day(job.next_try_at or job.ended_at or job.started_at or job.queued_at),
        ]
        for job in items
    ]
    return table(
        "Id",
        "Task",
        "Of",
        "Status",
        "Tries",
        "Outcome",
        "Last or next",
        rows=rows,
        empty="No jobs. Messages that leave the window of a conversation make some.",
    )


def reembed(context: typer.Context) -> None:
    """Embed all texts again, with another model.

    The model is that of the settings. A server may keep running with the old one meanwhile; restart
    it afterwards. After an interruption, run the command again to go on.

    Examples:
      remembrancer reembed
    """
    screen = console()
    count = with_store(context, _reembed, check_model=False)
    if count is None:
        screen.print("Nothing to do: all vectors are of the configured model.")
    else:
        texts = plural(count, "text")
        screen.print(f"{texts} embedded with the configured model. Restart the server.")


async def _reembed(app: Remembrancer) -> int | None:
    reembedding = Reembedding(app.database, app.embedder)
    if not await reembedding.needed():
        return None
    state = await reembedding.begin()
    with progress() as bar:
        task = bar.add_task("Items", total=state.items, completed=state.done)
        await reembedding.gather(lambda count: bar.advance(task, count))
        bar.update(task, description="Replacing the vectors")
        return await reembedding.finish()


@store_command(check_model=False)
async def migrate_preferences(
    app: Remembrancer,
    apply: Annotated[
        bool, typer.Option("--apply", help="Migrate. Without it, only count.")
    ] = False,
) -> Output:
    """Replace the deprecated toggle for all agents by preferences per agent.

    Every user with the toggle off gets a preference for each agent without one. Safe to repeat
    and to interrupt.

    Examples:
      remembrancer migrate-preferences
      remembrancer migrate-preferences --apply
    """
    migration = ToggleMigration(app.database)
    counts = await migration.plan(ADMIN)
    if apply:
        with progress() as bar:
            task = bar.add_task("Users", total=counts.users)
            counts = await migration.apply(ADMIN, lambda count: bar.advance(task, count))
    return Output(counts, _summary(counts, applied=apply))


def _summary(counts: MigrationCounts, *, applied: bool) -> str:
    users = f"The toggle is off for {plural(counts.users, 'user')}."
    if applied:
        return f"{users}\n{plural(counts.preferences, 'preference')} created."
    if counts.preferences:
        return (
            f"{users}\n{plural(counts.preferences, 'preference')} missing. To create them: --apply"
        )
    return f"{users}\nNothing to do: their preferences say the same for every agent."
