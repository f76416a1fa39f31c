"""``chat``: talk to an agent in the terminal."""

import asyncio
import sys

import typer

from remembrancer.app import Remembrancer
from remembrancer.chat.console import Console
from remembrancer.cli.actors import actor_for
from remembrancer.cli.options import AgentOption, RequiredUser
from remembrancer.cli.runtime import with_store
from remembrancer.conversations.schemas import ConversationCreate
from remembrancer.errors import RemembrancerError


def chat(
    context: typer.Context,
    user: RequiredUser,
    agent: AgentOption = None,
) -> None:
    """Talk to an agent with memory, and manage that memory with /memory.

    Ends with Ctrl-D. Without a language model it shows the context that an agent would get.
    """

    async def work(app: Remembrancer) -> None:
        actor = await actor_for(app, user, agent)
        conversation = await app.conversations.open(
            actor, ConversationCreate(agent_id=actor.agent_id, platform="console")
        )
        console = Console(app, actor, conversation.id)
        while line := await asyncio.to_thread(_line):
            if not line.strip():
                continue
            try:
                typer.echo(await console.answer(line.strip()))
            except FileExistsError as error:
                typer.echo(f"{error.filename} exists already; move it and try again", err=True)
            except RemembrancerError as error:
                typer.echo(f"{error.field or 'That'} {error.reason}", err=True)

    with_store(context, work)


def _line() -> str:
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    return sys.stdin.readline()
