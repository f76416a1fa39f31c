"""From messages as sent to messages stored: whose they are, where they lie, made searchable."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import STAFF, Actor, Placement, Role, Visibility, may_take_part
from remembrancer.backend import Backend
from remembrancer.conversations import repository, rules, screening, senders
from remembrancer.conversations.access import refused
from remembrancer.conversations.schemas import (
    AppendedMessage,
    AppendResult,
    MessageCreate,
    MessageRole,
)
from remembrancer.conversations.senders import Sender
from remembrancer.errors import NotFound
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.preferences.scopes import scopes
from remembrancer.search.index import SearchDocument, Source
from remembrancer.spaces import repository as spaces
from remembrancer.users import repository as users


@dataclass(frozen=True, slots=True)
class Draft:
    """A message on its way in: its id, whose it is and what search will need."""

    id: UUID
    message: MessageCreate
    owner_id: UUID
    sender_name: str
    sent_at: datetime


AfterAppend = Callable[[AsyncConnection, UUID], Awaitable[None]]
"""What else happens in the transaction that adds messages to a conversation."""


class MessageAppender:
    """Adds messages to conversations; ``afterwards`` runs in the same transaction."""

    def __init__(self, backend: Backend, afterwards: AfterAppend | None = None) -> None:
        self._backend = backend
        self._afterwards = afterwards

    async def append(
        self,
        actor: Actor,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        *,
        idempotency_key: str | None,
    ) -> AppendResult:
        """Store ``messages`` at the end of a conversation; see ``Conversations.append``."""
        limits = self._backend.limits
        rules.check_lengths(messages, batch=limits.batch, characters=limits.message_characters)
        screened = screening.messages(self._backend.guard, messages)
        messages = [one.model for one in screened]
        async with self._backend.database.system_for(actor) as (connection, actor):
            conversation = await _writable(connection, actor, conversation_id)
            if conversation is not None:
                named = await senders.look_up(connection, conversation.platform, messages)
                if named:
                    actor.require(*STAFF)
                drafts = await _drafts(connection, actor, conversation_id, messages, named)
        if conversation is None:
            raise await refused(self._backend.database, actor, "message.append", conversation_id)
        searchable = await self._prepare(drafts)
        request = (conversation_id, messages)
        async with (
            self._backend.database.system_for(actor) as (connection, actor),
            once(connection, actor, "messages.append", idempotency_key, request) as answer,
        ):
            if answer.earlier is not None:
                return AppendResult.model_validate(answer.earlier)
            found = await senders.store(connection, named)
            drafts = [replace(d, owner_id=found.get(d.owner_id, d.owner_id)) for d in drafts]
            now = await users.hold(connection, {draft.owner_id for draft in drafts})
            if any(draft.owner_id not in now for draft in drafts):
                raise NotFound("no such user", field="user_id")
            drafts = [replace(draft, owner_id=now[draft.owner_id]) for draft in drafts]
            appended = await self._store(connection, conversation, drafts, searchable)
            said: dict[UUID, list[str]] = {}
            for draft in drafts:
                said.setdefault(draft.owner_id, []).append(str(draft.id))
            await audit.note_each(connection, actor, "message.append", said)
            appended.guard = [finding for one in screened for finding in one.findings]
            answer.new = appended.model_dump(mode="json")
            return appended

    async def _prepare(self, drafts: Sequence[Draft]) -> dict[UUID, SearchDocument]:
        said = [
            draft
            for draft in drafts
            if draft.message.role in rules.RECALLED and draft.message.content.strip()
        ]
        prepared = await self._backend.search.prepare(
            [draft.message.content for draft in said], [draft.sender_name for draft in said]
        )
        return {draft.id: text for draft, text in zip(said, prepared, strict=True)}

    async def _store(
        self,
        connection: AsyncConnection,
        conversation: Row[Any],
        drafts: Sequence[Draft],
        searchable: dict[UUID, SearchDocument],
    ) -> AppendResult:
        places = await places_of(connection, conversation, {draft.owner_id for draft in drafts})
        reserved = await repository.reserve(connection, conversation.id, len(drafts))
        if reserved is None:
            raise NotFound("the conversation is gone", field="conversation_id")
        before, paused = reserved
        placed = list(enumerate(drafts, before + 1))
        await repository.join(connection, conversation.id, places)
        await repository.add_messages(
            connection,
            [
                _row(conversation, draft, places[draft.owner_id], at) | {"off_record": paused}
                for at, draft in placed
            ],
        )
        await self._backend.search.store(
            connection,
            [
                (places[draft.owner_id], _source(conversation, draft, at), searchable[draft.id])
                for at, draft in placed
                if draft.id in searchable and not paused
            ],
        )
        if self._afterwards is not None:
            await self._afterwards(connection, conversation.id)
        return AppendResult(
            conversation_id=conversation.id,
            messages=[AppendedMessage(id=draft.id, position=at) for at, draft in placed],
            message_count=before + len(drafts),
            off_record=paused,
        )


async def _writable(
    connection: AsyncConnection, actor: Actor, conversation_id: UUID
) -> Row[Any] | None:
    if actor.role is Role.USER:
        participants = await repository.participants_of(connection, conversation_id)
        if not may_take_part(actor, participants):
            return None
    return await repository.find(connection, conversation_id)


async def _drafts(
    connection: AsyncConnection,
    actor: Actor,
    conversation_id: UUID,
    messages: Sequence[MessageCreate],
    named: Mapping[str, Sender],
) -> list[Draft]:
    by_platform_id = {key: sender.user_id for key, sender in named.items()}
    owners = rules.owners(
        messages,
        [m.user_id or by_platform_id.get(m.platform_user_id or "") for m in messages],
        acting_for=actor.user_id,
        last_sender=await repository.last_sender(connection, conversation_id),
    )
    if actor.role is Role.USER and set(owners) != {actor.user_id}:
        raise NotFound("no such user", field="user_id")
    names = await repository.names(connection, owners)
    names |= {sender.user_id: sender.name for sender in named.values()}
    if not set(owners) <= names.keys():
        raise NotFound("no such user", field="user_id")
    now = datetime.now(UTC)
    return [
        Draft(
            id=new_uuid(),
            message=message,
            owner_id=owner,
            sender_name=message.sender_name or _default_name(message, names[owner]),
            sent_at=message.sent_at or now,
        )
        for message, owner in zip(messages, owners, strict=True)
    ]


def _default_name(message: MessageCreate, owner_name: str) -> str:
    return owner_name if message.role is MessageRole.USER else message.role.value


async def places_of(
    connection: AsyncConnection, conversation: Row[Any], owners: Collection[UUID]
) -> dict[UUID, Placement]:
    """Return where what each owner has of a conversation lies: messages, and their summaries.

    Who has left its space still talks to those who take part, but shares nothing there.
    """
    agent_id = conversation.agent_id
    shown = Visibility(conversation.visibility)
    members = await spaces.roles(connection, conversation.space_id) if conversation.space_id else {}
    in_effect = await scopes(connection, agent_id, sorted(owners)) if agent_id else {}
    return {
        owner: rules.placement(
            owner,
            agent_id=agent_id,
            scope=in_effect.get(owner),
            space_id=conversation.space_id,
            visibility=shown if owner in members else Visibility.PRIVATE,
        )
        for owner in sorted(owners)
    }


def _row(conversation: Row[Any], draft: Draft, place: Placement, position: int) -> dict[str, Any]:
    message = draft.message
    return {
        "owner_id": place.owner_id,
        "agent_id": place.agent_id,
        "space_id": place.space_id,
        "visibility": place.visibility,
        "id": draft.id,
        "conversation_id": conversation.id,
        "position": position,
        "role": message.role,
        "sender_name": draft.sender_name,
        "content": message.content,
        "platform": conversation.platform,
        "platform_message_id": message.platform_message_id,
        "metadata": message.metadata,
        "sent_at": draft.sent_at,
    }


def _source(conversation: Row[Any], draft: Draft, position: int) -> Source:
    return Source(
        source_type="message",
        source_id=draft.id,
        conversation_id=conversation.id,
        position=position,
        at=draft.sent_at,
    )
