"""The ``import`` command."""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.import_options import (
    DateOrderOption,
    FormatOption,
    Me,
    Platform,
    TimeZone,
    Together,
)
from remembrancer.cli.options import AgentOption, UserOption
from remembrancer.cli.output import console, plain, progress
from remembrancer.cli.runtime import settings_of, with_store
from remembrancer.importers import (
    Export,
    Format,
    Importer,
    ImportResult,
    Options,
    open_export,
)
from remembrancer.importers.progress import ImportProgress
from remembrancer.periodic import Periodic


def import_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Exports: files, folders or zip archives.")],
    user: UserOption = None,
    agent: AgentOption = None,
    platform: Platform = "import",
    format: FormatOption = Format.AUTO,  # noqa: A002
    me: Me = None,
    together: Together = False,
    date_order: DateOrderOption = None,
    time_zone: TimeZone = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported, but store nothing.")
    ] = False,
) -> None:
    """Import chats and memories from other systems. Safe to repeat.

    Reads exports of ChatGPT, Claude, Gemini, Open WebUI, LibreChat, SillyTavern, Slack, Discord,
    Telegram, WhatsApp, Messenger, Signal and Matrix, mail, notes in Markdown, calendars, contacts,
    sessions of Claude Code and Codex, memories of mem0, Zep, Letta, LangMem, Hindsight and the MCP
    memory server, LoCoMo files, JSONL and JSON, and what `users export` wrote. Checks all files
    before it stores anything.

    Examples:
      remembrancer import chatgpt-export.zip --user Ada --dry-run
      remembrancer import chat.jsonl --user discord:1844 --platform discord
    """
    options = Options(
        platform=platform,
        me=me,
        date_order=date_order,
        time_zone=time_zone,
        longest=settings_of(context).limits.message_characters,
    )
    exports = [open_export(file, format, options) for file in files]

    async def work(app: Remembrancer) -> tuple[ImportResult, float]:
        actor = await actor_for(app, user, agent)
        start = time.monotonic()
        with progress() as bar:
            result = await _import(app, actor, exports, bar, together, dry_run)
        return result, time.monotonic() - start

    result, seconds = with_store(context, work)
    console().print(_summary(result, exports, None if dry_run else seconds))


async def _import(
    app: Remembrancer,
    actor: Actor,
    exports: list[Export],
    bar: Progress,
    together: bool,
    dry_run: bool,
) -> ImportResult:
    task = bar.add_task("Reading", total=None)

    def advance(count: int) -> None:
        bar.advance(task, count)
        stored.advance(count)

    async def note_read() -> None:
        read = sum(export.notes.read for export in exports)
        bar.advance(task, read - bar.tasks[task].completed)

    importer = Importer(app, actor, advance, together=together)
    total = 0
    reading = Periodic(note_read, every=0.5, what="progress of reading")
    reading.start()
    try:
        for export in exports:
            content = await importer.check(export)
            total += content.total
            importer.result.add_time(content.first)
            importer.result.add_time(content.last)
    finally:
        await reading.stop()
    stored = ImportProgress(app.database, total)
    bar.reset(task, total=total, description="Storing")
    if dry_run:
        for export in exports:
            await importer.preview(export)
        return importer.result
    async with stored:
        for export in exports:
            await importer.store(export)
    return importer.result


def _summary(result: ImportResult, exports: list[Export], seconds: float | None) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(justify="right", style="bold")
    lines.add_column()
    for count, label in _counts(result, seconds):
        lines.add_row(f"{count:,}", label)
    for verb, counts in (
        ("skipped", sum((export.notes.skipped for export in exports), Counter[str]())),
        ("unknown", sum((export.notes.unknown for export in exports), Counter[str]())),
    ):
        for name, count in counts.most_common():
            lines.add_row(f"{count:,}", plain(f"{verb}: {name}"))
    return lines


def _counts(result: ImportResult, seconds: float | None) -> list[tuple[int, str]]:
    did, would = ("imported", "") if seconds is not None else ("", " would be imported")
    messages = bool(result.conversations)
    memories = bool(result.memories)
    stored = result.messages_added + result.memories_added
    rate = f" ({stored / seconds:,.0f}/s)" if seconds and stored else ""
    took = f" {did} in {seconds:.1f} s{rate}" if seconds is not None else would
    counts = []
    if messages or not memories:
        has_days = result.first and result.last
        days = f", {result.first:%Y-%m-%d} to {result.last:%Y-%m-%d}" if has_days else ""
        counts += [
            (result.conversations, f"conversations{days}"),
            (result.messages_added, f"messages{took}"),
            (result.messages_skipped, "messages existed already"),
        ]
    if memories:
        counts += [
            (result.memories_added, f"memories{took}"),
            (result.memories_skipped, "memories existed already"),
        ]
    extras = [
        (result.messages_edited, "messages edited: they have other words in this export"),
        (result.memories_evicted, "memories evicted: over the token budget of their user"),
        (result.memories_refused, "memories refused: too long, or refused by the guard"),
    ]
    return [*counts, (len(result.people), "people"), *(extra for extra in extras if extra[0])]
