"""Append messages: guard, senders, search documents, placements, storage, summary job.

A message that the conversation has by its platform's id is not appended again: see ``edits``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import STAFF, Actor, Placement, Role
from remembrancer.backend import Backend
from remembrancer.conversations import edits, repository, rules, senders
from remembrancer.conversations.access import no_such_conversation
from remembrancer.conversations.edits import Edit, Editor, MessagesChangedError
from remembrancer.conversations.rows import AppendedRow, AppendTarget, MessageRow
from remembrancer.conversations.schemas import (
    AppendedMessage,
    AppendResult,
    MessageCreate,
    MessageRole,
    PlatformMessageId,
)
from remembrancer.conversations.senders import Sender
from remembrancer.db.trips import Trip, together
from remembrancer.errors import Conflict, InvalidInput, NotFound, UserMerged
from remembrancer.guard.schemas import GuardFinding
from remembrancer.idempotency import Claim
from remembrancer.ids import new_uuid
from remembrancer.preferences import repository as preferences
from remembrancer.preferences.scopes import in_effect
from remembrancer.search.index import SearchDocument, Source
from remembrancer.spaces import repository as spaces
from remembrancer.usage.counts import counted
from remembrancer.usage.schemas import UsageKind
from remembrancer.user_names import UserName
from remembrancer.users import repository as users
from remembrancer.users.rows import HeldUser

ACTION = "message.append"
SCREENED = ("content", "sender_name", "metadata")

AfterAppend = Callable[[Trip, UUID], None]
"""Adds what follows an append to a conversation to its last trip."""


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

    @counted(UsageKind.WRITE)
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
        claim = Claim("messages.append", idempotency_key, (conversation_id, messages))
        append = _Append(
            target,
            drafts,
            named,
            documents,
            actor.user_id if is_turn else None,
            [finding for screen in screened for finding in screen.findings],
        )
        # Nearly always nothing changes meanwhile: then one trip locks, checks and writes.
        store = self._store_new
        is_known = all(sender.is_stored for sender in named.values())
        if target.has_repeated or target.has_merged or not is_known:
            store = self._store
        while True:
            try:
                return await store(actor, append, claim)
            except MessagesChangedError:
                store = self._store

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
            platform_message_ids=[m.platform_message_id for m in messages if m.platform_message_id],
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

    async def _store_new(self, actor: Actor, append: "_Append", claim: Claim) -> AppendResult:
        """Store messages of known senders which the conversation has not, in one round trip.

        Raises ``MessagesChangedError`` where that is not so.
        """

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[HeldUser], _Insertion]:
            claim.add(trip)
            held = users.read_held(trip, append.owner_ids)
            return held, self._insert(trip, actor, append, append.drafts)

        database = self._backend.database
        async with (
            database.transaction_with(actor, plan, system=True) as (connection, actor, planned),
            claim.answer(connection) as answer,
        ):
            if answer.earlier is not None:
                # What was inserted after the claim.
                await connection.rollback()
                return AppendResult.model_validate(answer.earlier)
            held, insertion = planned
            if {row.id for row in held if row.current_id == row.id} != append.owner_ids:
                raise MessagesChangedError
            _check(actor, append, append.drafts, ())
            result = _result(append, insertion(), append.drafts)
            answer.new = result.model_dump(mode="json")
            return result

    async def _store(self, actor: Actor, append: "_Append", claim: Claim) -> AppendResult:
        """Store messages, also of strangers, and edit those that the conversation has."""
        target = append.target
        async with (
            self._backend.database.system_for(actor) as (connection, actor),
            claim.once(connection) as answer,
        ):
            if answer.earlier is not None:
                return AppendResult.model_validate(answer.earlier)
            keys = {d.key for d in append.drafts if isinstance(d.key, PlatformMessageId)}
            known = await repository.find_messages(connection, target.id, keys)
            others = await edits.owners(connection, known)
            drafts, held = await _hold_owners(connection, append.drafts, append.named, others)
            _check(actor, append, drafts, known)
            count = 0
            if keys:
                count = (await edits.lock(connection, target.id, keys, known)).message_count
            latest = {draft.key: draft for draft in drafts}
            by_key = {PlatformMessageId(row.platform_message_id): row for row in known}
            changes = [
                Edit(row, latest[key].message.content, append.documents.get(latest[key].id))
                for key, row in by_key.items()
                if row.content != latest[key].message.content
            ]
            if changes:
                await self._editor.apply(connection, actor, changes, held)
            async with together(connection) as trip:
                insertion = self._insert(
                    trip, actor, append, [d for d in drafts if d.key not in by_key]
                )
            edited = {change.message.id for change in changes}
            result = _result(append, insertion(), drafts, known, edited, count)
            answer.new = result.model_dump(mode="json")
            return result

    def _insert(
        self, trip: Trip, actor: Actor, append: "_Append", drafts: Sequence[Draft]
    ) -> "_Insertion":
        """Let a trip insert new messages at the end; return what checks and returns their rows."""
        new = list({draft.key: draft for draft in drafts}.values())
        if not new:
            return tuple
        target, documents = append.target, append.documents
        if target.space_id is not None:
            spaces.hold_members(trip, target.space_id, {draft.owner_id for draft in new})
        owner_ids = {draft.owner_id for draft in new}
        agent_ids = [] if target.agent_id is None else [target.agent_id]
        facts = preferences.read_facts(trip, agent_ids, owner_ids) if agent_ids else []
        rows = repository.append(trip, target, [_row(draft) for draft in new])
        check_model = self._backend.search.add(
            trip,
            [
                (
                    Placement(draft.owner_id),
                    Source(
                        source_type="message",
                        source_id=draft.id,
                        conversation_id=target.id,
                        at=draft.sent_at,
                        recorded_at=draft.known_at,
                    ),
                    documents[draft.id],
                )
                for draft in new
                if draft.id in documents
            ],
        )
        by_owner: dict[UUID, list[str]] = {}
        for draft in new:
            by_owner.setdefault(draft.owner_id, []).append(str(draft.id))
        self._after_append(trip, target.id)
        audit.add(trip, actor, ACTION, by_owner)

        def insertion() -> Sequence[AppendedRow]:
            if len(rows) < len(new) and any(isinstance(d.key, PlatformMessageId) for d in new):
                raise MessagesChangedError
            if not rows:
                raise NotFound("the conversation was deleted", field="conversation_id")
            check_model()
            for row in facts:
                # The statement has decided; this warns of the deprecated toggle.
                in_effect(row, row.user_id)
            return rows

        return insertion


_Insertion = Callable[[], Sequence[AppendedRow]]


@dataclass(frozen=True, slots=True)
class _Append:
    """What one request appends to a conversation."""

    target: AppendTarget
    drafts: Sequence[Draft]
    named: Mapping[str, Sender]
    documents: Mapping[UUID, SearchDocument]
    reader: UUID | None
    """The user of the request, for a turn: whose messages they must be."""
    guard: Sequence[GuardFinding]

    @property
    def owner_ids(self) -> set[UUID]:
        return {draft.owner_id for draft in self.drafts}


def _check(
    actor: Actor, append: _Append, drafts: Sequence[Draft], known: Sequence[MessageRow]
) -> None:
    rules.check_senders(
        [draft.message for draft in drafts],
        [draft.owner_id for draft in drafts],
        append.target.linked,
        reader=append.reader,
    )
    _check_same(actor, drafts, known)


def _result(
    append: _Append,
    added: Sequence[AppendedRow],
    drafts: Sequence[Draft],
    known: Sequence[MessageRow] = (),
    edited: Collection[UUID] = (),
    count: int = 0,
) -> AppendResult:
    """Return the answer; ``count`` are the messages of the conversation before."""
    rows = {row.id: row for row in added}
    answers: dict[UUID | PlatformMessageId, AppendedMessage] = {
        draft.key: AppendedMessage(id=draft.id, position=rows[draft.id].position)
        for draft in drafts
        if draft.id in rows
    }
    for row in known:
        outcome: Literal["edited", "repeated"] = "edited" if row.id in edited else "repeated"
        answers[PlatformMessageId(row.platform_message_id)] = AppendedMessage(
            id=row.id, position=row.position, outcome=outcome
        )
    return AppendResult(
        conversation_id=append.target.id,
        messages=[answers[draft.key] for draft in drafts],
        message_count=max([count, *(row.position for row in added)]),
        off_record=all(row.off_record for row in (added or known)),
        guard=list(append.guard),
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


def _row(draft: Draft) -> dict[str, object]:
    message = draft.message
    return {
        "owner_id": draft.owner_id,
        "id": draft.id,
        "role": message.role,
        "sender_name": draft.sender_name,
        "content": message.content,
        "platform_message_id": message.platform_message_id,
        "metadata": message.metadata,
        "sent_at": draft.sent_at,
    }
