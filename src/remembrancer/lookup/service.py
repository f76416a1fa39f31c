"""Look up a user's memory: ask it, see what is new in it, search it."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor, Placement, Viewer, can_see, viewer_binds
from remembrancer.backend import Backend
from remembrancer.db.engine import Trip, together
from remembrancer.db.sql import statement
from remembrancer.embeddings.base import Baseline, Embedder, baseline_of
from remembrancer.errors import InvalidInput
from remembrancer.ids import SHARED_OWNER, MemoryKey
from remembrancer.lookup.rows import (
    AccessRow,
    AgentCountRow,
    DigestRow,
    HubRow,
    OriginRow,
    TalkRow,
)
from remembrancer.lookup.schemas import (
    Access,
    AgentCount,
    Answer,
    Answers,
    Digest,
    Entry,
    Hub,
    Origin,
    Story,
    Talk,
)
from remembrancer.memories import filters as memory_filters
from remembrancer.memories import repository as memories
from remembrancer.memories import views
from remembrancer.memories.schemas import Memory, MemoryFilter, MemoryPage, Status
from remembrancer.paging import LARGEST_PAGE
from remembrancer.preferences.schemas import AgentMemoryConfig
from remembrancer.preferences.service import Preferences
from remembrancer.recall.schemas import MIN_RELEVANCE, Hit, RecallQuery
from remembrancer.recall.service import Recall

NEAR: Final = 0.6
"""Nearness of meaning from which something is listed that has none of the words: 0 is that of
unrelated texts, 1 that of a question and its answer. Also the share of the nearest one's cosine."""
WEEK: Final = timedelta(days=7)
_MOST_LISTED: Final = 30
_MOST_RECALLED: Final = 50
_sql = partial(statement, "remembrancer.lookup", "lookup")


