"""A memory service for Google's ADK: ``pip install 'remembrancer[google-adk]'``."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote
from uuid import UUID

from remembrancer.access import Actor, as_actor
from remembrancer.adapters.common import Bridge
from remembrancer.adapters.filters import cut
from remembrancer.app import Remembrancer
from remembrancer.conversations.schemas import (
    ConversationCreate,
    Message,
    MessageCreate,
    MessageRole,
)
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.extras import extra
from remembrancer.memories.schemas import MemoryCreate, RememberRefusal
from remembrancer.recall.schemas import MIN_RELEVANCE, Hit, RecallQuery
from remembrancer.records.schemas import Address, Changes, RecordWrite
from remembrancer.sanitizer import prompt_line, quotation
from remembrancer.text import is_blank
from remembrancer.validation import validate

with extra("google-adk"):
    from google.adk.events import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types

PLATFORM: Final = "google-adk"
"""The platform of the conversations."""
_LONGEST_QUERY: Final = 2_000


class RemembrancerMemoryService(BaseMemoryService):
    """The sessions of ADK as conversations, and recall for its memory tools.

    ``user_id`` "ada" is the user ``app:ada``; the first thing that is added creates the user.
    ``app_name`` is the agent of this name. A session is one conversation of its user: events that
    are added again are the same messages. Construct it on the event loop of ``memory``; a runner
    may use it from any other.
    """

    def __init__(self, memory: Remembrancer, *, platform: str = "app", limit: int = 10) -> None:
        self._memory = memory
        self._platform = platform
        self._limit = limit
        self._bridge = Bridge()

    async def add_session_to_memory(self, session: Session) -> None:
        """Add what was said in a session; what was added before is not added twice."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events with text. ``custom_metadata`` is the metadata of each message."""
        longest = self._memory.settings.limits.message_characters
        metadata = dict(custom_metadata or {})
        messages = [
            _message(event, cut(text, longest), metadata)
            for event in events
            if not event.partial and not is_blank(text := _text(event.content))
        ]
        # Two users may have a session of the same name.
        name = f"{quote(user_id, safe='', errors='replace')}/{session_id or ''}"
        await self._bridge.run(self._append(app_name, user_id, name, messages))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember statements; the id of an entry is its external id.

        Raises ``InvalidInput``, and stores nothing, for one that cannot be stored. One that the
        guard refuses raises it too; the others are stored.
        """
        statements = [
            validate(
                MemoryCreate,
                content=_text(entry.content),
                external_id=entry.id,
                metadata={**entry.custom_metadata, **(custom_metadata or {})},
                allow_similar=True,
            )
            for entry in memories
        ]
        await self._bridge.run(self._remember(app_name, user_id, statements))

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what recall finds of the user, through the agent; nothing for an unknown user."""
        query = _clean(query)[:_LONGEST_QUERY]
        if is_blank(query):
            return SearchMemoryResponse()
        hits = await self._bridge.run(self._recall(app_name, user_id, query))
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget a memory, or erase a message, by the id from a search.

        An unknown id changes nothing. A session that is added again does not bring the message
        back.
        """
        if memory_id:
            await self._bridge.run(self._delete(app_name, user_id, memory_id))

    async def _append(
        self, app_name: str, user_id: str, name: str, messages: Sequence[MessageCreate]
    ) -> None:
        if not messages:
            return
        actor = await self._actor(app_name, user_id)
        erased = await self._memory.records.get(
            actor, {_erased(message) for message in messages if message.platform_message_id}
        )
        messages = [message for message in messages if _erased(message) not in erased]
        conversation = await self._memory.conversations.open(
            actor,
            validate(
                ConversationCreate,
                agent_id=actor.agent_id,
                platform=PLATFORM,
                platform_conversation_id=name,
            ),
        )
        batch = self._memory.settings.limits.batch
        for start in range(0, len(messages), batch):
            await self._memory.conversations.append(
                actor, conversation.id, messages[start : start + batch]
            )

    async def _remember(
        self, app_name: str, user_id: str, statements: Sequence[MemoryCreate]
    ) -> None:
        actor = await self._actor(app_name, user_id)
        answers = await self._memory.memories.remember_many(actor, statements, source=PLATFORM)
        for number, answer in enumerate(answers.items):
            if isinstance(answer, RememberRefusal):
                raise InvalidInput(answer.reason, field=f"memories.{number}.{answer.field}")

    async def _recall(self, app_name: str, user_id: str, query: str) -> Sequence[Hit]:
        try:
            actor = await self._known(app_name, user_id)
            wanted = validate(
                RecallQuery, query=query, limit=self._limit, min_relevance=MIN_RELEVANCE
            )
            return (await self._memory.memories.recall(actor, wanted)).hits
        except NotFound:
            return []

    async def _delete(self, app_name: str, user_id: str, memory_id: str) -> None:
        conversation_id, _, message_id = memory_id.rpartition("/")
        try:
            actor = await self._known(app_name, user_id)
            if conversation_id:
                await self._erase(actor, UUID(conversation_id), UUID(message_id))
            else:
                await self._memory.memories.forget(actor, memory_id)
        except (NotFound, ValueError):
            return

    async def _erase(self, actor: Actor, conversation_id: UUID, message_id: UUID) -> None:
        conversations = self._memory.conversations
        position = await conversations.position(actor, conversation_id, message_id)
        page = await conversations.messages(actor, conversation_id, last=1, before=position + 1)
        await conversations.delete_messages(actor, conversation_id, [message_id])
        notes = [
            RecordWrite(_erased(message), "An event of ADK was erased.", recalled=False)
            for message in page.items
            if message.platform_message_id
        ]
        await self._memory.records.write(actor, Changes(notes), source=PLATFORM)

    async def _known(self, app_name: str, user_id: str) -> Actor:
        agent = await self._memory.agents.resolve(as_actor(), app_name)
        return as_actor(f"{self._platform}:{user_id}", agent)

    async def _actor(self, app_name: str, user_id: str) -> Actor:
        """Return the actor of a session, with a new user if it is unknown."""
        actor = await self._known(app_name, user_id)
        try:
            await self._memory.users.find(as_actor(), self._platform, user_id)
        except NotFound:
            await self._memory.users.resolve(
                as_actor(),
                platform=self._platform,
                platform_user_id=user_id,
                display_name=user_id[:200],
            )
        return actor


def _text(content: types.Content | None) -> str:
    """Return what was said; thoughts and calls of tools are not."""
    parts = (content.parts if content else None) or []
    return _clean("\n".join(part.text for part in parts if part.text and not part.thought))


def _clean(text: str) -> str:
    # A model may say what is no text, and the rest of a session must not be lost with it.
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _message(event: Event, text: str, metadata: Mapping[str, object]) -> MessageCreate:
    return validate(
        MessageCreate,
        role=MessageRole.USER if event.author == "user" else MessageRole.ASSISTANT,
        content=text,
        sent_at=datetime.fromtimestamp(event.timestamp, UTC),
        platform_message_id=event.id or None,
        metadata=metadata,
    )


def _erased(message: Message | MessageCreate) -> Address:
    """Return the address of the note that an event was erased."""
    return (PLATFORM, "erased", message.platform_message_id or "")


def _entry(hit: Hit) -> MemoryEntry:
    line = prompt_line(hit.content)
    is_answer = hit.role == MessageRole.ASSISTANT
    return MemoryEntry(
        id=f"{hit.conversation_id}/{hit.id}" if hit.type == "message" else hit.id,
        content=types.Content(
            role="model" if is_answer else "user",
            parts=[types.Part(text=quotation(line) if hit.quoted else line)],
        ),
        author=prompt_line(hit.sender_name) if hit.sender_name else None,
        timestamp=hit.at.isoformat(),
        custom_metadata={"type": hit.type, "relevance": hit.relevance},
    )
