"""The command ``remembrancer``: global options and all commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr

from remembrancer import version
from remembrancer.cli import (
    agents,
    audit,
    backup,
    chat,
    conversations,
    demo,
    doctor,
    documents,
    import_,
    keys,
    maintenance,
    mcp,
    memories,
    recall,
    remember,
    review,
    serve,
    spaces,
    tools,
    users,
)
from remembrancer.settings import Settings

app = typer.Typer(
    name="remembrancer",
    help="Memory for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"remembrancer {version.__version__}")
        raise typer.Exit


@app.callback(no_args_is_help=True)
def options(
    context: typer.Context,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Directory of the embedded database, the admin key and other state."),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(help="Postgres 16+ with pgvector, instead of the embedded database."),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command. Defaults come from the REMEMBRANCER_… variables."""
    values: dict[str, Any] = {}
    if data_dir is not None:
        values["data_dir"] = data_dir
    if database_url is not None:
        values["database_url"] = SecretStr(database_url)
    context.obj = Settings(**values)


_COMMANDS: dict[str, Callable[..., None]] = {
    "serve": serve.serve,
    "demo": demo.demo,
    "import": import_.import_,
    "remember": remember.remember,
    "recall": recall.recall,
    "chat": chat.chat,
    "audit": audit.audit,
    "doctor": doctor.doctor,
    "reembed": maintenance.reembed,
    "backup": backup.backup,
    "restore": backup.restore,
    "worker": maintenance.worker,
    "jobs": maintenance.jobs,
    "migrate-preferences": maintenance.migrate_preferences,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)
for name, group in {
    "users": users.group,
    "agents": agents.group,
    "memories": memories.group,
    "review": review.group,
    "conversations": conversations.group,
    "spaces": spaces.group,
    "documents": documents.group,
    "tools": tools.group,
    "keys": keys.group,
    "mcp": mcp.group,
}.items():
    app.add_typer(group, name=name)
