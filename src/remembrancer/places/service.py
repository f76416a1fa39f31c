"""Remember places, note where they come up, and list them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor, may_change
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.guard.guard import Guard
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid, public_owner
from remembrancer.memories import repository as memories
from remembrancer.memories import screening
from remembrancer.memories.pausing import check_not_paused
from remembrancer.memories.schemas import Memory
from remembrancer.memories.service import Memories
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.places import repository, rules
from remembrancer.places.schemas import (
    Place,
    PlaceCreate,
    PlaceMention,
    PlaceResult,
    PlaceUpdate,
)
from remembrancer.text import Instant, check_range, from_cursor, to_cursor
from remembrancer.users import repository as users

ACTION: Final = "memory.mention"
LATEST: Final = 100
"""Mentions that come with a place."""
_INSTANT: TypeAdapter[Any] = TypeAdapter(Instant)


class Places:
    """The places of everybody, each seen by whom it may be seen.

    A place is a memory, so it is recalled, updated, pinned, forgotten, merged and erased as one.
    What is added here is its place id, of which a user has one in each namespace.
    """

    def __init__(self, database: Database, memories: Memories, guard: Guard, reads: Reads) -> None:
        self._database = database
        self._memories = memories
        self._guard = guard
        self._reads = reads

    async def add(
        self,
        actor: Actor,
        place: PlaceCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> PlaceResult:
        """Remember a place of the actor's user; one that is known gains a mention.

        Its name and notes stay as they were then: an update of its memory changes them.
        """
        screened = self._guard.screen(place, ("place_name", "notes"))
        if screened.refusal:
            raise screened.refusal
        try:
            written = await self._memories.remember(
                actor,
                rules.as_memory(screened.model),
                source=source,
                idempotency_key=idempotency_key,
            )
        except InvalidInput as error:
            raise rules.in_its_words(error, place) from error
        owner_id = written.memory.user_id
        assert owner_id is not None
        async with self._database.transaction(actor) as (connection, actor):
            [kept] = (await memories.by_ids(connection, owner_id, [written.memory.id])).values()
            [told] = await _told(connection, [kept])
        return PlaceResult(
            outcome=written.outcome,
            place=told,
            scope=written.scope,
            scope_source=written.scope_source,
            guard=[*screened.findings, *written.guard],
        )

    async def mention(
        self,
        actor: Actor,
        place_id: str,
        where: PlaceMention,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> Place:
        """Note that a place came up; raise ``NotFound`` for one that is not known.

        Every call is a mention, in the same message too.
        """
        rules.check_place_id(place_id)
        async with (
            self._database.transaction(actor) as (connection, actor),
            once(connection, actor, ACTION, idempotency_key, (place_id, where)) as answer,
        ):
            row = await self._held(connection, actor, place_id)
            if row is not None and answer.earlier is None:
                await check_not_paused(connection, [where.conversation_id])
                said = _mention_row(actor, row, where, source)
                await memories.add_mentions(connection, row.owner_id, [said], [row.id])
                await audit.note(connection, actor, ACTION, [row.id], owner_id=row.owner_id)
                row = await repository.find(connection, actor, place_id)
            if row is not None:
                answer.new = {"mentioned": True}
                [told] = await _told(connection, [row])
                return told
        raise await self._refused(actor, ACTION)

    async def update(
        self, actor: Actor, memory_id: str, changes: PlaceUpdate, *, source: str = "manual"
    ) -> Memory:
        """Name a place anew, with other notes or none: a new version of the memory it is.

        Raises ``NotFound`` for a memory that is no place, ``VersionConflict`` where the expected
        version is not current.
        """
        before = await self._memories.get(actor, memory_id)
        if before.place_id is None:
            raise NotFound("no such place", field="memory_id")
        try:
            return await self._memories.update(
                actor, memory_id, rules.as_changes(changes), source=source
            )
        except InvalidInput as error:
            raise rules.in_its_words(error, changes) from error

    async def get(self, actor: Actor, place_id: str) -> Place:
        """Return a place by its place id; their own if the actor sees several."""
        rules.check_place_id(place_id)
        async with self._database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, place_id)
            told = await _told(connection, [row] if row is not None else [])
        if row is None:
            raise await self._refused(actor, "memory.read")
        await self._reads.note(actor, "memory.read", [(row.owner_id, row.id)])
        return told[0]

    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Place]:
        """Return a page of the places the actor sees, the oldest first."""
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        after = None if cursor is None else _position(cursor)
        async with self._database.transaction(actor) as (connection, actor):
            user_id = actor.require_user()
            if await users.find(connection, user_id) is None:
                raise NotFound("no such user", field="user_id")
            rows = await repository.page(connection, actor, limit, after)
            told = await _told(connection, rows[:limit])
        await self._reads.note(actor, "memory.list", ((p.user_id, p.memory_id) for p in told))
        more = len(rows) > limit
        return Page(items=told, next_cursor=_cursor(rows[limit - 1]) if more else None)

    async def _held(
        self, connection: AsyncConnection, actor: Actor, place_id: str
    ) -> Row[Any] | None:
        """Return a place that the actor may change, with its owner and itself locked."""
        if actor.user_id is not None:
            await users.hold(connection, [actor.user_id])
        row = await repository.find(connection, actor, place_id)
        if row is None or not may_change(actor, row.owner_id):
            return None
        await memories.lock_owner(connection, row.owner_id)
        return await repository.find(connection, actor, place_id, lock=True)

    async def _refused(self, actor: Actor, action: str) -> NotFound:
        # A place id is what somebody called it: the log holds ids of ours alone.
        async with self._database.transaction(actor) as (connection, actor):
            await audit.note(connection, actor, action, [], outcome="refused")
        return NotFound("no such place", field="place_id")


async def _told(connection: AsyncConnection, rows: Sequence[Row[Any]]) -> list[Place]:
    keys = [(row.owner_id, row.id) for row in rows]
    said: dict[tuple[UUID, str], list[Row[Any]]] = {key: [] for key in keys}
    for mention in await repository.mentions(connection, keys, LATEST):
        said[mention.owner_id, mention.place].append(mention)
    return [
        Place(
            place_id=row.place_id,
            place_name=row.subject,
            notes=rules.notes_of(row),
            mentioned_in=rules.by_conversation(said[row.owner_id, row.id]),
            mention_count=row.mention_count,
            added_at=row.created_at,
            memory_id=row.id,
            user_id=public_owner(row.owner_id),
            agent_id=row.agent_id,
            status=row.status,
            quoted=screening.is_quoted(row),
        )
        for row in rows
    ]


def _mention_row(actor: Actor, place: Row[Any], where: PlaceMention, source: str) -> dict[str, Any]:
    return {
        "owner_id": place.owner_id,
        "memory_id": place.id,
        "id": new_uuid(),
        "wording": None,
        "agent_id": actor.agent_id,
        "source": source,
        "mentioned_at": datetime.now(UTC),
        **where.model_dump(),
    }


def _cursor(row: Row[Any]) -> str:
    return to_cursor("places", row.created_at.isoformat(), str(row.owner_id), row.id)


def _position(cursor: str) -> Sequence[Any]:
    named, at, owner_id, memory_id = from_cursor(cursor, 4)
    try:
        if named != "places":
            raise ValueError(named)
        return [_INSTANT.validate_strings(at), UUID(owner_id), memory_id]
    except ValueError:
        raise InvalidInput("is not a cursor from this list", field="cursor") from None
