"""``import``: what people said elsewhere, from exports."""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.progress import Progress
from rich.table import Table

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import AgentOption, UserOption, actor_for
from remembrancer.cli.output import console, plain, progress
from remembrancer.cli.runtime import settings_of, with_store
from remembrancer.importers import (
    DateOrder,
    Format,
    Importer,
    ImportResult,
    Options,
    Reading,
    open_export,
)
from remembrancer.users.schemas import zones


def _zone(name: str) -> ZoneInfo:
    if name not in zones():
        raise typer.BadParameter("is not an IANA time zone such as Europe/Paris")
    return ZoneInfo(name)


def import_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Exports: files, folders or zip archives.")],
    user: UserOption = None,
    agent: AgentOption = None,
    platform: Annotated[
        str, typer.Option(help="Platform of conversations that name none.")
    ] = "import",
    format: Annotated[Format, typer.Option(help="How the files are written.")] = Format.AUTO,  # noqa: A002
    me: Annotated[
        str | None,
        typer.Option("--as", help="The name or platform id that --user has in the files."),
    ] = None,
    together: Annotated[
        bool,
        typer.Option("--together", help="All in a conversation recall what anybody said there."),
    ] = False,
    date_order: Annotated[
        DateOrder | None, typer.Option(help="Of dates in WhatsApp's exports.")
    ] = None,
    time_zone: Annotated[
        ZoneInfo | None, typer.Option(parser=_zone, help="Of times that have none.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count; store nothing.")] = False,
) -> None:
    """Import what people said elsewhere. Doing it again, or after an interruption, doubles nothing.

    Exports of ChatGPT, Claude, Slack, Discord, Telegram and WhatsApp, memories of mem0 and of
    the MCP memory server, LoCoMo files, JSONL and JSON. All files are checked before anything is
    stored.
    """
    options = Options(
        platform=platform,
        me=me,
        date_order=date_order,
        time_zone=time_zone,
        longest=settings_of(context).limits.message_characters,
    )
    readings = [open_export(file, format, options) for file in files]

    async def work(app: Remembrancer) -> tuple[ImportResult, float]:
        actor = await actor_for(app, user, agent)
        began = time.monotonic()
        with progress() as bar:
            done = await _carry_out(app, actor, readings, bar, together, dry_run)
        return done, time.monotonic() - began

    done, seconds = with_store(context, work)
    console().print(_summary(done, readings, None if dry_run else seconds))


async def _carry_out(
    app: Remembrancer,
    actor: Actor,
    readings: list[Reading],
    bar: Progress,
    together: bool,
    dry_run: bool,
) -> ImportResult:
    task = bar.add_task("Reading", total=None)
    importer = Importer(app, actor, lambda count: bar.advance(task, count), together=together)
    found = ImportResult()
    for reading in readings:
        held = await importer.check(reading)
        found.added += held.total
        found.saw((held.first, held.last))
    bar.reset(task, total=found.added, description="Storing")
    for reading in readings:
        await (importer.survey(reading) if dry_run else importer.import_(reading))
    importer.imported.saw((found.first, found.last))
    return importer.imported


def _summary(done: ImportResult, readings: list[Reading], seconds: float | None) -> Table:
    """Return what came of it; ``seconds`` is null where nothing was stored."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(justify="right", style="bold")
    lines.add_column()
    for count, what in _counts(done, seconds):
        lines.add_row(f"{count:,}", what)
    for verb, counts in (
        ("left out", sum((reading.notes.skipped for reading in readings), Counter[str]())),
        ("unknown", sum((reading.notes.unknown for reading in readings), Counter[str]())),
    ):
        for name, count in counts.most_common():
            lines.add_row(f"{count:,}", plain(f"{verb}: {name}"))
    return lines


def _counts(done: ImportResult, seconds: float | None) -> list[tuple[int, str]]:
    did, would = ("imported", "") if seconds is not None else ("", " would be imported")
    messages = bool(done.conversations)
    memories = bool(done.remembered or done.known or done.refused)
    stored = done.added + done.remembered
    rate = f" ({stored / seconds:,.0f}/s)" if seconds and stored else ""
    took = f" {did} in {seconds:.1f} s{rate}" if seconds is not None else would
    counts = []
    if messages or not memories:
        days = (
            f", {done.first:%Y-%m-%d} to {done.last:%Y-%m-%d}" if done.first and done.last else ""
        )
        counts += [
            (done.conversations, f"conversations{days}"),
            (done.added, f"messages{took}"),
            (done.skipped, "messages were there already"),
        ]
    if memories:
        counts += [
            (done.remembered, f"memories{took}"),
            (done.known, "memories were there already"),
        ]
    extras = [
        (done.evicted, "memories set aside: over the budget of their user"),
        (done.refused, "memories left out: too long, or what may not be stored"),
    ]
    return [*counts, (len(done.people), "people"), *(one for one in extras if one[0])]
