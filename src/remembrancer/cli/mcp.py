"""``mcp``: an MCP server on standard input and output, and its installation."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from remembrancer.access import Actor
from remembrancer.cli import mcp_install
from remembrancer.cli.actors import actor_for, only_id, parse_id
from remembrancer.cli.runtime import SERVICE, log_quietly, run, settings_of, starting_database
from remembrancer.errors import ConfigurationError, InvalidInput
from remembrancer.fast_imports import uncollected
from remembrancer.settings import McpSettings, Settings, ToolSet
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import server_address, validate

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.client import AsyncClient
    from remembrancer.mcp.sources import Source

LISTS_SECONDS = 0.2
"""Seconds after the start in which a client asks for the lists."""

group = typer.Typer(
    invoke_without_command=True,
    epilog="""\b
Without a command it speaks MCP on standard input and output, for an assistant.
The user is the account on this machine, unless --user says otherwise.

\b
Examples:
  remembrancer mcp install --client claude-code --write
  remembrancer mcp --url http://127.0.0.1:8420 --key-file bot.key""",
)

UrlOption = Annotated[
    str | None, typer.Option(help="Address of a running server, instead of the database here.")
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(help="File with an API key of that server.", show_default="mcp.key"),
]
UserOption = Annotated[
    str | None,
    typer.Option(help="Whose memory: an id, platform:id such as discord:1844, or a name."),
]
AgentOption = Annotated[str | None, typer.Option(help="The agent: an id or a name.")]

ToolsOption = Annotated[
    ToolSet | None,
    typer.Option(help="Tools that the client lists.", show_default="mcp.tools"),
]

group.command("install")(mcp_install.install)


@group.callback()
def serve(
    context: typer.Context,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    user: UserOption = None,
    agent: AgentOption = None,
    tools: ToolsOption = None,
) -> None:
    """Serve MCP on standard input and output until the input ends.

    Default user: the account on this machine, or with a user key of a server, its user.
    """
    if context.invoked_subcommand is not None:
        return
    # An assistant starts this in a directory of its own choice, whose files say nothing here.
    settings = settings_of(context, only_named=True)
    log_quietly(settings)
    options = mcp_install.merge_options(settings.mcp, url=url, user=user, agent=agent, tools=tools)
    if sys.stdin.isatty():
        typer.echo("This is for assistants; set one up with `remembrancer mcp install`.", err=True)
    from remembrancer.mcp import stdio  # noqa: PLC0415
    from remembrancer.mcp.sources import MemoryTools  # noqa: PLC0415

    if options.url is None:
        if key_file is not None:
            raise InvalidInput("is only for --url; leave it out", field="key-file")
        embedded = settings.database_url is None
        # Whom the settings name may not be there: that is told before the client gets an answer.
        is_named = options.user is not None or options.agent is not None
        catalogue = None if is_named else MemoryTools(options.tools)
        run(
            stdio.serve(
                lambda: _store(settings, options, after_lists=not is_named),
                reopens=embedded,
                catalogue=catalogue,
            )
        )
    else:
        options = options.model_copy(update={"url": server_address(options.url)})
        key = key_of(options, key_file)
        run(stdio.serve(lambda: _server(options, key)))


def key_of(settings: McpSettings, key_file: Path | None) -> str:
    if key_file is not None:
        try:
            key = key_file.expanduser().read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text file"
            raise ConfigurationError(f"the key file {key_file} cannot be read: {reason}") from None
    else:
        key = settings.key.get_secret_value() if settings.key else ""
    if not key or not key.isascii() or not key.isprintable():
        prefix = f"the file {key_file} has" if key_file else "there is"
        raise ConfigurationError(
            f"{prefix} no API key for the server; use --key-file or set REMEMBRANCER_MCP__KEY"
        )
    return key


@asynccontextmanager
async def _store(
    settings: Settings, options: McpSettings, *, after_lists: bool
) -> AsyncIterator["Source"]:
    from remembrancer.mcp.sources import StoreSource  # noqa: PLC0415 - as below

    if after_lists:
        # Clients ask for the lists first. Their answers need no store, and the core for themselves.
        await asyncio.sleep(LISTS_SECONDS)
    with starting_database(settings) as database:
        with uncollected():
            await asyncio.to_thread(import_module, "remembrancer.app")
        from remembrancer.app import Remembrancer, at_embedded_server  # noqa: PLC0415

        if database is not None:
            settings = at_embedded_server(settings, await asyncio.to_thread(database.result))
        async with Remembrancer.open(settings=settings) as app:
            yield StoreSource(app, await _actor(app, options), options.tools)


async def _actor(app: "Remembrancer", options: McpSettings) -> Actor:
    actor = replace(await actor_for(app, options.user, options.agent), entry_point="mcp")
    if actor.user_id is not None:
        return actor
    name = account()
    request = validate(ResolveUser, platform="local", platform_user_id=name, display_name=name)
    return actor.acting_for((await app.users.resolve(SERVICE, request)).id)


def account() -> str:
    import getpass  # noqa: PLC0415

    try:
        return getpass.getuser()[:200].strip() or "me"
    except (KeyError, OSError):
        return "me"


@asynccontextmanager
async def _server(options: McpSettings, key: str) -> AsyncIterator["Source"]:
    from remembrancer.client import AsyncClient  # noqa: PLC0415
    from remembrancer.mcp.remote import RemoteSource  # noqa: PLC0415

    assert options.url is not None
    async with AsyncClient(options.url, key) as client:
        holder = await client.keys.own()
        user_id = await _user(client, options.user) if options.user is not None else None
        agent_id = await _agent(client, options.agent) if options.agent is not None else None
        yield RemoteSource(client, holder, user_id, agent_id, options.tools)


async def _user(client: "AsyncClient", name: str) -> UUID:
    if (user_id := parse_id(name)) is not None:
        return (await client.users.get(user_id)).id
    platform, colon, platform_user_id = name.partition(":")
    if not colon:
        reason = "must be an id or platform:platform_user_id for a server"
        raise InvalidInput(reason, field="user")
    return (await client.users.find(platform, platform_user_id)).id


async def _agent(client: "AsyncClient", name: str) -> UUID:
    if (agent_id := parse_id(name)) is not None:
        return (await client.agents.get(agent_id)).id
    agents = [agent async for agent in client.agents.list.each(limit=200)]
    return only_id(agents, name, "agent")
