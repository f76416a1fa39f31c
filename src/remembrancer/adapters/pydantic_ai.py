"""Memory for pydantic-ai: a toolset, and a capability that remembers every run."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from pydantic_ai import InstructionPart, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema, to_json

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import Context, ContextQuery
from remembrancer.conversations.schemas import Message, MessageCreate, MessageRole
from remembrancer.tools.registry import ToolContext
from remembrancer.tools.schema import parameters

Who = Actor | Callable[[RunContext[Any]], Actor]
"""Whom an agent remembers for, or what says so of each run, from its ``deps`` for instance."""
Where = UUID | Callable[[RunContext[Any]], UUID]
"""The conversation, or what says which it is of each run."""

# The registry validates, and says in words what a model can mend.
_ANYTHING: Final = SchemaValidator(core_schema.any_schema())


def _no_context() -> ToolContext:
    return ToolContext()


class MemoryToolset(AbstractToolset[Any]):
    """The tools of the memory's registry, all of them unless ``names`` are given.

    Whom they remember for is the actor's business and never the model's.
    """

    def __init__(
        self,
        memory: Remembrancer,
        who: Who,
        *,
        names: Collection[str] | None = None,
        context: Callable[[], ToolContext] = _no_context,
    ) -> None:
        self._memory = memory
        self._who = who
        self._names = names
        self._context = context

    @property
    def id(self) -> str:
        """What the toolset is called among those of an agent."""
        return "remembrancer"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools as pydantic-ai takes them."""
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
        """Call a tool of the registry; return what the model is told."""
        actor = _actor(self._who, ctx)
        return (await self._memory.tools.call(actor, name, tool_args, self._context())).text


@dataclass
class MemoryCapability(AbstractCapability[Any]):
    """Tells an agent what is known before it answers, and stores the turn after.

    What the user said is stored as the run begins; the stable context goes into the
    instructions, the dynamic one before what was said, and the output is stored at the end.
    A run without ``message_history`` is given the last messages of the conversation as well.
    With ``tools`` the agent may also look up and remember by itself.
    """

    memory: Remembrancer
    who: Who
    conversation: Where
    tools: bool = True
    _: KW_ONLY
    id: str | None = "remembrancer"
    _context: Context | None = field(default=None, init=False, repr=False)
    _window: Sequence[Message] = field(default=(), init=False, repr=False)
    _said: UUID | None = field(default=None, init=False, repr=False)
    _talk: UUID | None = field(default=None, init=False, repr=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return null: a store that is open cannot be written into a file."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> "MemoryCapability":
        """Return a capability with a state of its own."""
        run = replace(self)
        run._talk = self.conversation(ctx) if callable(self.conversation) else self.conversation
        return run

    def get_toolset(self) -> MemoryToolset | None:
        """Return the tools, which know where they are called."""
        if not self.tools:
            return None
        return MemoryToolset(self.memory, self.who, context=self._called)

    def get_instructions(self) -> Callable[[], InstructionPart | None]:
        """Return what tells the stable context once a run has begun."""

        def stable() -> InstructionPart | None:
            text = self._context.stable.text if self._context is not None else ""
            return InstructionPart(content=text) if text else None

        return stable

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Store what the user said, and look up what helps with it."""
        assert self._talk is not None
        actor, text = _actor(self.who, ctx), _text(ctx.prompt)
        if not text.strip():
            wanted = ContextQuery(conversation_id=self._talk)
            self._context = await self.memory.conversations.context(actor, wanted)
            return
        turn = await self.memory.conversations.begin_turn(
            actor, self._talk, MessageCreate(content=text), idempotency_key=_key(ctx, "asked")
        )
        self._context = turn.context
        self._said = turn.stored.messages[-1].id
        if not ctx.messages:
            self._window = [one for one in turn.messages if one.id != self._said]

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the last messages and the dynamic context where the model reads them.

        They are of this request, and do not get into the run's own history.
        """
        if self._context is None:
            return request_context
        messages = request_context.messages
        asked = max((n for n, one in enumerate(messages) if _asks(one)), default=None)
        told = list(messages)
        if asked is not None and self._context.dynamic.text:
            told[asked] = _with_context(told[asked], self._context.dynamic.text)
        earlier = [_earlier(one, named=self._context.group) for one in self._window]
        return replace(
            request_context, messages=[*(one for one in earlier if one is not None), *told]
        )

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store what the agent answered; JSON, if it is not text."""
        output = result.output
        answer = output if isinstance(output, str) else to_json(output).decode()
        if self._talk is not None and self._said is not None and answer.strip():
            await self.memory.conversations.finish_turn(
                _actor(self.who, ctx), self._talk, answer, idempotency_key=_key(ctx, "answered")
            )
        return result

    def _called(self) -> ToolContext:
        return ToolContext(conversation_id=self._talk, message_id=self._said)


def _actor(who: Who, ctx: RunContext[Any]) -> Actor:
    return who(ctx) if callable(who) else who


def _key(ctx: RunContext[Any], what: str) -> str | None:
    """Return what makes a run that is carried out again store nothing twice."""
    return f"{ctx.run_id}:{what}" if ctx.run_id else None


def _text(prompt: Any) -> str:
    """Return what of a prompt is text."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(one for one in prompt if isinstance(one, str))


def _asks(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(
        isinstance(part, UserPromptPart) for part in message.parts
    )


def _with_context(message: ModelMessage, text: str) -> ModelMessage:
    assert isinstance(message, ModelRequest)
    return replace(message, parts=[UserPromptPart(content=text), *message.parts])


def _earlier(message: Message, *, named: bool) -> ModelMessage | None:
    if message.role is MessageRole.USER:
        text = f"{message.sender_name}: {message.content}" if named else message.content
        return ModelRequest(parts=[UserPromptPart(content=text)])
    if message.role is MessageRole.ASSISTANT:
        return ModelResponse(parts=[TextPart(content=message.content)])
    return None