class Lookup:
    """A user's memory, as they look it up. Looking counts as no use of a memory."""

    def __init__(
        self, backend: Backend, embedder: Embedder, recall: Recall, preferences: Preferences
    ) -> None:
        self._embedder = embedder
        self._baseline: Baseline | None = None
        self._database = backend.database
        self._reads = backend.reads
        self._recall = recall
        self._preferences = preferences

    async def ask(self, actor: Actor, question: str) -> Answers:
        """Return what is recalled for a question, with its origin and who may read it."""
        query = RecallQuery(query=question, min_relevance=MIN_RELEVANCE)
        hits = await self._near(actor, query)
        if not hits:
            return Answers(items=[])
        keys = [(hit.user_id or SHARED_OWNER, hit.id) for hit in hits if hit.type == "memory"]
        talk_ids = [hit.conversation_id for hit in hits if hit.conversation_id is not None]

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[OriginRow], Sequence[TalkRow]]:
            binds = {"user_id": actor.user_id, "ids": talk_ids}
            return _read_origins(trip, actor, keys), trip.add(_sql("talks"), binds, TalkRow)

        async with self._database.transaction_with(actor, plan) as (_, actor, (rows, talk_rows)):
            origins = _origins(rows)
            talks = {row.id: Talk(id=row.id, title=row.title, platform=row.platform)
                     for row in talk_rows}  # fmt: skip
        configs = await self._preferences.scopes(actor, actor.require_user(), limit=LARGEST_PAGE)
        return Answers(items=[_answer(hit, origins, talks, configs.items) for hit in hits])

    async def story(self, actor: Actor, memory: Memory) -> Story:
        """Return why a memory is known, which agents may read it, and which did within a week."""
        owner_id = memory.user_id or SHARED_OWNER
        since = datetime.now(UTC) - WEEK

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[OriginRow], Sequence[AccessRow]]:
            binds = {"owner_id": owner_id, "id": memory.id, "since": since}
            origins = _read_origins(trip, actor, [(owner_id, memory.id)])
            return origins, trip.add(_sql("readings"), binds, AccessRow)

        async with self._database.transaction_with(actor, plan) as (_, actor, (rows, readings)):
            origin = _origins(rows).get((owner_id, memory.id))
        configs = await self._preferences.scopes(actor, actor.require_user(), limit=LARGEST_PAGE)
        readers = _readers(memory, configs.items)
        return Story(
            origin=origin,
            readers=readers,
            all_read=len(readers) == len(configs.items),
            readings=[Access(agent=row.agent, at=row.at) for row in readings],
        )

    async def digest(self, actor: Actor, zone: str) -> Digest:
        """Return what is new in the user's memory since the same day of last week, and what leaves.

        ``zone`` says when a day begins. At most 30 memories are listed of each; the counts are of
        all.
        """
        now = datetime.now(UTC)
        today = now.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
        binds = {"today": today, "since": today - WEEK + timedelta(days=1), "soon": now + WEEK}

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[DigestRow], Sequence[AgentCountRow]]:
            values = binds | {"user_id": actor.require_user(), "count": _MOST_LISTED}
            listed = trip.add(_sql("digest"), values, DigestRow)
            return listed, trip.add(_sql("counts"), values, AgentCountRow)

        async with self._database.transaction_with(actor, plan) as (connection, actor, planned):
            rows, counts = planned
            entries = await _entries(connection, actor, rows)
        await self._reads.note(
            actor, "memory.list", ((actor.require_user(), row.id) for row in rows)
        )
        return Digest(
            counts=[AgentCount(agent=c.agent, today=c.today, week=c.week) for c in counts],
            **entries,
        )

    async def associated(self, actor: Actor) -> Sequence[Hub]:
        """Return the user's memories with the most associations, at most 30."""

        def plan(actor: Actor, trip: Trip) -> Sequence[HubRow]:
            binds = {"user_id": actor.require_user(), "count": _MOST_LISTED}
            return trip.add(_sql("associated"), binds, HubRow)

        async with self._database.transaction_with(actor, plan) as (connection, actor, rows):
            owner_id = actor.require_user()
            found = await memories.by_ids(connection, owner_id, [row.id for row in rows])
        await self._reads.note(actor, "memory.list", ((owner_id, row.id) for row in rows))
        return [Hub(memory=views.memory(found[row.id]), count=row.count) for row in rows]

    async def search(
        self, actor: Actor, filters: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> MemoryPage:
        """Return a page of the memories that match ``filters`` and their text.

        First those that recall finds for the text, then those that have it in them. At most 200.
        """
        ranks: dict[MemoryKey, int] = {}
        if filters.text and filters.statuses == [Status.ACTIVE]:
            query = RecallQuery(
                query=filters.text,
                sources=["memory"],
                limit=_MOST_RECALLED,
                kinds=filters.kinds,
                categories=filters.categories,
                space_id=filters.space_id,
            )
            hits = await self._near(actor, query)
            ranks = {(hit.user_id or SHARED_OWNER, hit.id): n for n, hit in enumerate(hits)}
        async with self._database.transaction(actor) as (connection, actor):
            found = await memory_filters.search(connection, actor, filters, ranks, LARGEST_PAGE)
            found.sort(key=lambda m: ranks.get((m.user_id or SHARED_OWNER, m.id), len(ranks)))
        start = _start(cursor)
        page = found[start : start + limit]
        await self._reads.note(actor, "memory.list", ((m.user_id, m.id) for m in page))
        more = start + limit < len(found)
        return MemoryPage(
            items=page, total=len(found), next_cursor=str(start + limit) if more else None
        )

    async def _near(self, actor: Actor, query: RecallQuery) -> list[Hit]:
        """Return the hits that have to do with a query, rather than being the best there is."""
        if self._baseline is None:
            self._baseline = await baseline_of(self._embedder)
        unrelated, alike = self._baseline.unrelated, self._baseline.alike
        hits = (await self._recall.recall(actor, query, counts=False)).hits
        meanings = [dense.raw if (dense := hit.reasons.arms.get("dense")) else 0.0 for hit in hits]
        near = max(unrelated + NEAR * (alike - unrelated), NEAR * max(meanings, default=0.0))
        return [
            hit
            for hit, meaning in zip(hits, meanings, strict=True)
            if hit.reasons.words or hit.reasons.exact or meaning >= near
        ]


def _start(cursor: str | None) -> int:
    if cursor is None or (cursor.isascii() and cursor.isdigit() and len(cursor) < 5):
        return int(cursor or 0)
    raise InvalidInput("is not the cursor of a page of this list", field="cursor")


def _read_origins(trip: Trip, actor: Actor, keys: Collection[MemoryKey]) -> Sequence[OriginRow]:
    binds = {"owners": [owner for owner, _ in keys], "ids": [id_ for _, id_ in keys]}
    return trip.add(_sql("origins"), binds | viewer_binds(actor), OriginRow)


def _origins(rows: Sequence[OriginRow]) -> dict[MemoryKey, Origin]:
    return {
        (row.owner_id, row.memory_id): Origin(
            at=row.at,
            source=row.source,
            agent=row.agent,
            talk=None
            if row.conversation_id is None
            else Talk(id=row.conversation_id, title=row.title or "", platform=row.platform),
            message_id=row.message_id,
            words=row.words,
            sender=row.sender,
            role=row.role,
        )
        for row in rows
    }


async def _entries(
    connection: AsyncConnection, actor: Actor, rows: Sequence[DigestRow]
) -> dict[str, list[Entry]]:
    owner_id = actor.require_user()
    keys = [(owner_id, row.id) for row in rows]
    async with together(connection) as trip:
        memory_rows = memories.read(trip, owner_id, [row.id for row in rows])
        origin_rows = _read_origins(trip, actor, keys)
    named = await views.named(connection, actor, [views.memory(row) for row in memory_rows])
    by_id, origins = {memory.id: memory for memory in named}, _origins(origin_rows)
    entries: dict[str, list[Entry]] = {"new": [], "expiring": [], "forgotten": []}
    for row in rows:
        entry = Entry(memory=by_id[row.id], at=row.at, origin=origins.get((owner_id, row.id)))
        entries[row.part].append(entry)
    return entries


def _readers(item: Hit | Memory, configs: Sequence[AgentMemoryConfig]) -> list[str]:
    """Return the names of the agents that may read an item, by the access rule."""
    placement = Placement(
        item.user_id or SHARED_OWNER, item.agent_id, item.space_id, item.visibility
    )
    # A space without a name is one that the user has left.
    spaces = frozenset([item.space_id] if item.space_id and item.space_name else [])
    return [
        c.agent.name
        for c in configs
        if can_see(Viewer(c.user_id, c.agent.id, c.effective_scope, spaces), placement)
    ]


def _answer(
    hit: Hit,
    origins: Mapping[MemoryKey, Origin],
    talks: Mapping[UUID, Talk],
    configs: Sequence[AgentMemoryConfig],
) -> Answer:
    readers = _readers(hit, configs)
    origin = origins.get((hit.user_id or SHARED_OWNER, hit.id)) if hit.type == "memory" else None
    return Answer(
        hit=hit,
        origin=origin,
        talk=origin.talk
        if origin
        else talks.get(hit.conversation_id)
        if hit.conversation_id
        else None,
        readers=readers,
        all_read=len(readers) == len(configs),
    )
