"""An agent: answers a message from its context, with a model that calls the memory tools."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from remembrancer.agents.schemas import Agent
from remembrancer.bot.turn import AsyncBotTurn, rounds
from remembrancer.llm.messages import ModelReply, ToolCall, ToolResult

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel

WITHOUT_TOOLS: Final = "This model takes no tools: the agent cannot remember or look up by itself."
CUT_SHORT: Final = "The answer ends here: it has reached the limit of tokens, llm.max_tokens."


class Listener(Protocol):
    """Shows an answer while it comes."""

    def text(self, piece: str) -> None:
        """Show the next piece of the answer."""

    def tool(self, call: ToolCall, failure: str | None) -> None:
        """Show a call of a tool, and why it failed if it did."""

    def note(self, sentence: str) -> None:
        """Show a remark about the answer."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent answers."""

    system_prompt: str = ""
    temperature: float | None = None
    tools: bool = True
    """Whether the model may call the memory tools."""


class AgentLoop:
    """Answers turns with a language model that calls the memory tools."""

    def __init__(self, model: "LanguageModel", options: AgentOptions) -> None:
        self._model = model
        self.options = options
        self._has_told_of_tools = False

    async def reply(self, turn: AsyncBotTurn, listener: Listener) -> None:
        """Answer a turn; what was shown is its answer, also if that is cancelled or breaks off.

        Raises what the model does, and ``UnusableAnswer`` if it calls tools in each of 8 replies.
        """
        pieces: list[str] = []
        try:
            await self._reply(turn, listener, pieces)
        finally:
            turn.answer("".join(pieces))

    async def _reply(self, turn: AsyncBotTurn, listener: Listener, pieces: list[str]) -> None:
        def on_text(piece: str) -> None:
            pieces.append(piece)
            listener.text(piece)

        messages = turn.history
        for _ in rounds():
            reply = await self._model.chat(
                turn.system,
                messages,
                tools=turn.tool_schemas,
                temperature=self.options.temperature,
                on_text=on_text,
            )
            self._remark(reply, listener)
            if not reply.calls:
                return
            if reply.text:
                pieces.append("\n\n")
            messages.append(reply)
            for call in reply.calls:
                result = await turn.call_tool(call.name, call.arguments)
                listener.tool(call, result.error.reason if result.error else None)
                messages.append(ToolResult(call, result.text))

    def _remark(self, reply: ModelReply, listener: Listener) -> None:
        if reply.without_tools and not self._has_told_of_tools:
            self._has_told_of_tools = True
            listener.note(WITHOUT_TOOLS)
        if reply.cut_short and not reply.calls:
            listener.note(CUT_SHORT)


def model_of(agent: Agent | None) -> str | None:
    """Return the name of an agent's own model, with its provider if the agent names one."""
    if agent is None or not agent.llm_model:
        return None
    return f"{agent.llm_provider}:{agent.llm_model}" if agent.llm_provider else agent.llm_model
