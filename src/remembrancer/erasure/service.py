"""Delete for good: a memory, messages, or a user with everything of theirs."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.conversations.access import no_such_conversation
from remembrancer.conversations.edits import as_message
from remembrancer.conversations.repository import find_messages, participants_of
from remembrancer.conversations.rows import MessageRow
from remembrancer.conversations.rules import may_edit
from remembrancer.conversations.schemas import AnyMessage, PlatformMessageId
from remembrancer.db.retries import retries_deadlocks
from remembrancer.erasure import deletions, locks
from remembrancer.erasure.locks import MessageKey
from remembrancer.erasure.schemas import Receipt, What
from remembrancer.errors import Forbidden, HiddenMemory, NotFound
from remembrancer.ids import public_owner
from remembrancer.memories import repository as memories
from remembrancer.memories.rules import check_id, external_id
from remembrancer.search.repository import Counts
from remembrancer.user_names import AnyUser

Deletion = Callable[[AsyncConnection, Actor], Awaitable[tuple[UUID, Counts]]]
"""Deletes rows; returns their owner, and the number of rows by table."""


@retries_deadlocks
class Erasure:
    """Deletes for good, where ``forget`` only hides. It cannot be undone.

    A dry run deletes and rolls back, so its counts are exact. If the actor may not erase the
    target, it does not exist for them: ``NotFound``, and a line in the audit log.
    ``clear_caches`` is called after an erasure, to drop what this process has cached.
    """

    def __init__(self, backend: Backend, *, clear_caches: Callable[[], None] | None = None) -> None:
        self._backend = backend
        self._clear_caches = clear_caches

    async def erase_user(
        self, actor: Actor, user_id: AnyUser, *, dry_run: bool = True, memories_only: bool = False
    ) -> Receipt:
        """Delete a user with their messages, memories, summaries, links and preferences.

        Summaries over their messages, and memories that cite only these, are deleted for other
        users too; messages of others stay. With ``memories_only`` the user stays, with links,
        preferences and memberships, but without memories and messages. Audit lines stay: they
        hold ids. Raises ``NotFound`` for an unknown user, or somebody else.
        """

        async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            owner_id = await locks.lock_user(connection, actor.require_user())
            if owner_id is None:
                raise NotFound("no such user", field="user_id")
            return owner_id, await deletions.erase_user(
                connection,
                owner_id,
                profile=not memories_only,
                space_ids=await locks.lock_belongings(connection, owner_id),
                message_ids=await locks.messages_of(connection, owner_id),
            )

        what: What = "memories" if memories_only else "user"
        user_id = await self._backend.database.user_id(user_id)
        try:
            acting = actor.acting_for(user_id)
        except NotFound as error:
            await self._backend.refuse(actor, f"erase.{what}", [str(user_id)], error)
        return await self._erase(acting, what, str(user_id), delete, dry_run)

    async def erase_memory(self, actor: Actor, memory_id: str, *, dry_run: bool = True) -> Receipt:
        """Delete a memory with its versions, mentions, associations and vectors.

        Messages that left recall when it was forgotten are deleted too, but for those that a
        memory that is not forgotten cites: they stay out of recall. For its owner; shared
        knowledge for admins and services that act for no user. Raises ``NotFound``, and
        ``Forbidden`` for shared knowledge.
        """
        check_id(memory_id)
        if external_id(memory_id) is not None:
            # The log and the receipt have ids of ours.
            async with self._backend.transaction(actor, "erase.memory") as (connection, acting):
                row = await memories.get(connection, acting, memory_id, memories.ANY_STATUS)
            memory_id = row.id

        async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            row = await memories.get(connection, actor, memory_id, memories.ANY_STATUS)
            memories.check_changeable(actor, row)
            messages = await locks.lock_withheld(connection, row.owner_id, [row.id])
            await locks.lock_owner(connection, row.owner_id)
            row = await memories.get(connection, actor, memory_id, memories.ANY_STATUS, lock=True)
            memories.check_changeable(actor, row)
            counts = await deletions.erase_memories(connection, [(row.owner_id, row.id)])
            if messages:
                counts += await deletions.erase_withheld(connection, row.owner_id, sorted(messages))
            return row.owner_id, counts

        return await self._erase(actor, "memory", memory_id, delete, dry_run)

    async def delete_message(
        self,
        actor: Actor,
        conversation_id: UUID,
        message_id: AnyMessage,
        *,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete a message, by its id or ``platform:`` and the platform's id, for good.

        Memories that cite it alone are deleted too, of any owner; those with another source only
        lose this one. Summaries over it are made anew. Positions of the other messages stay. For
        the owner of the message, admins, and services that act for no user.
        """
        ref = as_message(message_id)
        async with self._backend.database.system_for(actor) as (connection, acting):
            found = await find_messages(connection, conversation_id, [ref])
        # The log of a refusal does not say what the id of a platform stands for.
        target_id = str(found[0].id if _may_erase(acting, found) else message_id)
        delete = _message_deletion(conversation_id, [ref])
        return await self._erase(actor, "message", target_id, delete, dry_run)

    async def delete_messages(
        self,
        actor: Actor,
        conversation_id: UUID,
        message_ids: Sequence[AnyMessage],
        *,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete messages of one user in a conversation, all or none.

        Each as :meth:`delete_message` does.
        """
        refs = [as_message(message_id) for message_id in message_ids]
        delete = _message_deletion(conversation_id, refs)
        return await self._erase(actor, "messages", str(conversation_id), delete, dry_run)

    async def delete_conversation(
        self, actor: Actor, conversation_id: UUID, *, dry_run: bool = False
    ) -> Receipt:
        """Delete a conversation with its messages and summaries, for good.

        Memories that cite only its messages are deleted too; others stay, and no longer name it.
        For its only participant, admins, and services that act for no user. Raises ``Forbidden``
        where others take part as well.
        """

        async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            _check_may_delete(actor, await participants_of(connection, conversation_id))
            messages, owners = await locks.lock_conversation(connection, conversation_id)
            people = await participants_of(connection, conversation_id)
            _check_may_delete(actor, people)
            counts = await deletions.erase_conversation(
                connection, conversation_id, messages, owners
            )
            first, *others = sorted(people)
            noted = {other: [str(conversation_id)] for other in others}
            await audit.note_each(connection, actor, "erase.conversation", noted)
            return first, counts

        return await self._erase(actor, "conversation", str(conversation_id), delete, dry_run)

    async def _erase(
        self, actor: Actor, what: What, target_id: str, delete: Deletion, dry_run: bool
    ) -> Receipt:
        action = f"erase.{what}"
        database = self._backend.database
        try:
            async with database.system_for(actor, dry_run=dry_run) as (connection, actor):
                owner_id, counts = await delete(connection, actor)
                await audit.note(connection, actor, action, [target_id], owner_id=owner_id)
        except HiddenMemory as hidden:
            await self._backend.refuse(actor, action, [target_id], hidden.error)
        except (Forbidden, NotFound) as error:
            await self._backend.refuse(actor, action, [target_id], error)
        if self._clear_caches is not None and not dry_run:
            self._clear_caches()
        return _receipt(actor, what, owner_id, target_id, counts, dry_run)


def _message_deletion(conversation_id: UUID, refs: Sequence[UUID | PlatformMessageId]) -> Deletion:
    """Return the deletion of messages of one owner, whom the actor may erase."""

    async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
        found = await find_messages(connection, conversation_id, refs)
        ids = {message.id for message in found}
        keys: Sequence[MessageKey] = []
        if len(ids) == len(set(refs)) and _may_erase(actor, found):
            keys = await locks.lock_messages(connection, [conversation_id], list(ids))
        if {key.id for key in keys} != ids or not _may_erase(actor, keys):
            raise NotFound("no such message", field="message_id")
        positions = {key.id: key.position for key in keys}
        owner_id = keys[0].owner_id
        return owner_id, await deletions.erase_messages(
            connection, conversation_id, owner_id, positions
        )

    return delete


def _may_erase(actor: Actor, messages: Sequence[MessageKey | MessageRow]) -> bool:
    owner_ids = {message.owner_id for message in messages}
    return len(owner_ids) == 1 and may_edit(actor, owner_ids.pop())


def _check_may_delete(actor: Actor, people: frozenset[UUID]) -> None:
    is_staff = actor.role is Role.ADMIN or actor.user_id is None
    if not people or not (is_staff or actor.user_id in people):
        raise no_such_conversation()
    if not is_staff and len(people) > 1:
        reason = "others take part in the conversation; delete your own messages instead"
        raise Forbidden(reason, field="conversation_id")


def _receipt(
    actor: Actor, what: What, owner_id: UUID, target_id: str, counts: Counts, dry_run: bool
) -> Receipt:
    rows = {table: count for table, count in sorted(counts.items()) if count}
    return Receipt(
        what=what,
        user_id=public_owner(owner_id),
        target_id=str(owner_id) if what in {"user", "memories"} else target_id,
        dry_run=dry_run,
        rows=rows,
        total=sum(rows.values()),
        at=datetime.now(UTC),
        actor_role=actor.role,
        actor_user_id=actor.user_id,
        actor_key_id=actor.key_id,
    )
