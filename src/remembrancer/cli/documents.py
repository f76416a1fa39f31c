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
from remembrancer.text import plural
from remembrancer.validation import validate_json

group = typer.Typer()


@group.command("get")
def get(
    context: typer.Context,
    user: UserArgument,
    agent: AgentOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A new file.", show_default="print it"),
    ] = None,
) -> None:
    """Print the memories of a user as a JSON document, or write it to a file.

    Examples:
      remembrancer documents get Ada --output ada.json
    """

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
        f"{plural(counts.total_facts, 'fact')} and {plural(counts.total_pois, 'place')} "
        f"written to {output}."
    )


def _summary(result: DocumentImportResult) -> str:
    lines = [
        f"{plural(result.facts_added, 'fact')} added, {result.facts_known:,} known before.",
        f"{plural(result.pois_added, 'place')} added, {result.pois_known:,} known before, with"
        f" {plural(result.mentions_added, 'new mention')}.",
    ]
    if result.evicted:
        gone = plural(len(result.evicted), "memory", "memories")
        lines.append(f"The budget is full: {gone} evicted.")
    return "\n".join(lines)


@command(group, "import", render=_summary)
async def import_(
    app: Remembrancer,
    user: UserArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A document.")],
    agent: AgentOption = None,
) -> DocumentImportResult:
    """Add the facts and places of a document that a user lacks. Safe to repeat.

    Examples:
      remembrancer documents import Ada ada.json
    """
    document = _read(file)
    actor = await actor_for(app, user, agent)
    with error_console().status("Importing"):
        return await app.documents.import_(actor, document)


def _read(file: Path) -> DocumentImport:
    try:
        return validate_json(DocumentImport, file.read_bytes())
    except InvalidInput as error:
        raise InvalidInput(error.reason, field=error.field or file.name) from None
