"""Memory for Microsoft's Agent Framework: ``pip install 'remembrancer[agent-framework]'``."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.adapters.items import Item, MessageForm
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import ContextQuery
from remembrancer.conversations.schemas import ConversationCreate
from remembrancer.extras import extra
from remembrancer.text import is_blank
from remembrancer.tools.registry import ToolContext
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

_FORM: Final = MessageForm("contents", "agent_framework", lambda part: part.get("type") == "text")
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
        state: Item,
    ) -> None:
        """Add the history, the context and the tools to a run."""
        actor = self._actor_of(session)
        conversation_id = await self._open(actor, session.session_id)
        history = await self._history(actor, conversation_id)
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
            context.extend_tools(self.source_id, self._functions(actor, where))

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: Item,
    ) -> None:
        """Store what was said in a run, and the calls of tools for the next one."""
        answers = context.response.messages if context.response else []
        messages = [*context.input_messages, *answers]
        await self._append(self._actor_of(session), session.session_id, messages)

    async def get_messages(
        self, session_id: str | None, *, state: Item | None = None, **kwargs: object
    ) -> list[Message]:
        """Return the last messages of a session of the actor.

        Raises ``RuntimeError`` if the actor is a function: a session's id alone names no user.
        """
        if session_id is None:
            return []
        actor = self._only_actor()
        return await self._history(actor, await self._open(actor, session_id))

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: Item | None = None,
        **kwargs: object,
    ) -> None:
        """Append messages to a session of the actor. Raises what :meth:`get_messages` does."""
        if session_id is not None:
            await self._append(self._only_actor(), session_id, messages)

    def _actor_of(self, session: AgentSession) -> Actor:
        source = self._actor
        return source(session) if callable(source) else source

    def _only_actor(self) -> Actor:
        if callable(self._actor):
            raise RuntimeError("a session's id alone names no user; run the agent with the session")
        return self._actor

    async def _open(self, actor: Actor, session_id: str) -> UUID:
        """Return the id of the conversation of a session."""
        user = await self._memory.users.get(actor, actor.user_name or actor.require_user())
        conversation = await self._memory.conversations.open(
            actor,
            validate(
                ConversationCreate,
                agent_id=actor.agent_id,
                platform=PLATFORM,
                # Two users may have a session of the same name.
                platform_conversation_id=f"{user.id}/{session_id}",
            ),
        )
        return conversation.id

    async def _history(self, actor: Actor, conversation_id: UUID) -> list[Message]:
        page = await self._memory.conversations.messages(actor, conversation_id, last=self._window)
        items = [_FORM.item(m, {"type": "text"}) for m in page.items if not m.withheld]
        history = [Message.from_dict(item) for item in items if item is not None]
        # A model refuses the result of a call that it does not see.
        while history and history[0].role == "tool":
            history.pop(0)
        return history

    async def _append(self, actor: Actor, session_id: str, messages: Sequence[Message]) -> None:
        if messages:
            items = [_FORM.message(message.to_dict()) for message in messages]
            conversation_id = await self._open(actor, session_id)
            await self._memory.conversations.append(actor, conversation_id, items)

    def _functions(self, actor: Actor, where: ToolContext) -> list[FunctionTool]:
        def function(name: str) -> Callable[..., Awaitable[str]]:
            async def invoke(**arguments: object) -> str:
                return (await self._memory.tools.call(actor, name, arguments, where)).text

            return invoke

        return [
            FunctionTool(
                name=tool.name,
                description=tool.description,
                func=function(tool.name),
                input_model=parameters(tool.arguments),
            )
            for tool in self._memory.tools.select()
        ]
