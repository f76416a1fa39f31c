"""Edit messages: replace their words, and what search and memory have of the old ones."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Placement
from remembrancer.backend import Backend
from remembrancer.conversations import repository, rules, views
from remembrancer.conversations.rows import ConversationRow, MessageRow
from remembrancer.conversations.schemas import (
    AnyMessage,
    EditResult,
    MessageEdit,
    PlatformMessageId,
    parse_message,
)
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import citations
from remembrancer.memories import repository as memories
from remembrancer.search import repository as search
from remembrancer.search.index import SearchDocument, Source
from remembrancer.users import repository as users
from remembrancer.validation import validate

ACTION = "message.edit"

EraseDerived = Callable[[AsyncConnection, UUID, Sequence[MessageRow]], Awaitable[None]]
"""Deletes what rests on messages of a conversation."""


class MessagesChangedError(Exception):
    """Another request changed the messages before they were locked: begin again."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A message and its new words. Without a document they are not recalled."""

    message: MessageRow
    content: str
    document: SearchDocument | None


class Editor:
    """Edits messages; ``erase_derived`` deletes what rests on the old words."""

    def __init__(self, backend: Backend, erase_derived: EraseDerived) -> None:
        self._backend = backend
        self._erase_derived = erase_derived

    async def edit(
        self, actor: Actor, conversation_id: UUID, message_id: AnyMessage, content: str
    ) -> EditResult:
        ref = as_message(message_id)
        change = validate(MessageEdit, content=content)
        rules.check_length(change.content, self._backend.limits.message_characters)
        screened = self._backend.guard.screen(change, ("content",), redact_only=True)
        actor = await self._backend.database.identify(actor)
        while True:
            try:
                message = await self._edit(actor, conversation_id, ref, screened.model.content)
            except MessagesChangedError:
                continue
            except NotFound as error:
                await self._backend.refuse(actor, ACTION, [str(message_id)], error)
            return EditResult(message=views.message(message), guard=screened.findings)

    async def _edit(
        self,
        actor: Actor,
        conversation_id: UUID,
        ref: UUID | PlatformMessageId,
        content: str,
    ) -> MessageRow:
        async with self._backend.database.system_for(actor) as (connection, actor):
            before = await _find(connection, actor, conversation_id, ref)
        document = None
        if before.role in rules.RECALLED and content.strip():
            [document] = await self._backend.search.prepare([content], [before.sender_name])
        async with self._backend.database.system_for(actor) as (connection, actor):
            before = await _find(connection, actor, conversation_id, ref)
            if before.content == content:
                return before
            held = await users.hold(connection, await owners(connection, [before]))
            await lock(connection, conversation_id, [ref], [before])
            edits = [Edit(before, content, document)]
            await self.apply(connection, actor, edits, set(held.values()))
            return await _find(connection, actor, conversation_id, ref)

    async def apply(
        self,
        connection: AsyncConnection,
        actor: Actor,
        edits: Sequence[Edit],
        held: Collection[UUID],
    ) -> None:
        """Replace the words of messages in a locked conversation, everywhere.

        Raises ``MessagesChangedError`` unless ``held`` has everybody with a memory of them.
        """
        messages = [edit.message for edit in edits]
        owner_ids = await owners(connection, messages)
        if not owner_ids <= {SHARED_OWNER, *held}:
            raise MessagesChangedError
        for owner_id in sorted(owner_ids):
            await memories.lock_owner(connection, owner_id)
        await self._erase_derived(connection, messages[0].conversation_id, messages)
        contents = {(edit.message.owner_id, edit.message.id): edit.content for edit in edits}
        await search.erase_sources(connection, list(contents))
        await repository.edit(connection, contents)
        await self._backend.search.store(
            connection,
            [
                (Placement(edit.message.owner_id), _source(edit.message), edit.document)
                for edit in edits
                if edit.document is not None
            ],
        )
        noted: dict[UUID, list[str]] = {}
        for message in messages:
            noted.setdefault(message.owner_id, []).append(str(message.id))
        await audit.note_each(connection, actor, ACTION, noted)


def as_message(value: AnyMessage) -> UUID | PlatformMessageId:
    """Return the id of a message; raise ``InvalidInput`` for what can be none."""
    try:
        return parse_message(value)
    except ValueError as error:
        raise InvalidInput(str(error), field="message_id") from None


async def owners(connection: AsyncConnection, messages: Sequence[MessageRow]) -> set[UUID]:
    """Return the owners of messages and of the memories that cite them, to be held."""
    cited = await citations.owners(connection, [message.id for message in messages])
    return cited | {message.owner_id for message in messages}


async def lock(
    connection: AsyncConnection,
    conversation_id: UUID,
    refs: Collection[UUID | PlatformMessageId],
    messages: Sequence[MessageRow],
) -> ConversationRow:
    """Lock a conversation; raise ``MessagesChangedError`` unless ``refs`` name these messages."""
    conversation = await repository.find(connection, conversation_id, lock=True)
    if conversation is None:
        raise NotFound("the conversation was deleted", field="conversation_id")
    if await repository.find_messages(connection, conversation_id, refs) != list(messages):
        raise MessagesChangedError
    return conversation


async def _find(
    connection: AsyncConnection,
    actor: Actor,
    conversation_id: UUID,
    ref: UUID | PlatformMessageId,
) -> MessageRow:
    rows = await repository.find_messages(connection, conversation_id, [ref])
    if not rows or not rules.may_edit(actor, rows[0].owner_id):
        raise NotFound("no such message", field="message_id")
    return rows[0]


def _source(message: MessageRow) -> Source:
    return Source(
        source_type="message",
        source_id=message.id,
        conversation_id=message.conversation_id,
        at=message.sent_at,
    )
