"""A conversation in a terminal: commands are answered, other messages go to the agent."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.bot.agent_loop import AgentLoop
from remembrancer.bot.turn import open_turn
from remembrancer.chat.handler import CommandHandler, Location
from remembrancer.chat.replies import File, plain_text, split_messages
from remembrancer.context.schemas import Turn
from remembrancer.conversations.schemas import Conversation, MessageCreate
from remembrancer.errors import RemembrancerError
from remembrancer.llm.messages import ToolCall
from remembrancer.sanitizer import visible_text
from remembrancer.tools.registry import plain_tool
from remembrancer.validation import validate

MOST_SHOWN: Final = 120
"""Characters of a call's arguments."""


Look = Literal["plain", "dim", "error"]
Write = Callable[[str, Look], None]
"""Writes text as it is, without a line break after it."""


class Console:
    """One conversation of a user with an agent. Without an agent loop it shows the context."""

    def __init__(
        self,
        app: Remembrancer,
        actor: Actor,
        conversation: Conversation,
        loop: AgentLoop | None,
        *,
        write: Write,
        directory: Path = Path(),
    ) -> None:
        self._app = app
        self._actor = actor
        self._conversation = conversation
        self._loop = loop
        self._write = write
        self._directory = directory
        self._commands = CommandHandler(app)
        self._at_line_start = True

    async def answer(self, text: str) -> None:
        """Write the answer to ``text``, or the reason why there is none, as whole lines."""
        try:
            await self._answer(text)
        except FileExistsError as error:
            self._line(f"{error.filename} exists already; move it and try again.", "error")
        except RemembrancerError as error:
            reason = str(error)
            self._line(f"{reason[0].upper()}{reason[1:]}.", "error")
        finally:
            self._end_line()

    def text(self, piece: str) -> None:
        """Write a piece of text."""
        safe = visible_text(piece)
        self._write(safe, "plain")
        self._at_line_start = safe.endswith("\n")

    def tool(self, call: ToolCall, failure: str | None) -> None:
        """Write a call of a tool as one line."""
        arguments = " ".join(call.arguments.split())
        if len(arguments) > MOST_SHOWN:
            arguments = f"{arguments[:MOST_SHOWN]}…"
        self.note(f"[{call.name} {arguments}]{f' failed: {failure}' if failure else ''}")

    def note(self, sentence: str) -> None:
        """Write a line that is not the agent's."""
        self._line(sentence, "dim")

    def _line(self, sentence: str, look: Look) -> None:
        self._end_line()
        self._write(f"{visible_text(sentence)}\n", look)

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._write("\n", "plain")
        self._at_line_start = True

    async def _answer(self, text: str) -> None:
        reply = await self._commands.answer(Location(self._actor, self._conversation.id), text)
        if reply is not None:
            for message in split_messages(reply, plain_text, 1_000_000):
                self.text(message)
            if reply.file is not None:
                self._end_line()
                self.text(self._save(reply.file))
        elif self._loop is not None:
            options = self._loop.options
            tools = self._app.tools.select() if options.tools else []
            async with open_turn(
                self._app,
                self._actor,
                self._conversation,
                validate(MessageCreate, content=text),
                instructions=options.system_prompt,
                tools=[plain_tool(tool) for tool in tools],
            ) as turn:
                await self._loop.reply(turn, self)
        else:
            # The agent is the conversation's.
            begun = await self._app.conversations.begin_turn(
                self._actor, self._conversation.id, validate(MessageCreate, content=text)
            )
            self.text(_context(begun))

    def _save(self, file: File) -> str:
        path = self._directory / file.name
        # An existing file is never overwritten.
        with path.open("xb") as output:
            output.write(file.content)
        path.chmod(0o600)
        return f"Written to {path}"


def _context(turn: Turn) -> str:
    return f"{turn.context.stable.text}\n{turn.context.dynamic.text}".rstrip()
