"""The ``watch`` command."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.exit_codes import REFUSED
from remembrancer.cli.http_server import StopSignals
from remembrancer.cli.import_options import (
    DateOrderOption,
    FormatOption,
    Me,
    Platform,
    TimeZone,
    Together,
)
from remembrancer.cli.options import AgentOption, UserOption
from remembrancer.cli.output import console, error_console, plain
from remembrancer.cli.runtime import log_quietly, run, settings_of
from remembrancer.importers import Format, Options
from remembrancer.importers.watch import STILL, Report, Watch
from remembrancer.importers.watch_state import WatchState
from remembrancer.importers.watched_folder import WatchedFolder
from remembrancer.text import plural


def watch(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The folder, with all folders in it.")],
    user: UserOption = None,
    agent: AgentOption = None,
    platform: Platform = "import",
    format: FormatOption = Format.AUTO,  # noqa: A002
    me: Me = None,
    together: Together = False,
    date_order: DateOrderOption = None,
    time_zone: TimeZone = None,
    from_now: Annotated[
        bool, typer.Option("--from-now", help="Leave what is there already, until it changes.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Forget what was imported, such as after a restore."),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Stop as soon as what is there is imported.")
    ] = False,
    poll: Annotated[
        bool, typer.Option("--poll", help="Look every --still seconds, as network folders need.")
    ] = False,
    still: Annotated[
        float,
        typer.Option(min=0.1, max=3600, help="Import a file after so many seconds unchanged."),
    ] = STILL,
) -> None:
    """Import what appears in a folder, until Ctrl-C.

    Imports what is there, then what appears or changes: exports, notes, sessions of agents. It can
    be stopped at any moment, and goes on where it was. A file that cannot be read is named
    once. What is deleted in the folder stays in memory.

    Examples:
      remembrancer watch ~/.claude/projects --format claude-code --user Ada
      remembrancer watch ~/Notes --format notes --user Ada
      remembrancer watch ~/Exports --user Ada --time-zone Europe/Paris --from-now
    """
    settings = settings_of(context)
    log_quietly(settings)
    path = folder.expanduser().resolve()
    watched = WatchedFolder(path, format)
    watched.look()  # before a database starts
    options = Options(
        platform=platform,
        me=me,
        date_order=date_order,
        time_zone=time_zone,
        longest=settings.limits.message_characters,
    )

    async def work() -> bool:
        StopSignals().install()
        try:
            async with Remembrancer.open(settings=settings) as app:
                actor = await actor_for(app, user, agent)
                url = settings.database_url
                store = url.get_secret_value() if url else ""
                parts = (
                    store,
                    settings.workspace,
                    path,
                    actor.user_id,
                    actor.agent_id,
                    format,
                    options,
                    together,
                )
                state = WatchState.of(settings.data_dir, [*map(str, parts)], again=again)
                watching = Watch(
                    app, actor, watched, state, _print,
                    format_=format, options=options, together=together, still=still,
                )  # fmt: skip
                if from_now:
                    await watching.skip_present()
                if once:
                    return await watching.once()
                console().print(plain(f"Watching {path}. Ctrl-C stops it."))
                await watching.run(poll=poll)
        except asyncio.CancelledError:
            pass  # stopped by a signal
        return True

    if not run(work()):
        raise typer.Exit(REFUSED)


def _print(report: Report) -> None:
    if report.reason is not None:
        error_console().print(plain(f"{report.name}: {report.reason}"))
    else:
        console().print(plain(f"{report.name}: {_counts(report)}"))


def _counts(report: Report) -> str:
    result = report.result
    assert result is not None
    counts = (
        (result.messages_added, plural(result.messages_added, "message")),
        (result.memories_added, plural(result.memories_added, "memory", "memories")),
        (result.messages_edited, f"{result.messages_edited:,} edited"),
        (known := result.messages_skipped + result.memories_skipped, f"{known:,} existed already"),
        (result.memories_evicted, f"{result.memories_evicted:,} evicted"),
        (result.memories_refused, f"{result.memories_refused:,} refused"),
        (report.left, f"{report.left:,} left"),
    )
    return ", ".join(text for count, text in counts if count) or "nothing to import"
