"""Memory for pydantic-ai: a toolset, and a capability that stores every run.

``pip install 'remembrancer[llm]'``.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from pydantic_core import SchemaValidator, core_schema, to_json

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.conversations.schemas import Message, MessageCreate, MessageRole
from remembrancer.extras import extra
from remembrancer.tools.registry import ToolContext
from remembrancer.tools.schema import parameters

with extra("llm"):
    from pydantic_ai import InstructionPart, RunContext, messages
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

ActorSource = Actor | Callable[[RunContext[Any]], Actor]
"""The actor, or a function that returns it for a run, for example from its ``deps``."""
ConversationSource = UUID | Callable[[RunContext[Any]], UUID]
"""The conversation id, or a function that returns it for a run."""

# The registry validates the arguments, with messages for the model.
_ANYTHING: Final = SchemaValidator(core_schema.any_schema())


class MemoryToolset(AbstractToolset[Any]):
    """The memory tools, all of them or those in ``names``.

    The actor sets the user; the model cannot change it.
    """

    def __init__(
        self,
        memory: Remembrancer,
        actor: ActorSource,
        *,
        names: Collection[str] | None = None,
        context: Callable[[], ToolContext] = ToolContext,
    ) -> None:
        self._memory = memory
        self._actor = actor
        self._names = names
        self._context = context

    @property
    def id(self) -> str:
        """The id of the toolset."""
        return "remembrancer"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools in pydantic-ai's form."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=parameters(tool.arguments),
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
            )
            for tool in self._memory.tools.select(self._names)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Call a tool and return its answer for the model."""
        actor = _actor(self._actor, ctx)
        return (await self._memory.tools.call(actor, name, tool_args, self._context())).text


@dataclass
class MemoryCapability(AbstractCapability[Any]):
    """Adds context before an agent answers, and stores the turn.

    A run first stores the user's message. The stable context goes into the instructions, the
    dynamic context before the user's message. The end of the run stores the output. A run without
    ``message_history`` also gets the last messages of the conversation. With ``tools`` the agent
    can recall and remember by itself.
    """

    memory: Remembrancer
    actor: ActorSource
    conversation: ConversationSource
    tools: bool = True
    _: KW_ONLY
    id: str | None = "remembrancer"
    _context: Context | None = field(default=None, init=False, repr=False)
    _window: Sequence[Message] = field(default=(), init=False, repr=False)
    _message_id: UUID | None = field(default=None, init=False, repr=False)
    _conversation_id: UUID | None = field(default=None, init=False, repr=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return null: an open store cannot be serialised."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> "MemoryCapability":
        """Return a copy for one run."""
        run = replace(self)
        run._conversation_id = (
            self.conversation(ctx) if callable(self.conversation) else self.conversation
        )
        return run

    def get_toolset(self) -> MemoryToolset | None:
        """Return the tools, with the conversation and message of the run."""
        if not self.tools:
            return None
        return MemoryToolset(self.memory, self.actor, context=self._tool_context)

    def get_instructions(self) -> Callable[[], InstructionPart | None]:
        """Return a function for the stable context of a run."""

        def stable() -> InstructionPart | None:
            text = self._context.stable.text if self._context is not None else ""
            return InstructionPart(content=text) if text else None

        return stable

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Store the user's message and load its context."""
        assert self._conversation_id is not None
        actor, text = _actor(self.actor, ctx), _text(ctx.prompt)
        if not text.strip():
            query = ContextQuery(conversation_id=self._conversation_id)
            self._context = await self.memory.conversations.context(actor, query)
            return
        turn = await self.memory.conversations.begin_turn(
            actor,
            self._conversation_id,
            MessageCreate(content=text),
            idempotency_key=_key(ctx, "asked"),
        )
        self._context = turn.context
        self._message_id = turn.stored.messages[-1].id
        if not ctx.messages:
            self._window = [m for m in turn.messages if m.id != self._message_id]

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the last messages and the dynamic context to a request.

        They are not added to the run's own history.
        """
        if self._context is None:
            return request_context
        messages = list(request_context.messages)
        prompt = max((n for n, m in enumerate(messages) if _has_prompt(m)), default=None)
        if prompt is not None and self._context.dynamic.text:
            messages[prompt] = _with_context(messages[prompt], self._context.dynamic.text)
        earlier = [_earlier(message, named=self._context.group) for message in self._window]
        return replace(
            request_context, messages=[*(m for m in earlier if m is not None), *messages]
        )

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store the agent's answer, as JSON if it is not text."""
        output = result.output
        answer = output if isinstance(output, str) else to_json(output).decode()
        if self._conversation_id is not None and self._message_id is not None and answer.strip():
            await self.memory.conversations.finish_turn(
                _actor(self.actor, ctx),
                self._conversation_id,
                answer,
                idempotency_key=_key(ctx, "answered"),
            )
        return result

    def _tool_context(self) -> ToolContext:
        return ToolContext(conversation_id=self._conversation_id, message_id=self._message_id)


def _actor(source: ActorSource, ctx: RunContext[Any]) -> Actor:
    return source(ctx) if callable(source) else source


def _key(ctx: RunContext[Any], what: str) -> str | None:
    """Return an idempotency key, so that a repeated run stores nothing twice."""
    return f"{ctx.run_id}:{what}" if ctx.run_id else None


def _text(prompt: Any) -> str:
    """Return the text of a prompt."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(part for part in prompt if isinstance(part, str))


def _has_prompt(message: messages.ModelMessage) -> bool:
    return isinstance(message, messages.ModelRequest) and any(
        isinstance(part, messages.UserPromptPart) for part in message.parts
    )


def _with_context(message: messages.ModelMessage, text: str) -> messages.ModelMessage:
    assert isinstance(message, messages.ModelRequest)
    return replace(message, parts=[messages.UserPromptPart(content=text), *message.parts])


def _earlier(message: Message, *, named: bool) -> messages.ModelMessage | None:
    if message.role is MessageRole.USER:
        text = f"{message.sender_name}: {message.content}" if named else message.content
        return messages.ModelRequest(parts=[messages.UserPromptPart(content=text)])
    if message.role is MessageRole.ASSISTANT:
        return messages.ModelResponse(parts=[messages.TextPart(content=message.content)])
    return None
