"""A turn as the prompt of a model, in the formats of OpenAI and Anthropic. Pure."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypedDict

from remembrancer.context.schemas import Context, Turn
from remembrancer.conversations.schemas import MessageRole
from remembrancer.llm.messages import ChatMessage, ModelReply, ToolSchema, UserText
from remembrancer.sanitizer import visible_text

if TYPE_CHECKING:
    from anthropic.types import MessageParam, TextBlockParam, ToolParam
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam


class AnthropicPrompt(TypedDict):
    """Arguments of ``client.messages.create``, besides ``model`` and ``max_tokens``."""

    system: "list[TextBlockParam]"
    messages: "list[MessageParam]"
    tools: "list[ToolParam]"


class Prompt:
    """What a model is sent in a turn, and the answer so far.

    The instructions and the stable block come first and stay the same for a conversation, so that
    providers can cache them. What belongs to this message comes with it. In a group each text of
    a user begins with the user's name. Neighbours with the same role are one text, since some
    models take only users and assistants in turn.
    """

    def __init__(
        self,
        turn: Turn,
        said: str,
        instructions: str,
        tools: Sequence[ToolSchema],
    ) -> None:
        self.turn = turn
        self.system = "\n\n".join(filter(None, [instructions, turn.context.stable.text]))
        self.texts = _texts(turn, said)
        self.tool_schemas = tools
        self._answers: list[str] = []

    @property
    def context(self) -> Context:
        """The context in the prompt: its blocks, and the ids in each."""
        return self.turn.context

    @property
    def is_repeat(self) -> bool:
        """Whether the platform delivered the message before, so that it has its answer."""
        return self.turn.stored.messages[-1].outcome == "repeated"

    @property
    def history(self) -> list[ChatMessage]:
        """The messages, for a language model of ``remembrancer.llm``."""
        return [
            ModelReply(text) if role == "assistant" else UserText(text) for role, text in self.texts
        ]

    @property
    def messages(self) -> "list[ChatCompletionMessageParam]":
        """The messages in OpenAI's format, the system message first."""
        system: list[Any] = [{"role": "system", "content": self.system}] if self.system else []
        return system + [{"role": role, "content": text} for role, text in self.texts]

    @property
    def tools(self) -> "list[ChatCompletionToolParam]":
        """The memory tools in OpenAI's format. Paused remembering leaves those that only read."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in self.tool_schemas
        ]

    @property
    def anthropic(self) -> AnthropicPrompt:
        """System, messages and tools in Anthropic's format; the provider caches the system."""
        # The first message must be a user's.
        texts = self.texts[1:] if self.texts[0][0] == "assistant" else self.texts
        messages: Any = [{"role": role, "content": text} for role, text in texts]
        return {
            "system": [
                {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
                for text in filter(None, [self.system])
            ],
            "messages": messages,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                }
                for tool in self.tool_schemas
            ],
        }

    def answer(self, text: str | None) -> None:
        """Take the answer. It is stored at the end of the turn, also if the turn fails then.

        Empty text is no answer. Of several answers, all are stored as one text.
        """
        if text and text.strip():
            self._answers.append(text.strip())

    @property
    def answer_text(self) -> str:
        """The answer so far; empty without one."""
        return "\n\n".join(self._answers)


def _texts(turn: Turn, said: str) -> list[tuple[str, str]]:
    """Return the role and text of each message, up to the one that the turn answers."""
    stored, context = turn.stored.messages[-1], turn.context
    shown = [
        message
        for message in turn.messages
        if message.role in {MessageRole.USER, MessageRole.ASSISTANT}
        and message.position <= stored.position
    ]
    texts = [
        (
            message.role.value,
            f"{message.sender_name}: {message.content}" if names else message.content,
        )
        for message in shown
        for names in [context.group and message.role is MessageRole.USER]
    ]
    if not shown or shown[-1].id != stored.id:
        # A repeat of a message that is withheld or no longer in the window.
        texts.append((MessageRole.USER.value, said))
    role, question = texts[-1]
    texts[-1] = role, "\n".join(filter(None, [context.dynamic.text, question]))
    return [
        (role, "\n\n".join(visible_text(text) for _, text in group))
        for role, group in groupby(texts, itemgetter(0))
    ]
