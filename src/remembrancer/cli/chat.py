"""``chat``: a conversation in the terminal."""

import asyncio
import sys
from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.chat.console import Console
from remembrancer.cli.actors import AgentOption, actor_for
from remembrancer.cli.runtime import with_store
from remembrancer.conversations.schemas import ConversationCreate
from remembrancer.errors import RemembrancerError


def chat(
    context: typer.Context,
    user: Annotated[
        str,
        typer.Option(help="Who speaks: id, platform:platform_user_id, or a name only one has."),
    ],
    agent: AgentOption = None,
) -> None:
    """Talk to an agent with memory, and look after that memory with /memory.

    Ends with Ctrl-D. Without a language model it shows what an agent would be told.
    """

    async def work(app: Remembrancer) -> None:
        actor = await actor_for(app, user, agent)
        opened = await app.conversations.open(
            actor, ConversationCreate(agent_id=actor.agent_id, platform="console")
        )
        console = Console(app, actor, opened.id)
        while line := await asyncio.to_thread(_line):
            if not line.strip():
                continue
            try:
                typer.echo(await console.answer(line.strip()))
            except FileExistsError as error:
                typer.echo(f"There is a file {error.filename} already.", err=True)
            except RemembrancerError as error:
                typer.echo(f"{error.field or 'That'} {error.reason}", err=True)

    with_store(context, work)


def _line() -> str:
    """Return the next line, with its end; nothing at the end of all."""
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    return sys.stdin.readline()
