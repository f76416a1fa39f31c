"""An agent: answers a message from its context, with a model that calls the memory tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import Turn
from remembrancer.conversations.schemas import Conversation, MessageCreate, MessageRole
from remembrancer.errors import UnusableAnswer
from remembrancer.llm.messages import (
    ChatMessage,
    ModelReply,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserText,
)
from remembrancer.tools.registry import Tool, ToolContext
from remembrancer.tools.schema import parameters
from remembrancer.validation import validate

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel

MOST_ROUNDS: Final = 8
"""Replies of a model to one message."""
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
    """Answers the messages of one conversation."""

    def __init__(
        self,
        app: Remembrancer,
        model: "LanguageModel",
        conversation: Conversation,
        options: AgentOptions,
    ) -> None:
        self._app = app
        self._model = model
        self._conversation = conversation
        self._options = options
        self._has_told_of_tools = False

    async def answer(self, actor: Actor, text: str, listener: Listener) -> None:
        """Store a message, answer it, and store the answer.

        What was shown is stored also when the answer is cancelled or breaks off. While remembering
        is paused, the model gets only the tools that change nothing. Raises what
        ``conversations.begin_turn`` and the model do, and ``UnusableAnswer`` if the model calls
        tools in each of its ``MOST_ROUNDS`` replies.
        """
        conversation_id = self._conversation.id
        turn = await self._app.conversations.begin_turn(
            actor, conversation_id, validate(MessageCreate, content=text)
        )
        pieces: list[str] = []
        try:
            await self._reply(actor, turn, listener, pieces)
        finally:
            if answer := "".join(pieces).strip():
                await self._app.conversations.finish_turn(actor, conversation_id, answer)

    async def _reply(self, actor: Actor, turn: Turn, listener: Listener, pieces: list[str]) -> None:
        def on_text(piece: str) -> None:
            pieces.append(piece)
            listener.text(piece)

        instructions, messages = prompt(turn, self._options.system_prompt)
        tools = self._tools(turn)
        context = ToolContext(
            conversation_id=self._conversation.id,
            message_id=turn.stored.messages[-1].id,
            platform=self._conversation.platform,
        )
        for _ in range(MOST_ROUNDS):
            reply = await self._model.chat(
                instructions,
                messages,
                tools=[_schema(tool) for tool in tools.values()],
                temperature=self._options.temperature,
                on_text=on_text,
            )
            self._remark(reply, listener)
            if not reply.calls:
                return
            if reply.text:
                pieces.append("\n\n")
            messages.append(reply)
            for call in reply.calls:
                result, failure = await self._call(actor, tools, call, context)
                listener.tool(call, failure)
                messages.append(ToolResult(call, result))
        raise UnusableAnswer(
            f"the agent called tools {MOST_ROUNDS} times without an answer; ask in other words"
        )

    def _tools(self, turn: Turn) -> Mapping[str, Tool[Any]]:
        if not self._options.tools:
            return {}
        return {
            tool.name: tool
            for tool in self._app.tools.select()
            if tool.effects.read_only or not turn.stored.off_record
        }

    async def _call(
        self,
        actor: Actor,
        tools: Mapping[str, Tool[Any]],
        call: ToolCall,
        context: ToolContext,
    ) -> tuple[str, str | None]:
        """Return the result for the model, and the reason if the call failed."""
        if call.name not in tools:
            reason = f"no such tool; there are {', '.join(tools) or 'none'}"
            return f"Nothing was done. {reason}.", reason
        answer = await self._app.tools.call(actor, call.name, call.arguments, context)
        return answer.text, answer.error.reason if answer.error else None

    def _remark(self, reply: ModelReply, listener: Listener) -> None:
        if reply.without_tools and not self._has_told_of_tools:
            self._has_told_of_tools = True
            listener.note(WITHOUT_TOOLS)
        if reply.cut_short and not reply.calls:
            listener.note(CUT_SHORT)


def prompt(turn: Turn, system_prompt: str = "") -> tuple[str, list[ChatMessage]]:
    """Return the instructions and the messages for a model.

    The system prompt and the stable block come first, so that providers can cache them; the
    dynamic block comes with the message it was made for. Some models take only users and
    assistants in turn, so neighbours with the same role become one text.
    """
    context = turn.context
    texts = [
        (message.role, f"{message.sender_name}: {message.content}" if names else message.content)
        for message in turn.messages
        if message.role in {MessageRole.USER, MessageRole.ASSISTANT}
        for names in [context.group and message.role is MessageRole.USER]
    ]
    role, question = texts[-1]
    texts[-1] = role, f"{context.dynamic.text}\n{question}"
    messages: list[ChatMessage] = []
    for role, group in groupby(texts, itemgetter(0)):
        text = "\n\n".join(text for _, text in group)
        messages.append(ModelReply(text) if role is MessageRole.ASSISTANT else UserText(text))
    return "\n\n".join(filter(None, [system_prompt, context.stable.text])), messages


def _schema(tool: Tool[Any]) -> ToolSchema:
    return ToolSchema(tool.name, tool.description, parameters(tool.arguments))
