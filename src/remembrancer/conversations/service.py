"""Open conversations and read them. Adding messages is in ``appending.py``."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, may_take_part
from remembrancer.backend import Backend
from remembrancer.checks import check_agent, hold_user
from remembrancer.conversations import repository, rules, screening
from remembrancer.conversations.access import entered
from remembrancer.conversations.append import MessageAppender
from remembrancer.conversations.schemas import (
    AppendResult,
    Conversation,
    ConversationCreate,
    Message,
    MessageCreate,
)
from remembrancer.errors import NotFound
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid, public_owner
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.spaces import repository as spaces
from remembrancer.text import check_range, id_from_cursor, to_cursor


class Conversations:
    """Conversations and their messages.

    A conversation belongs to those who take part. Reading one is for its participants;
    recalling a message from it follows the visibility rule of everything else.
    """

    def __init__(self, backend: Backend, appender: MessageAppender) -> None:
        self._backend = backend
        self._appender = appender

    async def open(
        self,
        actor: Actor,
        conversation: ConversationCreate,
        *,
        idempotency_key: str | None = None,
    ) -> Conversation:
        """Open a conversation, or return the one with this platform id and agent.

        Raises ``NotFound`` for an unknown user, agent or space, or a platform id whose
        conversation the user takes no part in.
        """
        conversation = screening.conversation(self._backend.guard, conversation)
        async with (
            self._backend.database.system_for(actor) as (connection, actor),
            once(connection, actor, "conversations.open", idempotency_key, conversation) as answer,
        ):
            if answer.earlier is not None:
                row = await repository.find(connection, UUID(answer.earlier))
                return Conversation.model_validate(row)
            opener = await hold_user(connection, actor)
            await _check_references(connection, opener, conversation)
            values = {"id": new_uuid(), "opened_by": opener, **conversation.model_dump()}
            row, new = await repository.open_or_find(connection, values)
            if new:
                await repository.join(connection, row.id, [opener])
            await check_may_read(connection, actor, row.id)
            if new:
                await audit.note(connection, actor, "conversation.create", [str(row.id)])
            answer.new = str(row.id)
            return Conversation.model_validate(row)

    async def get(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Return a conversation the actor takes part in, or raise ``NotFound``."""
        async with entered(
            self._backend.database, actor, conversation_id, "conversation.read"
        ) as inside:
            connection, actor = inside
            row = await repository.find(connection, conversation_id)
        await self._note(actor, "conversation.read", [str(conversation_id)])
        return Conversation.model_validate(row)

    async def on_platform(
        self, actor: Actor, platform: str, platform_conversation_id: str
    ) -> Conversation | None:
        """Return the conversation of the actor's agent that a platform knows by this id.

        Null if there is none that the actor takes part in.
        """
        async with self._backend.database.system_for(actor) as (connection, actor):
            row = await repository.on_platform(
                connection, platform, platform_conversation_id, actor.agent_id
            )
            if row is not None:
                participants = await repository.participants_of(connection, row.id)
                row = row if may_take_part(actor, participants) else None
        if row is None:
            return None
        await self._note(actor, "conversation.read", [str(row.id)])
        return Conversation.model_validate(row)

    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Conversation]:
        """Return the user's conversations, newest first."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        before = id_from_cursor(cursor)
        async with self._backend.database.transaction(actor) as (connection, actor):
            rows = await repository.page(connection, actor.require_user(), limit, before)
        await self._note(actor, "conversation.list", [str(row.id) for row in rows[:limit]])
        items = [Conversation.model_validate(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].id)) if more else None)

    async def messages(
        self,
        actor: Actor,
        conversation_id: UUID,
        *,
        last: int = rules.WINDOW,
        before: int | None = None,
    ) -> Sequence[Message]:
        """Return the last messages, oldest first; those before a position if given."""
        check_range(last, 1, LARGEST_PAGE, field="last")
        check_range(before or 1, 1, 2_000_000_000, field="before")
        async with entered(
            self._backend.database, actor, conversation_id, "message.read"
        ) as inside:
            connection, actor = inside
            rows = await repository.window(connection, conversation_id, last, before)
        await self._backend.reads.note(
            actor, "message.read", ((row.owner_id, row.id) for row in rows)
        )
        return [_message(row) for row in rows]

    async def position(self, actor: Actor, conversation_id: UUID, message_id: UUID) -> int:
        """Return where in a conversation a message stands, counted from 1, or ``NotFound``."""
        async with entered(
            self._backend.database, actor, conversation_id, "message.read"
        ) as inside:
            connection, _ = inside
            position = await repository.position(connection, conversation_id, message_id)
        if position is None:
            raise NotFound("no such message", field="message_id")
        return position

    async def _note(self, actor: Actor, action: str, ids: Sequence[str]) -> None:
        await self._backend.reads.note(actor, action, ((actor.user_id, one) for one in ids))

    async def pause(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Pause remembering in a conversation the actor takes part in; repeated, it stays so.

        Messages appended while it is paused are kept off the record for good: they can be read
        with the conversation, and are never recalled or summarised. Raises ``NotFound`` unless
        the actor takes part.
        """
        return await self._set_paused(actor, conversation_id, "conversations.pause", paused=True)

    async def resume(self, actor: Actor, conversation_id: UUID) -> Conversation:
        """Resume remembering in a conversation. Raises what :meth:`pause` does."""
        return await self._set_paused(actor, conversation_id, "conversations.resume", paused=False)

    async def _set_paused(
        self, actor: Actor, conversation_id: UUID, action: str, *, paused: bool
    ) -> Conversation:
        async with entered(self._backend.database, actor, conversation_id, action) as (
            connection,
            actor,
        ):
            row = await repository.pause(connection, conversation_id, paused=paused)
            if row is None:
                raise NotFound("the conversation is gone", field="conversation_id")
            await audit.note(connection, actor, action, [str(conversation_id)])
            return Conversation.model_validate(row)

    async def append(
        self,
        actor: Actor,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        *,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Add messages at the end, in their order, all or none.

        Positions stay gap-free whatever runs at the same time. With the same
        ``idempotency_key`` the same request is carried out once, however often it comes.
        """
        return await self._appender.append(
            actor, conversation_id, messages, idempotency_key=idempotency_key
        )


async def check_may_read(connection: AsyncConnection, actor: Actor, conversation_id: UUID) -> None:
    """Raise ``NotFound`` unless the actor may read the conversation."""
    participants = await repository.participants_of(connection, conversation_id)
    if not may_take_part(actor, participants):
        raise NotFound("no such conversation", field="conversation_id")


async def _check_references(
    connection: AsyncConnection, opener: UUID, conversation: ConversationCreate
) -> None:
    await check_agent(connection, conversation.agent_id)
    space_id = conversation.space_id
    if space_id is not None and not await spaces.is_member(connection, space_id, opener):
        raise NotFound("no such space", field="space_id")


def _message(row: Row[Any]) -> Message:
    values = dict(row._mapping)
    return Message.model_validate({**values, "user_id": public_owner(row.owner_id)})
