"""Writes the commands into `cli.md`, from their help: `python docs/cli_page.py`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from remembrancer.cli.app import app

PAGE: Final = Path(__file__).with_name("cli.md")
_MARK: Final = "<!-- From here on written by docs/cli_page.py -->\n"
_MORE: Final = {
    "init": "[settings](settings.md)",
    "serve": "[deploying](deploying.md), [REST](rest.md), [the pages](web.md)",
    "chat": "[an agent in the terminal](chat.md#an-agent-in-the-terminal)",
    "import": "[importing](importing.md), [our own format](import-format.md)",
    "watch": "[a folder that is watched](importing.md#a-folder-that-is-watched)",
    "backup": "[backup](deploying.md#backup-and-restore)",
    "mcp": "[MCP](mcp.md)",
    "tools": "[tools](rest.md#tools)",
    "openapi": "[a client for your language](rest.md#a-client-for-your-language)",
    "usage": "[metrics](operations.md#metrics)",
    "retention": "[keep less](retention.md)",
    "jobs": "[background jobs](operations.md#background-jobs)",
    "worker": "[background jobs](operations.md#background-jobs)",
    "reembed": "[changing the model](operations.md#changing-the-embedding-model)",
    "migrate-preferences": "[from the toggle to preferences](migrating-preferences.md)",
    "memories budget": "[budget](settings.md#budget)",
}
"""Pages that say more about a command."""


def page() -> str:
    """Return what `cli.md` must be: its beginning as it is, and all commands."""
    beginning, *_ = PAGE.read_text("utf-8").split(_MARK)
    root: Any = typer.main.get_command(app)
    parts = [beginning, _MARK, *_command(root, "remembrancer")]
    panel = ""
    for name in list(root.commands):
        if root.commands[name].rich_help_panel != panel:
            panel = root.commands[name].rich_help_panel
            parts.append(f"\n## {panel}\n")
        root.load(name)
        parts += _tree(root.commands[name], f"remembrancer {name}")
    return "".join(parts)


def _tree(command: Any, path: str) -> Iterator[str]:
    yield from _command(command, path)
    for name, sub in getattr(command, "commands", {}).items():
        yield from _tree(sub, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    yield f"\n### `{path}`\n\n{command.help}\n"
    context = typer.Context(command)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"\n```text\n{path} {usage}\n```\n"
    rows = [parameter.get_help_record(context) for parameter in command.params]
    if lines := [f"- `{name}`: {text}\n" for name, text in filter(None, rows)]:
        yield "\n" + "".join(lines)
    text, _, examples = (command.epilog or "").partition("Examples:\n")
    if text := text.replace("\b\n", "").strip():
        yield f"\n{text}\n"
    if examples:
        calls = "\n".join(line.strip() for line in examples.splitlines())
        yield f"\n```shell\n{calls}\n```\n"
    if more := _MORE.get(path.removeprefix("remembrancer ")):
        yield f"\nMore: {more}.\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
