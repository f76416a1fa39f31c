"""Conversations: open, read, pause, append, edit."""

from collections.abc import Iterable, Sequence
from typing import Unpack
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.checks import check_agent, hold_user
from remembrancer.conversations import repository, rules, views
from remembrancer.conversations.access import no_such_conversation, reading
from remembrancer.conversations.append import AfterAppend, Appender
from remembrancer.conversations.edits import Editor, EraseDerived
from remembrancer.conversations.rows import StoredRow
from remembrancer.conversations.schemas import (
    AnyMessage,
    AppendResult,
    Conversation,
    ConversationCreate,
    ConversationDetails,
    EditResult,
    Message,
    MessageCreate,
)
from remembrancer.db.replica import may_use_replica
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import NotFound
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.paging import LARGEST_PAGE, Items, Page, PageMethod
from remembrancer.spaces import repository as spaces
from remembrancer.text import check_range
from remembrancer.validation import model_of


@retries_deadlocks
class Conversations:
    """Conversations and their messages.

    A conversation is for its participants. Recall of its messages follows the visibility rule
    of memories.
    """

    def __init__(
        self, backend: Backend, after_append: AfterAppend, erase_derived: EraseDerived
    ) -> None:
        self._backend = backend
        self._editor = Editor(backend, erase_derived)
        self._appender = Appender(backend, after_append, self._editor)

    async def open(
        self,
        actor: Actor,
        conversation: ConversationCreate | None = None,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[ConversationDetails],
    ) -> Conversation:
        """Open a conversation, or return the one with this platform id and agent.

        ``conversation``, or its ``fields`` by keyword. In a group each speaker may open it; who did
        not open it first takes part from their first message on. Raises ``NotFound`` for an unknown
        user, agent or space, and, to a user, for a platform id whose conversation they take no part
        in.
        """
        conversation = model_of(ConversationCreate, conversation, fields)
        conversation = self._backend.guard.screen(
            conversation, ("title", "metadata"), redact_only=True
        ).model
        async with (
            self._backend.database.system_for(actor) as (connection, actor),
            once(connection, "conversations.open", idempotency_key, conversation) as answer,
        ):
            if answer.earlier is not None:
                earlier = await repository.find(connection, UUID(answer.earlier))
                return Conversation.model_validate(earlier)
            opener = await hold_user(connection, actor)
            await check_agent(connection, conversation.agent_id)
            space_id = conversation.space_id
            if space_id is not None and not await spaces.is_member(connection, space_id, opener):
                raise NotFound("no such space", field="space_id")
            values = {"id": new_uuid(), "opened_by": opener, **conversation.model_dump()}
            row, new = await repository.open_or_find(connection, values)
            if new:
                await audit.note(connection, actor, "conversation.create", [str(row.id)])
            elif not await _may_open(connection, actor, row.id):
                raise no_such_conversation()
            answer.new = str(row.id)
            return Conversation.model_validate(row)

    async def get(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Return a conversation; raise ``NotFound`` unless the actor takes part."""
        action = "conversation.read"
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            row = await repository.find(connection, conversation_id)
        await self._note(actor, action, [conversation_id])
        return Conversation.model_validate(row)

    async def find(
        self, actor: Actor, platform: str, platform_conversation_id: str
    ) -> Conversation:
        """Return the conversation of the actor's agent with this id on a platform.

        Raises ``NotFound`` if there is none, and for a user who takes no part in it.
        """
        async with self._backend.database.system_for(actor) as (connection, actor):
            # An agent is in the chat with all who are there; one statement for what is not theirs.
            participant = actor.require_user() if actor.role is Role.USER else None
            row = await repository.find_on_platform(
                connection,
                platform,
                platform_conversation_id,
                actor.agent_id,
                participant=participant,
            )
            if row is None:
                raise no_such_conversation()
        await self._note(actor, "conversation.read", [row.id])
        return Conversation.model_validate(row)

    @PageMethod
    @may_use_replica
    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Conversation]:
        """Return a page of the user's conversations, newest first; ``limit`` is 1 to 200."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            page = await repository.page(connection, actor.require_user(), limit, cursor)
        await self._note(actor, "conversation.list", [row.id for row in page.items])
        return page.map(Conversation.model_validate)

    async def messages(
        self,
        actor: Actor,
        conversation_id: UUID,
        *,
        last: int = rules.WINDOW,
        before: int | None = None,
    ) -> Items[Message]:
        """Return the last messages, oldest first; those before a position if given.

        ``last`` is 1 to 200. Raises ``NotFound`` unless the actor takes part.
        """
        check_range(last, 1, LARGEST_PAGE, field="last")
        check_range(before or 1, 1, 2_000_000_000, field="before")
        action = "message.read"
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            rows = await repository.last_messages(connection, conversation_id, last, before)
        await self._backend.reads.note(actor, action, ((row.owner_id, row.id) for row in rows))
        return Items(items=[views.message(row) for row in rows])

    async def compare(
        self, actor: Actor, conversation_id: UUID, messages: Sequence[MessageCreate]
    ) -> Sequence[StoredRow]:
        """Return which of some messages the conversation has by the platform's ids.

        It tells nothing that the caller does not have. Raises ``NotFound`` unless the actor takes
        part.
        """
        contents = {m.platform_message_id: m.content for m in messages if m.platform_message_id}
        async with reading(self._backend, actor, conversation_id, "message.read") as (
            connection,
            _,
        ):
            return await repository.compare(connection, conversation_id, contents)

    async def participants(self, actor: Actor, conversation_id: UUID) -> frozenset[UUID]:
        """Return the ids of the users who take part; raise ``NotFound`` unless the actor does."""
        action = "conversation.read"
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            participants = await repository.participants_of(connection, conversation_id)
        await self._note(actor, action, [conversation_id])
        return participants

    async def position(self, actor: Actor, conversation_id: UUID, message_id: UUID) -> int:
        """Return the position of a message, counted from 1; raise ``NotFound`` without one."""
        action = "message.read"
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            position = await repository.position(connection, conversation_id, message_id)
        if position is None:
            raise NotFound("no such message", field="message_id")
        return position

    async def pause(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Pause remembering in a conversation; it stays paused if it is already.

        Messages appended meanwhile can be read with the conversation. They are never recalled
        or summarised, not even later. Raises ``NotFound`` unless the actor takes part.
        """
        return await self._set_paused(actor, conversation_id, "conversations.pause", paused=True)

    async def resume(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Resume remembering in a conversation. Raises what :meth:`pause` does."""
        return await self._set_paused(actor, conversation_id, "conversations.resume", paused=False)

    async def append(
        self,
        actor: Actor,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Append messages in their order, all or none; positions have no gaps.

        They are known from now on, whenever they were said; with the source ``import``, which is
        history, from when they were said. So recall as of an earlier time does not have them.

        A message whose ``platform_message_id`` is in the conversation is the same message: it is
        not appended again, and other content edits it. Its ``outcome`` says so.

        Repeating a request with the same ``idempotency_key`` within 24 hours appends nothing and
        returns the first answer. Raises ``NotFound`` for a conversation the actor takes no part
        in and for an unknown user, ``InvalidInput`` for a message without an owner, and
        ``Conflict`` for a ``platform_message_id`` of another sender's message.
        """
        return await self._appender.append(
            actor,
            conversation_id,
            messages,
            idempotency_key=idempotency_key,
            is_history=source == "import",
        )

    async def edit_message(
        self, actor: Actor, conversation_id: UUID, message_id: AnyMessage, content: str
    ) -> EditResult:
        """Replace the words of a message, by its id or ``platform:`` and the platform's id.

        What rests on the old words follows: they are searched no more, summaries over the message
        are deleted and made anew, and memories with no other source are erased. Its position,
        sender and time stay. For the message's owner, and for services that act for no user.
        Raises ``NotFound`` for others.
        """
        return await self._editor.edit(actor, conversation_id, message_id, content)

    async def _set_paused(
        self, actor: Actor, conversation_id: UUID, action: str, *, paused: bool
    ) -> Conversation:
        async with reading(self._backend, actor, conversation_id, action) as (connection, actor):
            row = await repository.set_paused(connection, conversation_id, paused=paused)
            if row is None:
                raise NotFound("the conversation was erased", field="conversation_id")
            await audit.note(connection, actor, action, [str(conversation_id)])
            return Conversation.model_validate(row)

    async def _note(self, actor: Actor, action: str, ids: Iterable[UUID]) -> None:
        await self._backend.reads.note(actor, action, ((actor.user_id, each) for each in ids))


async def _may_open(connection: AsyncConnection, actor: Actor, conversation_id: UUID) -> bool:
    """Return whether the actor may have an existing conversation by its platform id.

    An agent is in the chat with all who are there, also before they say anything.
    """
    participants = await repository.participants_of(connection, conversation_id)
    return actor.role is not Role.USER or actor.user_id in participants
