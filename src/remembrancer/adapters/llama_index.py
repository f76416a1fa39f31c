"""Memory for LlamaIndex: ``pip install 'remembrancer[llama-index]'``."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.adapters.common import Bridge
from remembrancer.adapters.items import Item, MessageForm
from remembrancer.app import Remembrancer
from remembrancer.context.schemas import ContextQuery
from remembrancer.conversations.schemas import Message
from remembrancer.extras import extra
from remembrancer.paging import LARGEST_PAGE
from remembrancer.text import is_blank
from remembrancer.validation import validate

with extra("llama-index"):
    from llama_index.core.llms import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemory

_FORM: Final = MessageForm("blocks", "llama_index", lambda block: block.get("block_type") == "text")
_LONGEST_QUERY: Final = 2_000


class RemembrancerMemory(BaseMemory):
    """The memory of an agent or chat engine in one of the actor's conversations.

    ``put`` stores a message; what people and the agent said is recalled, summarised and learnt
    from. ``get`` returns the last ``window`` messages, the stable context as a system message
    before them, and the dynamic context before the last message of the user. Construct it on the
    event loop of ``memory``. Threads may use the synchronous methods.
    """

    def __init__(
        self, memory: Remembrancer, actor: Actor, conversation_id: UUID, *, window: int = 20
    ) -> None:
        super().__init__()
        self._memory = memory
        self._actor = actor
        self._conversation_id = conversation_id
        self._window = window
        self._bridge = Bridge()

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "RemembrancerMemory"

    @classmethod
    def from_defaults(
        cls, memory: Remembrancer, actor: Actor, conversation_id: UUID, *, window: int = 20
    ) -> "RemembrancerMemory":
        """Return what the constructor does."""
        return cls(memory, actor, conversation_id, window=window)

    async def aget(self, input: str | None = None, **kwargs: object) -> list[ChatMessage]:  # noqa: A002
        """Return what the model is told: context and the last messages."""
        return await self._bridge.run(self._get(input))

    async def aget_all(self) -> list[ChatMessage]:
        """Return all messages, oldest first."""
        return _chat(await self._bridge.run(self._all()))

    async def aput(self, message: ChatMessage) -> None:
        """Append a message."""
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages. Raises ``InvalidInput`` for one over the length of a message."""
        await self._bridge.run(self._put(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Make these the messages of the conversation.

        Messages at the start that are the same stay. Those after them are deleted with everything
        based only on them.
        """
        await self._bridge.run(self._set(messages))

    async def areset(self) -> None:
        """Delete all messages with everything based only on them."""
        await self._bridge.run(self._set([]))

    def get(self, input: str | None = None, **kwargs: object) -> list[ChatMessage]:  # noqa: A002
        """Run :meth:`aget` for code in a thread beside the event loop."""
        return self._bridge.wait(self._get(input))

    def get_all(self) -> list[ChatMessage]:
        """Run :meth:`aget_all` for code in a thread beside the event loop."""
        return _chat(self._bridge.wait(self._all()))

    def put(self, message: ChatMessage) -> None:
        """Run :meth:`aput` for code in a thread beside the event loop."""
        self._bridge.wait(self._put([message]))

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Run :meth:`aput_messages` for code in a thread beside the event loop."""
        self._bridge.wait(self._put(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """Run :meth:`aset` for code in a thread beside the event loop."""
        self._bridge.wait(self._set(messages))

    def reset(self) -> None:
        """Run :meth:`areset` for code in a thread beside the event loop."""
        self._bridge.wait(self._set([]))

    async def _get(self, query: str | None) -> list[ChatMessage]:
        page = await self._memory.conversations.messages(
            self._actor, self._conversation_id, last=self._window
        )
        history = _chat([message for message in page.items if not message.withheld])
        # A model refuses the result of a call that it does not see.
        while history and history[0].role is MessageRole.TOOL:
            history.pop(0)
        last = max((n for n, m in enumerate(history) if m.role is MessageRole.USER), default=None)
        if query is None and last is not None:
            query = history[last].content
        context = await self._memory.conversations.context(
            self._actor,
            validate(
                ContextQuery,
                conversation_id=self._conversation_id,
                message=None if query is None or is_blank(query) else query[:_LONGEST_QUERY],
                window=self._window,
            ),
        )
        if context.dynamic.text:
            at = len(history) if last is None else last
            history.insert(at, ChatMessage(role=MessageRole.USER, content=context.dynamic.text))
        if context.stable.text:
            history.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=context.stable.text))
        return history

    async def _all(self) -> list[Message]:
        messages: list[Message] = []
        before: int | None = None
        while before is None or before > 1:
            page = await self._memory.conversations.messages(
                self._actor, self._conversation_id, last=LARGEST_PAGE, before=before
            )
            messages = [*page.items, *messages]
            before = page.items[0].position if len(page.items) == LARGEST_PAGE else 1
        return messages

    async def _put(self, messages: Sequence[ChatMessage]) -> None:
        items = [_FORM.message(_dump(message)) for message in messages]
        batch = self._memory.settings.limits.batch
        for start in range(0, len(items), batch):
            await self._memory.conversations.append(
                self._actor, self._conversation_id, items[start : start + batch]
            )

    async def _set(self, messages: Sequence[ChatMessage]) -> None:
        stored = await self._all()
        same = 0
        for old, new in zip(stored, messages, strict=False):
            if _chat([old]) != [new]:
                break
            same += 1
        if others := [message.id for message in stored[same:]]:
            await self._memory.conversations.delete_messages(
                self._actor, self._conversation_id, others
            )
        await self._put(messages[same:])


def _dump(message: ChatMessage) -> Item:
    dump: Item = message.model_dump(mode="json", exclude_none=True)
    return dump


def _chat(messages: Sequence[Message]) -> list[ChatMessage]:
    items = [_FORM.item(message, {"block_type": "text"}) for message in messages]
    return [ChatMessage.model_validate(item) for item in items if item is not None]
