"""``chat``: talk to an agent in the terminal."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from io import FileIO
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

import typer

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.bot.agent_loop import AgentLoop, AgentOptions, model_of
from remembrancer.chat.console import Console, Look
from remembrancer.cli.actors import actor_for
from remembrancer.cli.options import AgentOption, RequiredUser
from remembrancer.cli.runtime import SERVICE, with_store
from remembrancer.conversations.schemas import Conversation, ConversationCreate
from remembrancer.errors import ConfigurationError, InvalidInput
from remembrancer.llm import create_language_model

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel

NO_MODEL: Final = (
    "no language model to chat with; set REMEMBRANCER_LLM__MODEL or pass --model. "
    "To see what an agent would be told: --prompt"
)


def chat(
    context: typer.Context,
    user: RequiredUser,
    agent: AgentOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Provider and model, such as ollama:qwen3.",
            show_default="the agent's, else that of the settings",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0, max=2, help="How freely the model answers.", show_default="the agent's"
        ),
    ] = None,
    conversation: Annotated[
        UUID | None,
        typer.Option(help="Id of a conversation to go on with.", show_default="a new one"),
    ] = None,
    no_tools: Annotated[
        bool, typer.Option("--no-tools", help="The agent gets no tools for its memory.")
    ] = False,
    prompt: Annotated[
        bool,
        typer.Option(
            "--prompt", help="Show what the agent would be told, and ask no language model."
        ),
    ] = False,
) -> None:
    """Talk to an agent with memory, here in the terminal.

    /memory lists what it remembers, /memory help lists what else you can do. Ctrl-C stops an
    answer, Ctrl-D ends the chat. It needs a language model.

    Examples:
      remembrancer chat --user Ada --agent "Kitchen helper"
      remembrancer chat --user Ada --model ollama:qwen3 --temperature 0.2
    """

    async def work(app: Remembrancer) -> None:
        actor = await actor_for(app, user, agent)
        earlier = await _earlier(app, actor, conversation)
        agent_id = actor.agent_id if earlier is None else earlier.agent_id
        actor = actor.acting_for(None, agent_id)
        persona = await app.agents.get(SERVICE, agent_id) if agent_id else None
        async with _language_model(app, model or model_of(persona)) as language_model:
            if language_model is None and not prompt:
                raise ConfigurationError(NO_MODEL)
            new = ConversationCreate(agent_id=agent_id, platform="console")
            place = earlier or await app.conversations.open(actor, new)
            loop = None
            if language_model is not None and not prompt:
                options = AgentOptions(
                    system_prompt=persona.system_prompt if persona else "",
                    temperature=persona.temperature if persona else None,
                    tools=not no_tools,
                )
                if temperature is not None:
                    options = replace(options, temperature=temperature)
                loop = AgentLoop(language_model, options)
            console = Console(app, actor, place, loop, write=_write)
            if sys.stdin.isatty():
                who = persona.name if persona else "No agent"
                which = language_model.name if language_model and loop else "no language model"
                console.note(f"{who}, {which}. /memory help lists the commands.")
                console.note(f"To go on later: --conversation {place.id}")
            await _talk(console)

    with_store(context, work)


async def _earlier(
    app: Remembrancer, actor: Actor, conversation: UUID | None
) -> Conversation | None:
    if conversation is None:
        return None
    place = await app.conversations.get(actor, conversation)
    if actor.agent_id not in {None, place.agent_id}:
        raise InvalidInput("is not the agent of this conversation; leave it out", field="agent")
    return place


@asynccontextmanager
async def _language_model(
    app: Remembrancer, name: str | None
) -> AsyncIterator["LanguageModel | None"]:
    if name is None:
        yield app.language_model
        return
    model = create_language_model(app.settings.llm, name)
    assert model is not None
    try:
        yield model
    finally:
        await model.close()


async def _talk(console: Console) -> None:
    """Answer lines until the input ends. Ctrl-C stops an answer; between answers, it ends all."""
    loop = asyncio.get_running_loop()
    lines = _Lines(loop)
    while line := await lines.next():
        if line.strip():
            answer = loop.create_task(console.answer(line.strip()))
            before = signal.signal(
                signal.SIGINT, lambda *_, stop=answer.cancel: loop.call_soon_threadsafe(stop)
            )
            try:
                await asyncio.wait([answer])
            finally:
                signal.signal(signal.SIGINT, before)
            if not answer.cancelled():
                answer.result()


class _Lines:
    """Lines of the standard input, each read once it is wanted.

    A thread of its own reads, and without a buffer: an exit waits for no such thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wanted = threading.Semaphore(0)
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> str:
        """Return the next line, empty at the end of the input."""
        if sys.stdin.isatty():
            _write("> ", "plain")
        self._wanted.release()
        return await self._lines.get()

    def _read(self) -> None:
        with FileIO(os.dup(sys.stdin.fileno())) as source:
            while self._wanted.acquire():
                line = source.readline().decode(errors="replace")
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
                if not line:
                    return


def _write(text: str, look: Look) -> None:
    if look != "plain":
        colour = "red" if look == "error" else None
        text = f"{typer.style(text.rstrip(), dim=look == 'dim' or None, fg=colour)}\n"
    typer.echo(text, nl=False, err=look == "error")
    sys.stdout.flush()
