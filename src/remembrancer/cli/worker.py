"""``worker``: run background jobs, beside or instead of the server."""

import asyncio
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.http_server import StopSignals
from remembrancer.cli.output import console
from remembrancer.cli.runtime import log_to_stderr, run, settings_of
from remembrancer.settings import Settings


def worker(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Stop when no job is due.")] = False,
) -> None:
    """Run background jobs until Ctrl-C. Several workers share the jobs."""
    settings = settings_of(context)
    log_to_stderr(settings.log_level)
    run(_until_stopped(settings, once=once))


async def _until_stopped(settings: Settings, *, once: bool) -> None:
    StopSignals().install()
    try:
        async with Remembrancer.open(settings=settings) as app:
            if not once:
                console().print("The worker is ready. Ctrl-C stops it.")
            await app.worker.run(once=once)
    except asyncio.CancelledError:
        return  # stopped by a signal; unfinished jobs are back in the queue
