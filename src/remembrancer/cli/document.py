"""``document`` and ``budget``: a user's memory as one document, and how much it may be."""

import json as json_
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import AgentOption, actor_for
from remembrancer.cli.output import as_json, clipped, console, day, error_console, table
from remembrancer.cli.runtime import with_store
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import BudgetPreview
from remembrancer.validation import wrong_field

group = typer.Typer(help="A user's memory as one document.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Whom = Annotated[
    str, typer.Argument(help="Id, platform:platform_user_id, or a name that only one has.")
]


@group.command("export")
def export_document(
    context: typer.Context,
    user: Whom,
    agent: AgentOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file that is not there yet; else it is printed."),
    ] = None,
) -> None:
    """Write a user's memory as a JSON document: facts, places and counts."""

    async def work(app: Remembrancer) -> MemoryDocument:
        return await app.documents.get(await actor_for(app, user, agent))

    if output is not None and output.exists():
        raise typer.BadParameter("the file exists", param_hint="--output")
    document = with_store(context, work)
    if output is None:
        as_json(document)
        return
    output.write_bytes(to_json(document, indent=2) + b"\n")
    counts = document.metadata
    console().print(
        f"{counts.total_facts:,} facts and {counts.total_pois:,} places written to {output}."
    )


@group.command("import")
def import_document(
    context: typer.Context,
    user: Whom,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    agent: AgentOption = None,
    json: Json = False,
) -> None:
    """Add what a document has and the user has not. Again, it changes nothing."""
    document = _read(file)

    async def work(app: Remembrancer) -> DocumentImportResult:
        actor = await actor_for(app, user, agent)
        with error_console().status("Importing"):
            return await app.documents.import_(actor, document)

    added = with_store(context, work)
    if json:
        as_json(added)
        return
    screen = console()
    screen.print(f"{added.facts_added:,} facts added, {added.facts_known:,} were known.")
    screen.print(
        f"{added.pois_added:,} places added, {added.pois_known:,} were known and gained"
        f" {added.mentions_added:,} mentions."
    )
    if added.evicted:
        screen.print(f"{len(added.evicted):,} memories were evicted: the budget is full.")


def budget(
    context: typer.Context,
    user: Whom,
    adding: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Tokens that would be written.")
    ] = 0,
    json: Json = False,
) -> None:
    """Show how much of a user's budget is used, and what would be evicted for more."""

    async def work(app: Remembrancer) -> BudgetPreview:
        return await app.memories.budget(await actor_for(app, user, None), adding=adding)

    preview = with_store(context, work)
    if json:
        as_json(preview)
        return
    screen = console()
    limit = f"of {preview.budget:,} tokens" if preview.budget else "tokens, without a limit,"
    screen.print(f"{preview.used:,} {limit} are used, {preview.pinned:,} of them pinned.")
    if not preview.would_go:
        screen.print(f"Nothing would be evicted for {adding:,} more.")
        return
    screen.print(
        table(
            "Id",
            "Kind",
            "Tokens",
            "Left",
            "Added",
            "Memory",
            title=f"Would be evicted for {adding:,} more",
            rows=[
                [
                    one.id,
                    one.kind if one.status == "active" else f"{one.kind}, {one.status}",
                    f"{one.tokens:,}",
                    f"{one.importance:.2f}",
                    day(one.created_at),
                    clipped(one.content, 80),
                ]
                for one in preview.would_go
            ],
        )
    )


def _read(file: Path) -> DocumentImport:
    try:
        sent = json_.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise InvalidInput("is not valid JSON", field=file.name) from None
    try:
        return TypeAdapter(DocumentImport).validate_python(sent)
    except ValidationError as error:
        path, reason = wrong_field(error.errors(include_input=False, include_url=False)[0])
        # Not chained: pydantic's own error quotes the value.
        raise InvalidInput(reason, field=".".join(path) or file.name) from None
