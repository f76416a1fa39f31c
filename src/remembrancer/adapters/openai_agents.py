"""Memory for OpenAI's Agents SDK: ``pip install 'remembrancer[openai-agents]'``.

Sessions, tools, and context in the instructions. The SDK reports every run to OpenAI. To disable
that, call ``set_tracing_disabled(True)`` or set ``OPENAI_AGENTS_DISABLE_TRACING=1``.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.adapters.common import Bridge
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import ContextQuery
from remembrancer.conversations.schemas import Message, MessageCreate, MessageRole
from remembrancer.extras import extra
from remembrancer.paging import LARGEST_PAGE
from remembrancer.text import storable_json
from remembrancer.tools.registry import Tool, ToolContext
from remembrancer.tools.schema import parameters
from remembrancer.validation import validate

with extra("openai-agents"):
    from agents import Agent, FunctionTool, RunContextWrapper, SessionSettings, TResponseInputItem
    from agents.tool_context import ToolContext as CallContext

_ITEM: Final = "openai_item"
"""The metadata key of an item without the text, which is the message's content."""
_TEXT: Final = ("input_text", "output_text", "text")
_WHOLE: Final = "content"
"""The metadata value if the content is the whole item as JSON."""
Item = dict[str, Any]


class RemembrancerSession:
    """A session whose items are the messages of one of the actor's conversations.

    Messages of people and the agent are recalled, summarised and used for facts. Tool calls,
    their results and the model's thoughts are only stored for the next run. Other messages of the
    conversation are items too. ``limit`` is the number of items for a run, by default all.
    Construct it on the event loop of ``memory``; runs may be on any other.
    """

    def __init__(
        self,
        memory: Remembrancer,
        actor: Actor,
        conversation_id: UUID,
        *,
        limit: int | None = None,
    ) -> None:
        self.session_id = str(conversation_id)
        self.session_settings: SessionSettings | None = SessionSettings(limit=limit)
        self._memory = memory
        self._actor = actor
        self._conversation_id = conversation_id
        self._bridge = Bridge()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, oldest first; the latest ``limit`` if given."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        messages = await self._bridge.run(self._messages(limit, _is_item))
        return [_item(message) for message in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, in whole batches of the request limit (1,000).

        Raises ``InvalidInput`` for an item over the length of a message.
        """
        await self._bridge.run(self._append([_message(dict(item)) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the last item with everything based only on it; return it, or null without one.

        Messages that are no items stay.
        """
        return await self._bridge.run(self._pop())

    async def clear_session(self) -> None:
        """Delete the actor's items with everything based only on them; items of others stay."""
        await self._bridge.run(self._clear())

    async def _append(self, messages: Sequence[MessageCreate]) -> None:
        batch = self._memory.settings.limits.batch
        for start in range(0, len(messages), batch):
            await self._memory.conversations.append(
                self._actor, self._conversation_id, messages[start : start + batch]
            )

    async def _pop(self) -> TResponseInputItem | None:
        last = await self._messages(1, _is_item)
        await self._delete(last)
        popped: TResponseInputItem | None = _item(last[0]) if last else None
        return popped

    async def _clear(self) -> None:
        # The user may have been merged into another.
        person = await self._memory.users.get(self._actor, self._actor.require_user())
        await self._delete(await self._messages(None, lambda m: m.user_id == person.id))

    async def _delete(self, messages: Sequence[Message]) -> None:
        if messages:
            await self._memory.conversations.delete_messages(
                self._actor, self._conversation_id, [message.id for message in messages]
            )

    async def _messages(
        self, limit: int | None, wanted: Callable[[Message], bool]
    ) -> Sequence[Message]:
        """Return the last messages that are wanted, oldest first, all without a limit."""
        messages: list[Message] = []
        before: int | None = None
        while limit is None or len(messages) < limit:
            # As many as wanted at first; whole pages if some of them are not.
            last = LARGEST_PAGE if limit is None or before else min(limit, LARGEST_PAGE)
            page = await self._memory.conversations.messages(
                self._actor, self._conversation_id, last=last, before=before
            )
            messages = [*filter(wanted, page.items), *messages]
            if len(page.items) < last or page.items[0].position == 1:
                break
            before = page.items[0].position
        return messages if limit is None else messages[max(0, len(messages) - limit) :]


def memory_tools(
    memory: Remembrancer,
    actor: Actor,
    *,
    conversation_id: UUID | None = None,
    names: Collection[str] | None = None,
) -> list[FunctionTool]:
    """Return the memory tools for an agent that serves the actor's user.

    The actor sets the user; the model cannot change it.
    """
    context, bridge = ToolContext(conversation_id=conversation_id), Bridge()
    return [_function(memory, actor, tool, context, bridge) for tool in memory.tools.select(names)]


def with_memory(
    memory: Remembrancer, actor: Actor, instructions: str, *, conversation_id: UUID | None = None
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """Return an agent's ``instructions`` with the stable context of the actor's user.

    They stay the same during a conversation, so providers can cache them.
    """
    bridge = Bridge()

    async def with_context(_context: RunContextWrapper[Any], _agent: Agent[Any]) -> str:
        query = ContextQuery(conversation_id=conversation_id)
        context = await bridge.run(memory.conversations.context(actor, query))
        return f"{instructions}\n\n{context.stable.text}"

    return with_context


def _function(
    memory: Remembrancer, actor: Actor, tool: Tool[Any], context: ToolContext, bridge: Bridge
) -> FunctionTool:
    async def invoke(_call: CallContext[Any], arguments: str) -> str:
        return (await bridge.run(memory.tools.call(actor, tool.name, arguments, context))).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=parameters(tool.arguments),
        on_invoke_tool=invoke,
        # Arguments may be optional; the registry checks them.
        strict_json_schema=False,
    )


def _message(item: Item) -> MessageCreate:
    """Return an item as a message: its text as the content, or all of it as a tool message."""
    role = item.get("role")
    if role in {MessageRole.USER, MessageRole.ASSISTANT} and (parts := _split(item)):
        content, rest = parts
        return validate(MessageCreate, role=role, content=content, metadata={_ITEM: rest})
    return validate(
        MessageCreate,
        role=MessageRole.TOOL,
        content=json.dumps(item, ensure_ascii=False),
        metadata={_ITEM: _WHOLE},
    )


def _split(item: Item) -> tuple[str, Item] | None:
    """Return the text of an item and the rest; null if the rest is too large for metadata."""
    content = item.get("content")
    if isinstance(content, str):
        return content, {**item, "content": None}
    if not isinstance(content, list):
        return None
    texts = [part["text"] for part in content if _is_text(part)]
    rest = item
    if len(texts) == len(content) == 1:
        rest = {**item, "content": [{**content[0], "text": None}]}
    try:
        storable_json({_ITEM: rest})
    except ValueError:
        return None
    return ("\n".join(texts), rest) if texts else None


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in _TEXT and bool(part.get("text"))


def _is_item(message: Message) -> bool:
    return not message.withheld and _item(message) is not None


def _item(message: Message) -> Any:
    """Return a message as an item; null for messages that are not for the model."""
    rest = message.metadata.get(_ITEM)
    if isinstance(rest, dict):
        return _joined(rest, message.content)
    if rest == _WHOLE:
        return _parsed(message.content)
    if message.role in {MessageRole.USER, MessageRole.ASSISTANT}:
        return {"role": message.role.value, "content": message.content}
    return None


def _parsed(content: str) -> Item | None:
    """Return an item; null if redaction broke its JSON."""
    try:
        item = json.loads(content)
    except ValueError:
        return None
    return item if isinstance(item, dict) else None


def _joined(rest: Item, text: str) -> Item:
    content = rest.get("content")
    if content is None:
        return {**rest, "content": text}
    if len(content) == 1 and content[0].get("text", "") is None:
        return {**rest, "content": [{**content[0], "text": text}]}
    return rest
