"""Delete for good: a memory, a message, or everything of a person."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, Role, may_change
from remembrancer.db.engine import Database
from remembrancer.erasure import citations, locks, repository
from remembrancer.erasure.repository import Counts
from remembrancer.erasure.schemas import Receipt, What
from remembrancer.errors import NotFound
from remembrancer.ids import public_owner
from remembrancer.memories import repository as memories
from remembrancer.memories.rules import check_id

Work = Callable[[AsyncConnection, Actor], Awaitable[tuple[UUID, Counts]]]
"""Deletes; returns whose it was, and how many rows of what."""


class _TakenBackError(Exception):
    """Ends the transaction of a dry run."""


class Erasure:
    """Deletes for good, where ``forget`` only puts aside. Nothing of it can be undone.

    A dry run deletes and takes it back, so its counts are those of the real thing. What may
    not be erased does not exist: ``NotFound``, and a line in the audit log. ``afterwards`` is
    called when something is gone, to drop what this process keeps of it.
    """

    def __init__(self, database: Database, *, afterwards: Callable[[], None] | None = None) -> None:
        self._database = database
        self._afterwards = afterwards

    async def erase_user(
        self, actor: Actor, user_id: UUID, *, dry_run: bool = True, memories_only: bool = False
    ) -> Receipt:
        """Delete everything of a user: what they said, what was made of it, and who they are.

        Summaries over their messages, and memories that rest on those alone, go from other
        people's memory too; what others said stays. With ``memories_only`` the user stays, with
        links, preferences and memberships, and has nothing remembered. Audit lines stay: they
        hold ids. Raises ``NotFound`` for an unknown user, or somebody else.
        """

        async def work(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            person = await locks.user(connection, actor.require_user())
            if person is None:
                raise NotFound("no such user", field="user_id")
            spaces = await locks.belongings(connection, person)
            said = await locks.messages_of(connection, person)
            rows = await repository.erase_user(
                connection, person, profile=not memories_only, space_ids=spaces
            )
            return person, rows + await citations.erase(connection, said)

        what: What = "memories" if memories_only else "user"
        try:
            acting = actor.acting_for(user_id)
        except NotFound:
            await self._refused(actor, what, str(user_id))
            raise
        return await self._erased(acting, what, str(user_id), work, dry_run)

    async def erase_memory(self, actor: Actor, memory_id: str, *, dry_run: bool = True) -> Receipt:
        """Delete a memory with its versions, mentions, associations and vectors.

        For its owner, and shared knowledge for staff.
        """
        check_id(memory_id)

        async def work(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
            row = await memories.find(connection, actor, memory_id)
            if row is not None and may_change(actor, row.owner_id):
                await locks.owner(connection, row.owner_id)
                row = await memories.find(connection, actor, memory_id, lock=True)
            if row is None or not may_change(actor, row.owner_id):
                raise NotFound("no such memory", field="memory_id")
            rows = await repository.erase_memories(connection, [(row.owner_id, row.id)])
            return row.owner_id, rows

        return await self._erased(actor, "memory", memory_id, work, dry_run)

    async def erase_message(
        self, actor: Actor, conversation_id: UUID, message_id: UUID, *, dry_run: bool = True
    ) -> Receipt:
        """Delete a message, the summaries over it, and memories that rest on it alone.

        Whosever those are. What other messages support as well only loses this one as a source.
        Positions of the other messages stay. For the one whose message it is, and for admins.
        """
        work = _erasing(conversation_id, [message_id])
        return await self._erased(actor, "message", str(message_id), work, dry_run)

    async def erase_messages(
        self,
        actor: Actor,
        conversation_id: UUID,
        message_ids: Sequence[UUID],
        *,
        dry_run: bool = True,
    ) -> Receipt:
        """Delete messages that one user has in a conversation, all or none.

        Each as :meth:`erase_message` does.
        """
        work = _erasing(conversation_id, message_ids)
        return await self._erased(actor, "messages", str(conversation_id), work, dry_run)

    async def _erased(
        self, actor: Actor, what: What, target_id: str, work: Work, dry_run: bool
    ) -> Receipt:
        receipt: Receipt | None = None
        try:
            async with self._database.system_for(actor) as (connection, actor):
                owner_id, rows = await work(connection, actor)
                receipt = _receipt(actor, what, owner_id, target_id, rows, dry_run)
                if dry_run:
                    raise _TakenBackError
                await audit.note(connection, actor, f"erase.{what}", [target_id], owner_id=owner_id)
        except _TakenBackError:
            pass
        except NotFound:
            await self._refused(actor, what, target_id)
            raise
        else:
            if self._afterwards is not None:
                self._afterwards()
        assert receipt is not None
        return receipt

    async def _refused(self, actor: Actor, what: What, target_id: str) -> None:
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, f"erase.{what}", [target_id], outcome="refused")


def _erasing(conversation_id: UUID, message_ids: Sequence[UUID]) -> Work:
    """Return what deletes messages that are there, of one owner, whom the actor may erase."""
    wanted = set(message_ids)

    async def work(connection: AsyncConnection, actor: Actor) -> tuple[UUID, Counts]:
        found = await locks.find_messages(connection, conversation_id, list(wanted))
        if _are(actor, found, wanted):
            found = await locks.messages_in(connection, conversation_id, list(wanted))
        if not _are(actor, found, wanted):
            raise NotFound("no such message", field="message_id")
        owner_id = found[0].owner_id
        rows = await repository.erase_messages(connection, owner_id, list(wanted))
        return owner_id, rows + await citations.erase(connection, list(wanted))

    return work


def _are(actor: Actor, found: Sequence[Row[Any]], wanted: set[UUID]) -> bool:
    owner_ids = {row.owner_id for row in found}
    there = {row.id for row in found} == wanted and len(owner_ids) == 1
    return there and all(_may_erase(actor, owner_id) for owner_id in owner_ids)


def _may_erase(actor: Actor, owner_id: UUID) -> bool:
    return actor.role is Role.ADMIN or may_change(actor, owner_id)


def _receipt(
    actor: Actor, what: What, owner_id: UUID, target_id: str, rows: Counts, dry_run: bool
) -> Receipt:
    found = {table: count for table, count in sorted(rows.items()) if count}
    return Receipt(
        what=what,
        user_id=public_owner(owner_id),
        target_id=str(owner_id) if what in {"user", "memories"} else target_id,
        dry_run=dry_run,
        rows=found,
        total=sum(found.values()),
        at=datetime.now(UTC),
        actor_role=actor.role,
        actor_user_id=actor.user_id,
        actor_key_id=actor.key_id,
    )
