"""``documents``: a user's memories as one JSON document."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from remembrancer.app import Remembrancer
from remembrancer.cli.actors import actor_for
from remembrancer.cli.command import command
from remembrancer.cli.options import AgentOption, UserArgument
from remembrancer.cli.output import as_json, console, error_console, new_file
from remembrancer.cli.runtime import with_store
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.errors import InvalidInput
from remembrancer.validation import validate_json

group = typer.Typer(help="A user's memories as one document.", no_args_is_help=True)


@group.command("get")
def get(
    context: typer.Context,
    user: UserArgument,
    agent: AgentOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file. Default: print it.")
    ] = None,
) -> None:
    """Print a user's memories as a JSON document, or write it to a file."""

    async def work(app: Remembrancer) -> MemoryDocument:
        return await app.documents.get(await actor_for(app, user, agent))

    new_file(output)
    document = with_store(context, work)
    if output is None:
        as_json(document)
        return
    output.write_bytes(to_json(document, indent=2) + b"\n")
    counts = document.metadata
    console().print(
        f"{counts.total_facts:,} facts and {counts.total_pois:,} places written to {output}."
    )


def _summary(result: DocumentImportResult) -> str:
    lines = [
        f"{result.facts_added:,} facts added, {result.facts_known:,} were known.",
        f"{result.pois_added:,} places added, {result.pois_known:,} were known and gained"
        f" {result.mentions_added:,} mentions.",
    ]
    if result.evicted:
        lines.append(f"{len(result.evicted):,} memories were evicted: the budget is full.")
    return "\n".join(lines)


@command(group, "import", render=_summary)
async def import_(
    app: Remembrancer,
    user: UserArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    agent: AgentOption = None,
) -> DocumentImportResult:
    """Add the facts and places that a user lacks. Safe to repeat."""
    document = _read(file)
    actor = await actor_for(app, user, agent)
    with error_console().status("Importing"):
        return await app.documents.import_(actor, document)


def _read(file: Path) -> DocumentImport:
    try:
        return validate_json(DocumentImport, file.read_bytes())
    except InvalidInput as error:
        raise InvalidInput(error.reason, field=error.field or file.name) from None
