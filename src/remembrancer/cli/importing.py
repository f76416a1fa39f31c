"""``import``: transcripts from files."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.cli.output import console, progress
from remembrancer.cli.people import AgentOption, UserOption, actor_for
from remembrancer.cli.running import with_store
from remembrancer.importing import Format, Imported, Importer, Transcript, read


def import_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="JSONL, JSON or LoCoMo files.")],
    user: UserOption = None,
    agent: AgentOption = None,
    platform: Annotated[
        str, typer.Option(help="Platform of conversations that name none.")
    ] = "import",
    format: Annotated[Format, typer.Option(help="How the files are written.")] = Format.AUTO,  # noqa: A002
) -> None:
    """Import transcripts. Doing it again, or after an interruption, doubles nothing.

    JSONL has one message per line: content, and optionally role, sender, platform_user_id,
    sent_at, message_id, conversation and platform. JSON is a list of conversations:
    messages like those, and optionally conversation, platform and title. LoCoMo files are
    taken as they are. All files are checked before anything is stored.
    """
    talks = [(file.name, read(file, format, platform=platform)) for file in files]

    async def work(memory: Remembrancer) -> tuple[Imported, float]:
        actor = await actor_for(memory, user, agent)
        began = time.monotonic()
        return await _store(memory, actor, talks), time.monotonic() - began

    console().print(_summary(*with_store(context, work)))


async def _store(
    memory: Remembrancer, actor: Actor, files: list[tuple[str, list[Transcript]]]
) -> Imported:
    total = sum(len(talk.turns) for _, talks in files for talk in talks)
    with progress() as bar:
        task = bar.add_task("Messages", total=total)
        importer = Importer(memory, actor, lambda count: bar.advance(task, count))
        for file, talks in files:
            importer.check(file, talks)
        for _, talks in files:
            for talk in talks:
                await importer.store(talk)
    return importer.imported


def _summary(imported: Imported, seconds: float) -> Table:
    rate = f" ({imported.added / seconds:,.0f}/s)" if imported.added else ""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(justify="right", style="bold")
    lines.add_column()
    lines.add_row(f"{imported.conversations:,}", "conversations")
    lines.add_row(f"{imported.added:,}", f"messages imported in {seconds:.1f} s{rate}")
    lines.add_row(f"{imported.skipped:,}", "messages were there already")
    lines.add_row(f"{len(imported.people):,}", "people")
    return lines
