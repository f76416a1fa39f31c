"""The command ``remembrancer``: global options and all commands."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from remembrancer import version
from remembrancer.fast_imports import build_models_later

_COMMANDS: Final = {
    "serve": ("serve", "serve", "Serve the REST API, the web pages and MCP until Ctrl-C."),
    "demo": (
        "demo",
        "demo",
        "Play the sample on a temporary server, and show what each agent recalls, and why.",
    ),
    "import": (
        "import_",
        "import_",
        "Import conversations and memories of other systems. Safe to repeat.",
    ),
    "remember": (
        "remember",
        "remember",
        "Store a statement for a user, or for all users with --shared.",
    ),
    "recall": ("recall", "recall", "Recall memories and messages that help with a question."),
    "chat": ("chat", "chat", "Talk to an agent with memory, and manage that memory with /memory."),
    "audit": (
        "audit",
        "audit",
        "Print the audit log, newest line first: ids and outcomes, never content.",
    ),
    "openapi": (
        "openapi",
        "openapi",
        "Print the OpenAPI document of the REST API. Needs no server and no store.",
    ),
    "doctor": (
        "doctor",
        "doctor",
        "Check the installation, the store and its query plans. Exit code 1 means a problem.",
    ),
    "reembed": (
        "maintenance",
        "reembed",
        "Embed all texts again with the configured model. No LLM is called.",
    ),
    "backup": (
        "backup",
        "backup",
        "Write a snapshot of the whole store to a file. Servers may keep running.",
    ),
    "restore": (
        "backup",
        "restore",
        "Restore a backup into an empty database, in one step. Stop servers and workers first.",
    ),
    "worker": (
        "maintenance",
        "worker",
        "Run background jobs until Ctrl-C. Several workers share the jobs.",
    ),
    "jobs": (
        "maintenance",
        "jobs",
        "List background jobs, newest first, with the number in each status.",
    ),
    "migrate-preferences": (
        "maintenance",
        "migrate_preferences",
        "Replace the deprecated toggle for all agents by preferences per agent.",
    ),
    "users": ("users", "group", "Users and their platform links."),
    "agents": ("agents", "group", "Agents, which read and write memories."),
    "memories": ("memories", "group", "Memories of a user, and shared knowledge."),
    "review": ("review", "group", "Pending memories and decisions on them."),
    "conversations": ("conversations", "group", "Conversations and their messages."),
    "spaces": ("spaces", "group", "Spaces, in which users share memories."),
    "documents": ("documents", "group", "A user's memories as one document."),
    "tools": ("tools", "group", "Tools for models."),
    "keys": ("keys", "group", "API keys of the server."),
    "mcp": ("mcp", "group", "Memory for assistants, over MCP."),
}
"""Module, name in it, and first lines of help, by command."""


class Commands(TyperGroup):
    """Commands that are imported when they are called: all of them take a second."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {
            name: TyperCommand(name, help=summary) for name, (*_, summary) in _COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command."""
        self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> None:
        """Import a command, if there is one with this name."""
        if name not in _COMMANDS:
            return
        module, attribute, _ = _COMMANDS[name]
        target = getattr(import_module(f"remembrancer.cli.{module}"), attribute)
        parent = typer.Typer(pretty_exceptions_enable=False)
        if isinstance(target, typer.Typer):
            parent.add_typer(target, name=name)
        else:
            parent.command(name)(target)
        self.commands[name] = typer.main.get_group(parent).commands[name]


app = typer.Typer(
    name="remembrancer",
    cls=Commands,
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
    # Help does not need them, and their import takes a tenth of a second.
    from pydantic import SecretStr  # noqa: PLC0415

    build_models_later()
    from remembrancer.settings import Settings  # noqa: PLC0415

    values: dict[str, Any] = {}
    if data_dir is not None:
        values["data_dir"] = data_dir
    if database_url is not None:
        values["database_url"] = SecretStr(database_url)
    context.obj = Settings(**values)
