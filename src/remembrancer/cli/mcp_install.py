"""``mcp install``: the configuration of a client, printed or written."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from remembrancer.cli.actors import as_id
from remembrancer.cli.runtime import settings_of
from remembrancer.errors import ConfigurationError, InvalidInput
from remembrancer.mcp.clients import ClientName, location, merge, server_entry
from remembrancer.settings import McpSettings
from remembrancer.validation import server_address


def install(
    context: typer.Context,
    client: Annotated[ClientName, typer.Option(help="Whose configuration.")],
    write: Annotated[bool, typer.Option("--write", help="Write it; else it is printed.")] = False,
    file: Annotated[
        Path | None, typer.Option(help="Another file than the one this client reads.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A running server to use instead of the database.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="File with its API key, for a client that starts programs.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Whose memory; an id for a server that is reached by URL.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="The agent; an id for a server that is reached by URL.")
    ] = None,
) -> None:
    """Print what an MCP client must know of this server, or add it to the client's file."""
    settings = settings_of(context)
    given = {"url": url, "user": user, "agent": agent}
    chosen = settings.mcp.model_copy(update={k: v for k, v in given.items() if v is not None})
    command = _command(context, chosen, key_file)
    wanted = server_entry(client, command, url=chosen.url, query="")
    if "url" in wanted:
        wanted = server_entry(client, command, url=server_address(chosen.url), query=_query(chosen))
    path = file or location(
        client,
        home=Path.home(),
        project=Path.cwd(),
        system=sys.platform,
        roaming=os.environ.get("APPDATA", ""),
    )
    if not write:
        typer.echo(_text(merge(client, {}, wanted)), nl=False)
        typer.echo(f"Belongs into {path}; --write puts it there.", err=True)
        return
    typer.echo(_written(path, client, wanted))


def _command(context: typer.Context, chosen: McpSettings, key_file: Path | None) -> list[str]:
    """Return the command that starts this server as it is set now."""
    script = Path(sys.executable).with_name("remembrancer")
    words = [str(script)] if script.exists() else [sys.executable, "-m", "remembrancer"]
    root = context.find_root().params
    if root.get("data_dir") is not None:
        words += ["--data-dir", str(Path(root["data_dir"]).expanduser().absolute())]
    if root.get("database_url") is not None:
        raise InvalidInput(
            "is not written into files; set REMEMBRANCER_DATABASE_URL for the client",
            field="database-url",
        )
    words.append("mcp")
    if chosen.url is not None:
        words += ["--url", server_address(chosen.url)]
        if key_file is not None:
            words += ["--key-file", str(key_file.expanduser().absolute())]
    elif key_file is not None:
        raise InvalidInput("is needed with --url alone", field="key-file")
    for name in ("user", "agent"):
        if (value := getattr(chosen, name)) is not None:
            words += [f"--{name}", value]
    return words


def _query(chosen: McpSettings) -> str:
    given = {"user_id": ("user", chosen.user), "agent_id": ("agent", chosen.agent)}
    ids = {}
    for name, (option, value) in given.items():
        if value is None:
            continue
        found = as_id(value)
        if found is None:
            raise InvalidInput("must be an id for a server that is reached by URL", field=option)
        ids[name] = str(found)
    return f"?{urlencode(ids)}" if ids else ""


def _written(path: Path, client: ClientName, wanted: dict[str, Any]) -> str:
    """Add the server to a file; return what was done."""
    path = path.expanduser()
    if path.is_symlink():
        path = path.resolve()
    try:
        before = path.read_text("utf-8") if path.exists() else None
        there = _parsed(path, before)
        after = merge(client, there, wanted)
        if before is not None and after == there:
            return f"{path} has it already."
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = _backed_up(path) if before is not None else None
        _replace(path, _text(after))
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is no text").lower()
        raise ConfigurationError(f"{path} cannot be read or written: {reason}") from None
    except InvalidInput as error:
        raise ConfigurationError(
            f"{path} {error.reason}; add what this prints without --write by hand"
        ) from None
    kept = f"; what was there before is in {backup}" if backup else ""
    return f"Written to {path}{kept}. Restart the client to load it."


def _parsed(path: Path, text: str | None) -> Any:
    if text is None or not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("is not plain JSON", field=str(path)) from None


def _backed_up(path: Path) -> Path:
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        if not backup.exists():
            shutil.copy2(path, backup)
            return backup
        number += 1


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the mode of the one that was there."""
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
