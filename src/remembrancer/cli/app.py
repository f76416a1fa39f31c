"""The command ``remembrancer``: global options and all commands."""

from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from remembrancer import version
from remembrancer.fast_imports import build_models_later

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class _Entry(NamedTuple):
    name: str
    summary: str
    """The first lines of its help."""
    module: str | None = None
    """Its module, if it is not called like the command."""


_PANELS: Final = {
    "Start": (
        _Entry("init", "Write a settings file, after three questions."),
        _Entry("serve", "Start a server: REST API, web pages and MCP. Ctrl-C stops it."),
        _Entry("demo", "Show with sample data what each agent recalls, and why."),
        _Entry(
            "doctor", "Check the installation and the models; with --check, every row of the store."
        ),
    ),
    "Memory": (
        _Entry("remember", "Store a statement about a user, or for everybody with --shared."),
        _Entry("recall", "Find the memories and messages that help with a question."),
        _Entry("memories", "List memories, forget them and bring them back."),
        _Entry("review", "Confirm or reject memories that wait for a decision."),
        _Entry("chat", "Talk to an agent with memory, here in the terminal."),
    ),
    "People": (
        _Entry("users", "Create, list, link and merge users; export or erase their data."),
        _Entry("agents", "Create, list and update agents, the assistants that remember."),
        _Entry("conversations", "Summarise conversations, edit and delete their messages."),
        _Entry("spaces", "Share memories between users: spaces, members, invitations, facts."),
    ),
    "Data": (
        _Entry("import", "Import chats and memories from other systems. Safe to repeat."),
        _Entry("watch", "Import what appears in a folder, until Ctrl-C."),
        _Entry("documents", "Export the memories of a user as JSON, and import them."),
        _Entry("backup", "Write everything to one file. Servers may keep running."),
        _Entry("restore", "Read a backup into an empty database. Stop servers first.", "backup"),
    ),
    "Programs": (
        _Entry("keys", "Create, list, rotate and revoke API keys of the server."),
        _Entry("mcp", "Give memory to assistants such as Claude or Cursor, over MCP."),
        _Entry("tools", "List the memory tools for language models, and call one."),
        _Entry("openapi", "Print the OpenAPI document of the REST API."),
    ),
    "Operations": (
        _Entry("audit", "Print who read or changed what: ids and outcomes, never content."),
        _Entry(
            "usage",
            "Print recalls, writes, refusals, evictions, tokens and disk by day and agent.",
        ),
        _Entry("workspaces", "Create, list, limit, suspend, migrate, move and drop workspaces."),
        _Entry("retention", "Say what is stored how long; remove what is older."),
        _Entry("jobs", "List background jobs, such as summaries.", "maintenance"),
        _Entry("worker", "Run background jobs until Ctrl-C.", "maintenance"),
        _Entry("reembed", "Embed all texts again, with another model.", "maintenance"),
        _Entry(
            "migrate-preferences",
            "Replace the deprecated toggle for all agents by preferences per agent.",
            "maintenance",
        ),
    ),
}
"""All commands, by the panel of the help that lists them."""

_TYPES: Final = {
    "<str>": "<text>",
    "<datetime>": "<time>",
    "<Path>": "<path>",
    "<int range>": "<number>",
    "<float>": "<number>",
    "<float range>": "<number>",
    "<UUID>": "<id>",
}
"""Types as the help shows them, by their names in Python."""


_LONGEST: Final = 40
"""Characters of choices that stand beside an option; longer ones are in its explanation."""


class Group(TyperGroup):
    """Commands whose help says what each does, by panel.

    Without Rich, which Typer's own panels need: its import would double the time of a help.
    """

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Show the help if there is nothing to do."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """List the commands."""
        width = max(map(len, self.list_commands(ctx)))
        panels: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, command in self.commands.items():
            summary, *_ = (command.help or "").split("\n\n")
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels[panel].append((f"{name:{width}}", summary))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


class Commands(Group):
    """Commands that are imported when they are called: all of them take a second."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._entries = {entry.name: entry for panel in _PANELS.values() for entry in panel}
        self.commands = {
            entry.name: TyperCommand(entry.name, help=entry.summary, rich_help_panel=panel)
            for panel, entries in _PANELS.items()
            for entry in entries
        }
        _simplify(self)

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """Import the command."""
        self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> None:
        """Import a command, if there is one with this name."""
        if name not in self._entries:
            return
        build_models_later()
        function = "import_" if name == "import" else name.replace("-", "_")
        module = import_module(f"remembrancer.cli.{self._entries[name].module or function}")
        parent = typer.Typer(pretty_exceptions_enable=False)
        if hasattr(module, "group"):
            parent.add_typer(module.group, name=name, cls=Group, help=self._entries[name].summary)
        else:
            parent.command(name)(getattr(module, function))
        self.commands[name] = typer.main.get_group(parent).commands[name]
        _simplify(self.commands[name])


def _simplify(command: "Command") -> None:
    """Show types in plain words, and examples at the end; also those of subcommands."""
    assert isinstance(command, TyperCommand | TyperGroup)
    if isinstance(command, TyperGroup):
        for sub in command.commands.values():
            _simplify(sub)
    command.rich_markup_mode = None
    text, _, examples = (command.help or "").partition("\n\nExamples:\n")
    command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    if examples:
        command.epilog = f"\b\nExamples:\n{examples}"
    for parameter in command.params:
        assert isinstance(parameter, TyperArgument | TyperOption)
        kind = parameter.display_type(typer.Context(command)).replace("list[", "").replace("]", "")
        shown = _TYPES.get(kind, kind)
        if len(shown) > _LONGEST:
            parameter.help = f"{parameter.help} One of {shown[1:-1].replace('|', ', ')}."
            shown = "<name>"
        parameter.display_type = lambda _, shown=shown: shown  # type: ignore[method-assign, misc]


app = typer.Typer(
    name="remembrancer",
    cls=Commands,
    help="""Memory for AI agents: it stores what people say, and finds it again when it helps.

    `remembrancer COMMAND --help` explains a command, with examples.""",
    epilog="""\b
Examples:
  remembrancer init
  remembrancer serve
  remembrancer users resolve discord 1844 --name Ada
  remembrancer remember "Ada drinks tea." --user Ada
  remembrancer recall "What does Ada drink?" --user Ada""",
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"remembrancer {version.__version__}")
        raise typer.Exit


@app.callback()
def options(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Directory with the data: an own database, and the admin key.",
            show_default="~/.local/share/remembrancer",
        ),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(help="Address of a Postgres 16+ with pgvector, for the data."),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            envvar="REMEMBRANCER_SETTINGS",
            help="The settings file.",
            show_default="remembrancer.toml, if there is one in this directory",
        ),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(help="The workspace to work on.", show_default="default"),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options of every command."""
