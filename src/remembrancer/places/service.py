"""Remember places, note their mentions, and list them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NoReturn

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit, checks
from remembrancer.access import Actor, may_change
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.trips import together
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.idempotency import once
from remembrancer.ids import MemoryKey, public_owner
from remembrancer.memories import mentions
from remembrancer.memories import repository as memories
from remembrancer.memories.drafts import mention_row
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.schemas import Memory, Status
from remembrancer.memories.service import Memories
from remembrancer.paging import Page, PageMethod
from remembrancer.places import repository, rules
from remembrancer.places.rows import PlaceMentionRow
from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult, PlaceUpdate
from remembrancer.users import repository as users

ACTION: Final = "memory.mention"
LATEST: Final = 100
"""Mentions that come with a place."""


@retries_deadlocks
class Places:
    """Places of users: memories with a place id, unique for a user and a namespace.

    They are recalled, updated, pinned, forgotten, merged and erased like other memories.
    """

    def __init__(self, backend: Backend, memories: Memories) -> None:
        self._backend = backend
        self._memories = memories

    async def add(
        self,
        actor: Actor,
        place: PlaceCreate,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> PlaceResult:
        """Remember a place of the actor's user; an existing place gets a mention.

        An existing place keeps its name and notes: update its memory to change them.
        """
        screened = self._backend.guard.screen(place, ("place_name", "notes"))
        if screened.refusal:
            raise screened.refusal
        try:
            result = await self._memories.remember(
                actor,
                rules.as_memory(screened.model),
                source=source,
                idempotency_key=idempotency_key,
            )
        except InvalidInput as error:
            raise rules.place_error(error, place) from error
        owner_id = result.memory.user_id
        assert owner_id is not None
        async with self._backend.database.transaction(actor) as (connection, actor):
            rows = await memories.by_ids(connection, owner_id, [result.memory.id])
            [stored] = await _places(connection, list(rows.values()))
        return PlaceResult(
            outcome=result.outcome,
            place=stored,
            scope=result.scope,
            scope_source=result.scope_source,
            guard=[*screened.findings, *result.guard],
        )

    async def mention(
        self,
        actor: Actor,
        place_id: str,
        mention: PlaceMention,
        *,
        source: str = "manual",
        idempotency_key: str | None = None,
    ) -> Place:
        """Add a mention to a place. Raises ``NotFound`` for an unknown place."""
        rules.check_place_id(place_id)
        async with (
            self._backend.database.transaction(actor) as (connection, actor),
            once(connection, ACTION, idempotency_key, (place_id, mention)) as answer,
        ):
            row = await _lock(connection, actor, place_id)
            if row is not None and answer.earlier is None:
                async with together(connection) as trip:
                    cited = memories.cited(trip, actor, [mention])
                memories.check_sources(cited, actor, [mention])
                await memories.check_not_paused(connection, [mention.conversation_id])
                mention_source = (mention.conversation_id, mention.message_id, datetime.now(UTC))
                values = mention_row(
                    actor, row.owner_id, row.id, source, mention_source, platform=mention.platform
                )
                async with together(connection) as trip:
                    mentions.add(trip, row.owner_id, [values], [row.id])
                await audit.note(connection, actor, ACTION, [row.id], owner_id=row.owner_id)
                row = await repository.find(connection, actor, place_id)
            if row is not None:
                answer.new = {"mentioned": True}
                [place] = await _places(connection, [row])
                return place
        await self._refuse(actor, ACTION)

    async def update(
        self, actor: Actor, memory_id: str, changes: PlaceUpdate, *, source: str = "manual"
    ) -> Memory:
        """Change the name and notes of a place, as a new version of its memory.

        Raises ``NotFound`` unless the memory is a place, and ``VersionConflict`` if the expected
        version is not current.
        """
        memory = await self._memories.get(actor, memory_id)
        if memory.place_id is None:
            raise NotFound("no such place", field="memory_id")
        try:
            return await self._memories.update(
                actor, memory_id, rules.as_changes(changes), source=source
            )
        except InvalidInput as error:
            raise rules.place_error(error, changes) from error

    async def get(self, actor: Actor, place_id: str) -> Place:
        """Return a place by its place id; the actor's own if several are visible."""
        rules.check_place_id(place_id)
        async with self._backend.database.transaction(actor) as (connection, actor):
            row = await repository.find(connection, actor, place_id)
            places = await _places(connection, [row] if row is not None else [])
        if row is None:
            await self._refuse(actor, "memory.read")
        await self._backend.reads.note(actor, "memory.read", [(row.owner_id, row.id)])
        return places[0]

    @PageMethod
    async def list(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Place]:
        """Return a page of the places that the actor sees, the oldest first."""
        async with self._backend.database.transaction(actor) as (connection, actor):
            await checks.find_user(connection, actor)
            page = await repository.page(connection, actor, limit, cursor)
            places = await _places(connection, page.items)
        await self._backend.reads.note(
            actor, "memory.list", ((place.user_id, place.memory_id) for place in places)
        )
        return Page(items=places, next_cursor=page.next_cursor)

    async def _refuse(self, actor: Actor, action: str) -> NoReturn:
        # The log never has place ids: users choose them.
        await self._backend.refuse(actor, action, [], NotFound("no such place", field="place_id"))


async def _lock(connection: AsyncConnection, actor: Actor, place_id: str) -> MemoryRow | None:
    if actor.user_id is not None:
        await users.hold(connection, [actor.user_id])
    row = await repository.find(connection, actor, place_id)
    if row is None or not may_change(actor, row.owner_id):
        return None
    await memories.lock_owner(connection, row.owner_id)
    return await repository.find(connection, actor, place_id, lock=True)


async def _places(connection: AsyncConnection, rows: Sequence[MemoryRow]) -> list[Place]:
    keys = [(row.owner_id, row.id) for row in rows]
    latest: dict[MemoryKey, list[PlaceMentionRow]] = {key: [] for key in keys}
    for mention in await repository.mentions(connection, keys, LATEST):
        latest[mention.owner_id, mention.memory_id].append(mention)
    return [
        Place(
            place_id=row.place_id or "",
            place_name=row.subject or "",
            notes=rules.notes_of(row),
            mentioned_in=rules.by_conversation(latest[row.owner_id, row.id]),
            mention_count=row.mention_count,
            added_at=row.created_at,
            memory_id=row.id,
            user_id=public_owner(row.owner_id),
            agent_id=row.agent_id,
            status=Status(row.status),
            quoted=row.quoted,
        )
        for row in rows
    ]
