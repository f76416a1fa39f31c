"""``mcp install``: print or write the configuration of an MCP client."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from remembrancer.cli.actors import parse_id
from remembrancer.cli.runtime import settings_of
from remembrancer.errors import ConfigurationError, InvalidInput
from remembrancer.mcp_clients import ClientName, location, merge, server_entry
from remembrancer.settings import McpSettings, Settings, ToolSet
from remembrancer.validation import server_address


def install(
    context: typer.Context,
    client: Annotated[ClientName, typer.Option(help="The client to configure.")],
    write: Annotated[
        bool, typer.Option("--write", help="Write to the client's file, not to the screen.")
    ] = False,
    file: Annotated[Path | None, typer.Option(help="Another file than the client's own.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Address of a running server, instead of the database here.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with an API key, for a client that starts programs."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Whose memory; with --url, an id.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent; with --url, an id.")] = None,
    tools: Annotated[
        ToolSet | None,
        typer.Option(help="Tools that the client lists.", show_default="mcp.tools"),
    ] = None,
) -> None:
    """Print the lines that give an MCP client this memory, or write them to its file.

    Examples:
      remembrancer mcp install --client claude-code --write
    """
    settings = settings_of(context)
    options = merge_options(settings.mcp, url=url, user=user, agent=agent)
    _check_platform(options.user)
    chosen = {} if tools is None else {"tools": tools.value}
    command = [
        *_command(context, settings, options, key_file),
        *(word for name, value in chosen.items() for word in _named(name, value)),
    ]
    server = server_entry(client, command, url=options.url, query="")
    if "url" in server:
        server = server_entry(
            client, command, url=server_address(options.url), query=_query(options, chosen)
        )
    path = file or location(
        client,
        home=Path.home(),
        project=Path.cwd(),
        system=sys.platform,
        roaming=os.environ.get("APPDATA", ""),
    )
    if not write:
        typer.echo(_text(merge(client, {}, server)), nl=False)
        typer.echo(f"The file is {path}. To write it: --write", err=True)
        return
    typer.echo(_write(path, client, server))


def _check_platform(user: str | None) -> None:
    """Refuse a platform that is more likely misspelt than new: no store is here to ask."""
    from remembrancer.bot.names import PLATFORMS  # noqa: PLC0415 - other commands need none

    platform, colon, _ = (user or "").partition(":")
    if colon and platform not in PLATFORMS | {"local"}:
        known = ", ".join(sorted(PLATFORMS))
        reason = f"unknown platform; known are {known}. A user on another one has an id to give"
        raise InvalidInput(reason, field="user")


def merge_options(settings: McpSettings, **values: object) -> McpSettings:
    return settings.model_copy(update={k: v for k, v in values.items() if v is not None})


def _command(
    context: typer.Context, settings: Settings, options: McpSettings, key_file: Path | None
) -> list[str]:
    script = Path(sys.executable).with_name("remembrancer")
    words = [str(script)] if script.exists() else [sys.executable, "-m", "remembrancer"]
    root = context.find_root().params
    if settings.settings is not None:
        words += ["--settings", str(settings.settings.expanduser().absolute())]
    if root.get("data_dir") is not None:
        words += ["--data-dir", str(Path(root["data_dir"]).expanduser().absolute())]
    if root.get("workspace") is not None:
        words += ["--workspace", root["workspace"]]
    if root.get("database_url") is not None:
        raise InvalidInput(
            "is never written to files; set REMEMBRANCER_DATABASE_URL for the client",
            field="database-url",
        )
    words.append("mcp")
    if options.url is not None:
        words += ["--url", server_address(options.url)]
        if key_file is not None:
            words += ["--key-file", str(key_file.expanduser().absolute())]
    elif key_file is not None:
        raise InvalidInput("is only for --url; leave it out", field="key-file")
    return [*words, *_named("user", options.user), *_named("agent", options.agent)]


def _named(option: str, value: str | None) -> list[str]:
    return [] if value is None else [f"--{option}", value]


def _query(options: McpSettings, chosen: Mapping[str, str]) -> str:
    values = {"user_id": ("user", options.user), "agent_id": ("agent", options.agent)}
    ids: dict[str, str] = {}
    for name, (option, value) in values.items():
        if value is None:
            continue
        id_ = parse_id(value)
        if id_ is None:
            raise InvalidInput("must be an id if the client uses a URL", field=option)
        ids[name] = str(id_)
    query = {**ids, **chosen}
    return f"?{urlencode(query)}" if query else ""


def _write(path: Path, client: ClientName, server: dict[str, Any]) -> str:
    path = path.expanduser()
    if path.is_symlink():
        path = path.resolve()
    try:
        before = path.read_text("utf-8") if path.exists() else None
        config = _parse(path, before)
        updated = merge(client, config, server)
        if before is not None and updated == config:
            return f"{path} has the entry already."
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(path) if before is not None else None
        _replace(path, _text(updated))
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not a text file").lower()
        raise ConfigurationError(f"{path} cannot be read or written: {reason}") from None
    except InvalidInput as error:
        raise ConfigurationError(
            f"{path} {error.reason}; run this without --write and add the entry by hand"
        ) from None
    copy = f"; the old file is {backup}" if backup else ""
    return f"Written to {path}{copy}. Restart the client to load it."


def _parse(path: Path, text: str | None) -> Any:
    if text is None or not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("is not plain JSON", field=str(path)) from None


def _back_up(path: Path) -> Path:
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        if not backup.exists():
            shutil.copy2(path, backup)
            return backup
        number += 1


def _replace(path: Path, text: str) -> None:
    """Write a file atomically, with the mode of the old one."""
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as out:
            out.write(text)
        if path.exists():
            shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
