"""Append messages: guard, senders, search documents, placements, storage, summary job."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import STAFF, Actor, Placement, Role
from remembrancer.backend import Backend
from remembrancer.conversations import repository, rules, senders
from remembrancer.conversations.access import no_such_conversation
from remembrancer.conversations.placements import placements
from remembrancer.conversations.rows import AppendTarget
from remembrancer.conversations.schemas import (
    AppendedMessage,
    AppendResult,
    MessageCreate,
    MessageRole,
)
from remembrancer.conversations.senders import Sender
from remembrancer.db.engine import pipeline
from remembrancer.errors import NotFound, UserMerged
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.search.index import SearchDocument, Source
from remembrancer.user_names import UserName
from remembrancer.users import repository as users

ACTION = "message.append"
SCREENED = ("content", "sender_name", "metadata")

AfterAppend = Callable[[AsyncConnection, UUID], Awaitable[None]]
"""Runs in the transaction that appends to a conversation, and returns nothing."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message with its id, owner, sender's name and time."""

    id: UUID
    message: MessageCreate
    owner_id: UUID
    sender_name: str
    sent_at: datetime
    known_at: datetime | None = None
    """When it became known: now, or for imported history when it was said."""


class Appender:
    """Appends messages to conversations; ``after_append`` queues a summary if one is due."""

    def __init__(self, backend: Backend, after_append: AfterAppend) -> None:
        self._backend = backend
        self._after_append = after_append

    async def append(
        self,
        actor: Actor,
        conversation_id: UUID,
        messages: Sequence[MessageCreate],
        *,
        idempotency_key: str | None,
        is_turn: bool = False,
        is_history: bool = False,
    ) -> AppendResult:
        limits = self._backend.limits
        rules.check_lengths(messages, batch=limits.batch, characters=limits.message_characters)
        screened = [
            self._backend.guard.screen(
                message, SCREENED, redact_only=True, prefix=f"messages.{index}."
            )
            for index, message in enumerate(messages)
        ]
        actor = await self._backend.database.identify(actor)
        messages = await self._with_ids([result.model for result in screened])
        actor, target = await self._target(actor, conversation_id, messages)
        named = senders.platform_senders(target, messages)
        if named:
            actor.require(*STAFF)
        drafts = _drafts(actor, target, messages, named)
        if is_history:
            drafts = [replace(draft, known_at=draft.sent_at) for draft in drafts]
        documents = await self._documents(drafts)
        async with (
            self._backend.database.system_for(actor) as (connection, actor),
            once(
                connection, actor, "messages.append", idempotency_key, (conversation_id, messages)
            ) as answer,
        ):
            if answer.earlier is not None:
                return AppendResult.model_validate(answer.earlier)
            drafts = await _hold_owners(connection, drafts, named)
            rules.check_senders(
                [draft.message for draft in drafts],
                [draft.owner_id for draft in drafts],
                target.linked,
                reader=actor.user_id if is_turn else None,
            )
            result = await self._store(connection, actor, target, drafts, documents)
            result.guard = [finding for screen in screened for finding in screen.findings]
            answer.new = result.model_dump(mode="json")
            return result

    async def _with_ids(self, messages: Sequence[MessageCreate]) -> list[MessageCreate]:
        """Return messages with ids for the names of their users."""
        ids = await self._backend.database.user_ids(m.user_id for m in messages if m.user_id)
        return [
            message.model_copy(update={"user_id": ids[message.user_id]})
            if isinstance(message.user_id, UserName)
            else message
            for message in messages
        ]

    async def _target(
        self, actor: Actor, conversation_id: UUID, messages: Sequence[MessageCreate]
    ) -> tuple[Actor, AppendTarget]:
        query = repository.append_target(
            conversation_id,
            actor.user_id,
            user_ids=[m.user_id for m in messages if isinstance(m.user_id, UUID)],
            platform_user_ids=[m.platform_user_id for m in messages if m.platform_user_id],
        )
        try:
            [rows] = await self._backend.database.one_round_trip(actor, query, system=True)
        except UserMerged as merged:
            return await self._target(actor.now(merged.survivor), conversation_id, messages)
        target: AppendTarget | None = rows[0] if rows else None
        if target is None or (actor.role is Role.USER and not target.takes_part):
            error = no_such_conversation()
            await self._backend.refuse(actor, ACTION, [str(conversation_id)], error)
        return actor, target

    async def _documents(self, drafts: Sequence[Draft]) -> dict[UUID, SearchDocument]:
        recalled = [
            draft
            for draft in drafts
            if draft.message.role in rules.RECALLED and draft.message.content.strip()
        ]
        documents = await self._backend.search.prepare(
            [draft.message.content for draft in recalled],
            [draft.sender_name for draft in recalled],
        )
        return {draft.id: doc for draft, doc in zip(recalled, documents, strict=True)}

    async def _store(
        self,
        connection: AsyncConnection,
        actor: Actor,
        target: AppendTarget,
        drafts: Sequence[Draft],
        documents: Mapping[UUID, SearchDocument],
    ) -> AppendResult:
        where = await placements(connection, target, {draft.owner_id for draft in drafts})
        rows = await repository.append(
            connection, target.id, [_row(draft, where[draft.owner_id]) for draft in drafts]
        )
        if not rows:
            raise NotFound("the conversation was erased", field="conversation_id")
        by_id = {row.id: row for row in rows}
        await self._backend.search.store(
            connection,
            [
                (
                    where[draft.owner_id],
                    Source(
                        source_type="message",
                        source_id=draft.id,
                        conversation_id=target.id,
                        position=by_id[draft.id].position,
                        at=draft.sent_at,
                        recorded_at=draft.known_at,
                    ),
                    documents[draft.id],
                )
                for draft in drafts
                if draft.id in documents and not by_id[draft.id].off_record
            ],
        )
        by_owner: dict[UUID, list[str]] = {}
        for draft in drafts:
            by_owner.setdefault(draft.owner_id, []).append(str(draft.id))
        async with pipeline(connection):
            await self._after_append(connection, target.id)
            await audit.note_each(connection, actor, ACTION, by_owner)
        return AppendResult(
            conversation_id=target.id,
            messages=[
                AppendedMessage(id=draft.id, position=by_id[draft.id].position) for draft in drafts
            ],
            message_count=max(row.position for row in rows),
            off_record=rows[0].off_record,
        )


