"""Append messages: guard, senders, search documents, placements, storage, summary job.

A message that the conversation has by its platform's id is not appended again: see ``edits``.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import STAFF, Actor, Placement, Role
from remembrancer.backend import Backend
from remembrancer.conversations import edits, repository, rules, senders
from remembrancer.conversations.access import no_such_conversation
from remembrancer.conversations.edits import Edit, Editor, MessagesChangedError
from remembrancer.conversations.placements import placements
from remembrancer.conversations.rows import AppendedRow, AppendTarget, MessageRow
from remembrancer.conversations.schemas import (
    AppendedMessage,
    AppendResult,
    MessageCreate,
    MessageRole,
    PlatformMessageId,
)
from remembrancer.conversations.senders import Sender
from remembrancer.db.engine import pipeline
from remembrancer.errors import Conflict, InvalidInput, NotFound, UserMerged
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
    """A message with its index in the request, its id, owner, sender's name and time."""

    index: int
    id: UUID
    message: MessageCreate
    owner_id: UUID
    sender_name: str
    sent_at: datetime
    known_at: datetime | None = None
    """When it became known: now, or for imported history when it was said."""

    @property
    def key(self) -> PlatformMessageId | UUID:
        """The platform's id, which makes it the same message when it is sent again."""
        platform_id = self.message.platform_message_id
        return self.id if platform_id is None else PlatformMessageId(platform_id)


class Appender:
    """Appends messages to conversations; ``after_append`` queues a summary if one is due."""

    def __init__(self, backend: Backend, after_append: AfterAppend, editor: Editor) -> None:
        self._backend = backend
        self._after_append = after_append
        self._editor = editor

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
        if is_turn and target.agent_id and actor.agent_id not in {None, target.agent_id}:
            raise InvalidInput("is not the agent of this conversation", field="agent_id")
        named = senders.platform_senders(target, messages)
        if named:
            actor.require(*STAFF)
        drafts = _drafts(actor, target, messages, named)
        if is_history:
            drafts = [replace(draft, known_at=draft.sent_at) for draft in drafts]
        documents = await self._documents(drafts)
        request = (conversation_id, messages)
        while True:
            try:
                async with (
                    self._backend.database.system_for(actor) as (connection, actor),
                    once(connection, actor, "messages.append", idempotency_key, request) as answer,
                ):
                    if answer.earlier is not None:
                        return AppendResult.model_validate(answer.earlier)
                    reader = actor.user_id if is_turn else None
                    result = await self._store(
                        connection, actor, target, drafts, named, documents, reader
                    )
                    result.guard = [finding for screen in screened for finding in screen.findings]
                    answer.new = result.model_dump(mode="json")
                    return result
            except MessagesChangedError:
                continue

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
        named: Mapping[str, Sender],
        documents: Mapping[UUID, SearchDocument],
        reader: UUID | None,
    ) -> AppendResult:
        keys = {draft.key for draft in drafts if isinstance(draft.key, PlatformMessageId)}
        known = await repository.find_messages(connection, target.id, keys)
        others = await edits.owners(connection, known)
        drafts, held = await _hold_owners(connection, drafts, named, others)
        rules.check_senders(
            [draft.message for draft in drafts],
            [draft.owner_id for draft in drafts],
            target.linked,
            reader=reader,
        )
        _check_same(actor, drafts, known)
        where = await placements(connection, target, {draft.owner_id for draft in drafts})
        count = 0
        if keys:
            count = (await edits.lock(connection, target.id, keys, known)).message_count
        latest = {draft.key: draft for draft in drafts}
        by_key = {PlatformMessageId(row.platform_message_id): row for row in known}
        changes = [
            Edit(row, latest[key].message.content, documents.get(latest[key].id))
            for key, row in by_key.items()
            if row.content != latest[key].message.content
        ]
        if changes:
            await self._editor.apply(connection, actor, changes, held)
        new = [draft for key, draft in latest.items() if key not in by_key]
        added = await self._insert(connection, actor, target, new, where, documents)
        edited = {change.message.id for change in changes}
        answers: dict[UUID | PlatformMessageId, AppendedMessage] = {
            draft.key: AppendedMessage(id=draft.id, position=added[draft.id].position)
            for draft in new
        }
        for key, row in by_key.items():
            outcome = "edited" if row.id in edited else "repeated"
            answers[key] = AppendedMessage(id=row.id, position=row.position, outcome=outcome)
        first = next(iter(added.values()), None) or known[0]
        return AppendResult(
            conversation_id=target.id,
            messages=[answers[draft.key] for draft in drafts],
            message_count=max([count, *(row.position for row in added.values())]),
            off_record=first.off_record,
        )

    async def _insert(
        self,
        connection: AsyncConnection,
        actor: Actor,
        target: AppendTarget,
        drafts: Sequence[Draft],
        where: Mapping[UUID, Placement],
        documents: Mapping[UUID, SearchDocument],
    ) -> dict[UUID, AppendedRow]:
        """Insert new messages at the end; return their rows by id."""
        if not drafts:
            return {}
        rows = await repository.append(
            connection, target.id, [_row(draft, where[draft.owner_id]) for draft in drafts]
        )
        if not rows:
            raise NotFound("the conversation was deleted", field="conversation_id")
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
        return by_id


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
            index=index,
            id=new_uuid(),
            message=message,
            owner_id=owner,
            sender_name=message.sender_name or _default_name(message, names[owner]),
            sent_at=message.sent_at or now,
        )
        for index, (message, owner) in enumerate(zip(messages, owners, strict=True))
    ]


def _default_name(message: MessageCreate, owner_name: str) -> str:
    return owner_name if message.role is MessageRole.USER else message.role.value


async def _hold_owners(
    connection: AsyncConnection,
    drafts: Sequence[Draft],
    named: Mapping[str, Sender],
    others: Collection[UUID],
) -> tuple[list[Draft], set[UUID]]:
    """Create strangers and hold all owners, and others.

    Returns the drafts with the owners of now, and the ids that are held.
    """
    stored = await senders.store(connection, named)
    owners = {draft.owner_id: stored.get(draft.owner_id, draft.owner_id) for draft in drafts}
    survivors = await users.hold(connection, {*owners.values(), *others})
    if not set(owners.values()) <= survivors.keys():
        raise NotFound("no such user", field="user_id")
    held = [replace(draft, owner_id=survivors[owners[draft.owner_id]]) for draft in drafts]
    return held, set(survivors.values())


def _check_same(actor: Actor, drafts: Sequence[Draft], known: Sequence[MessageRow]) -> None:
    """Raise ``Conflict`` where messages with one id of the platform have different senders."""
    senders_of = {row.platform_message_id: (row.role, row.owner_id) for row in known}
    for draft in drafts:
        if (platform_id := draft.message.platform_message_id) is None:
            continue
        sender = (draft.message.role.value, draft.owner_id)
        role, owner_id = senders_of.setdefault(platform_id, sender)
        # An answer names no sender: for a service it belongs to whoever spoke last.
        is_answer = actor.role in STAFF and role != MessageRole.USER
        if role != sender[0] or not (is_answer or owner_id == draft.owner_id):
            raise Conflict(
                "is the id of another sender's message in this conversation",
                field=f"messages.{draft.index}.platform_message_id",
            )


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
