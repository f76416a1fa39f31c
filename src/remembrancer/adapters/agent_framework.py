"""Memory for Microsoft's Agent Framework: ``pip install 'remembrancer[agent-framework]'``."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from remembrancer.access import Actor
from remembrancer.adapters.items import Items
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import ContextQuery
from remembrancer.conversations.schemas import ConversationCreate
from remembrancer.extras import extra
from remembrancer.text import is_blank
from remembrancer.tools.registry import Tool, ToolContext
from remembrancer.tools.schema import parameters
from remembrancer.validation import validate

with extra("agent-framework"):
    from agent_framework import (
        AgentSession,
        FunctionTool,
        HistoryProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
    )

PLATFORM: Final = "agent-framework"
"""The platform of the conversations."""
ActorSource = Actor | Callable[[AgentSession], Actor]
"""The actor, or a function that returns it for a session, for example from its ``state``."""

_ITEMS: Final = Items("contents", "agent_framework", lambda part: part.get("type") == "text")
_LONGEST_QUERY: Final = 2_000


class RemembrancerProvider(HistoryProvider):
    """Context before a run and history after it, in ``Agent(context_providers=[...])``.

    A session is a conversation of the actor. A run gets the last ``window`` messages, the stable
    context in the instructions, and the dynamic context before the user's message. Its messages
    are stored at its end; what people and the agent said is recalled, summarised and learnt from.
    With ``tools`` the agent can recall and remember by itself.
    """

    def __init__(
        self,
        memory: Remembrancer,
        actor: ActorSource,
        *,
        window: int = 20,
        tools: bool = True,
        source_id: str = "remembrancer",
    ) -> None:
        super().__init__(source_id)
        self._memory = memory
        self._actor = actor
        self._window = window
        self._tools = tools

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Add the history, the context and the tools to a run."""
        actor, conversation_id = await self._place(session)
        page = await self._memory.conversations.messages(actor, conversation_id, last=self._window)
        stored = [m for m in page.items if not m.withheld]
        items = [_ITEMS.item(message, {"type": "text"}) for message in stored]
        history = [Message.from_dict(item) for item in items if item is not None]
        # A model refuses the result of a call that it does not see.
        while history and history[0].role == "tool":
            history.pop(0)
        said = "\n".join(m.text for m in context.input_messages if m.role == "user")
        told = await self._memory.conversations.context(
            actor,
            validate(
                ContextQuery,
                conversation_id=conversation_id,
                message=None if is_blank(said) else said[:_LONGEST_QUERY],
                window=self._window,
            ),
        )
        if told.stable.text:
            context.extend_instructions(self.source_id, told.stable.text)
        if told.dynamic.text:
            history.append(Message("user", [told.dynamic.text]))
        context.extend_messages(self, history)
        if self._tools:
            where = ToolContext(conversation_id=conversation_id)
            context.extend_tools(
                self.source_id,
                [self._tool(actor, tool, where) for tool in self._memory.tools.select()],
            )

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Store what was said in a run, and the calls of tools for the next one."""
        answers = context.response.messages if context.response else []
        await self._append(session, [*context.input_messages, *answers])

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Raise ``NotImplementedError``: a session names its user, and an id alone does not."""
        raise NotImplementedError("run the agent with a session; its id alone names no user")

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Raise ``NotImplementedError`` as :meth:`get_messages` does."""
        raise NotImplementedError("run the agent with a session; its id alone names no user")

    async def _place(self, session: AgentSession) -> tuple[Actor, Any]:
        """Return the actor of a session, and the id of its conversation."""
        source = self._actor
        actor = source(session) if callable(source) else source
        user = await self._memory.users.get(actor, actor.user_name or actor.require_user())
        conversation = await self._memory.conversations.open(
            actor,
            validate(
                ConversationCreate,
                agent_id=actor.agent_id,
                platform=PLATFORM,
                # Two users may have a session of the same name.
                platform_conversation_id=f"{user.id}/{session.session_id}",
            ),
        )
        return actor, conversation.id

    async def _append(self, session: AgentSession, messages: Sequence[Message]) -> None:
        if messages:
            actor, conversation_id = await self._place(session)
            items = [_ITEMS.message(message.to_dict()) for message in messages]
            await self._memory.conversations.append(actor, conversation_id, items)

    def _tool(self, actor: Actor, tool: Tool[Any], where: ToolContext) -> FunctionTool:
        async def invoke(**arguments: Any) -> str:
            return (await self._memory.tools.call(actor, tool.name, arguments, where)).text

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            func=invoke,
            input_model=parameters(tool.arguments),
        )