def _drafts(
    actor: Actor,
    target: AppendTarget,
    messages: Sequence[MessageCreate],
    named: Mapping[str, Sender],
) -> list[Draft]:
    by_platform_id = {key: sender.user_id for key, sender in named.items()}
    owners = rules.owners(
        messages,
        [
            m.user_id
            if isinstance(m.user_id, UUID)
            else by_platform_id.get(m.platform_user_id or "")
            for m in messages
        ],
        acting_for=actor.user_id,
        last_sender=target.last_sender,
    )
    if actor.role is Role.USER and set(owners) != {actor.user_id}:
        raise NotFound("no such user", field="user_id")
    names = {UUID(user_id): name for user_id, name in target.names.items()}
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


async def _hold_owners(
    connection: AsyncConnection, drafts: Sequence[Draft], named: Mapping[str, Sender]
) -> list[Draft]:
    """Create strangers, hold all owners, and return the drafts with the owners of now."""
    stored = await senders.store(connection, named)
    owners = {draft.owner_id: stored.get(draft.owner_id, draft.owner_id) for draft in drafts}
    survivors = await users.hold(connection, set(owners.values()))
    if not set(owners.values()) <= survivors.keys():
        raise NotFound("no such user", field="user_id")
    return [replace(draft, owner_id=survivors[owners[draft.owner_id]]) for draft in drafts]


def _row(draft: Draft, placement: Placement) -> dict[str, object]:
    message = draft.message
    return {
        **asdict(placement),
        "id": draft.id,
        "role": message.role,
        "sender_name": draft.sender_name,
        "content": message.content,
        "platform_message_id": message.platform_message_id,
        "metadata": message.metadata,
        "sent_at": draft.sent_at,
    }
