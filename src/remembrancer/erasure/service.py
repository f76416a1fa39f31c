"""Delete for good: a memory, messages, or a user with everything of theirs."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role, may_change
from remembrancer.backend import Backend
from remembrancer.erasure import deletions, locks
from remembrancer.erasure.locks import MessageKey
from remembrancer.erasure.schemas import Receipt, What
from remembrancer.errors import HiddenMemory, NotFound
from remembrancer.ids import public_owner
from remembrancer.memories import repository as memories
from remembrancer.memories.rules import check_id
from remembrancer.search.repository import Counts
from remembrancer.user_names import AnyUser

Deletion = Callable[[AsyncConnection, Actor], Awaitable[tuple[UUID, Counts]]]
"""Deletes rows; returns their owner, and the number of rows by table."""


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

        async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            row = await memories.get(connection, actor, memory_id, memories.ANY_STATUS)
            memories.check_changeable(actor, row)
            messages = await locks.lock_withheld(connection, row.owner_id, row.id)
            await locks.lock_owner(connection, row.owner_id)
            row = await memories.get(connection, actor, memory_id, memories.ANY_STATUS, lock=True)
            memories.check_changeable(actor, row)
            counts = await deletions.erase_memories(connection, [(row.owner_id, row.id)])
            if messages:
                counts += await deletions.erase_withheld(connection, row.owner_id, sorted(messages))
            return row.owner_id, counts

        return await self._erase(actor, "memory", memory_id, delete, dry_run)

    async def erase_message(
        self, actor: Actor, conversation_id: UUID, message_id: UUID, *, dry_run: bool = True
    ) -> Receipt:
        """Delete a message, the summaries over it, and memories that cite it alone, of any owner.

        A memory with another source only loses this one. Positions of the other messages stay.
        For the owner of the message, and for admins.
        """
        delete = _message_deletion(conversation_id, [message_id])
        return await self._erase(actor, "message", str(message_id), delete, dry_run)

    async def erase_messages(
        self,
        actor: Actor,
        conversation_id: UUID,
        message_ids: Sequence[UUID],
        *,
        dry_run: bool = True,
    ) -> Receipt:
        """Delete messages of one user in a conversation, all or none.

        Each as :meth:`erase_message` does.
        """
        delete = _message_deletion(conversation_id, message_ids)
        return await self._erase(actor, "messages", str(conversation_id), delete, dry_run)

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
        except NotFound as error:
            await self._backend.refuse(actor, action, [target_id], error)
        if self._clear_caches is not None and not dry_run:
            self._clear_caches()
        return _receipt(actor, what, owner_id, target_id, counts, dry_run)


def _message_deletion(conversation_id: UUID, message_ids: Sequence[UUID]) -> Deletion:
    """Return the deletion of messages of one owner, whom the actor may erase."""
    ids = set(message_ids)

    async def delete(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
        keys = await locks.find_messages(connection, [conversation_id], list(ids))
        if _may_erase(actor, keys, ids):
            keys = await locks.lock_messages(connection, [conversation_id], list(ids))
        if not _may_erase(actor, keys, ids):
            raise NotFound("no such message", field="message_id")
        owner_id = keys[0].owner_id
        return owner_id, await deletions.erase_messages(connection, owner_id, list(ids))

    return delete


def _may_erase(actor: Actor, keys: Sequence[MessageKey], ids: set[UUID]) -> bool:
    owner_ids = {key.owner_id for key in keys}
    if {key.id for key in keys} != ids or len(owner_ids) != 1:
        return False
    return actor.role is Role.ADMIN or may_change(actor, owner_ids.pop())


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
