"""Look up a user's memory: ask it, see what is new in it, search it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import groupby
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import (
    Actor,
    Placement,
    Scope,
    Viewer,
    can_see,
    scope_facts,
    viewer_binds,
)
from remembrancer.associations.service import association_of
from remembrancer.backend import Backend
from remembrancer.db.replica import may_use_replica
from remembrancer.db.retries import retries_deadlocks
from remembrancer.db.sql import statement
from remembrancer.db.trips import Trip, together
from remembrancer.embeddings.base import Baseline, Embedder, baseline_of
from remembrancer.errors import InvalidInput
from remembrancer.ids import SHARED_OWNER, MemoryKey, public_owner
from remembrancer.lookup import rules
from remembrancer.lookup.rows import (
    AccessRow,
    AgentCountRow,
    AgentRow,
    DayRow,
    DigestRow,
    EdgeRow,
    OriginRow,
    TalkRow,
    TimelineRow,
)
from remembrancer.lookup.schemas import (
    Access,
    AgentCount,
    Answer,
    Answers,
    Digest,
    Entry,
    Graph,
    GraphNode,
    Origin,
    Story,
    Talk,
    Timeline,
    TimelineEntry,
    TimelinePart,
)
from remembrancer.memories import filters as memory_filters
from remembrancer.memories import repository as memories
from remembrancer.memories import views
from remembrancer.memories.schemas import Category, Memory, MemoryFilter, MemoryPage, Status
from remembrancer.paging import LARGEST_PAGE
from remembrancer.preferences.scopes import in_effect
from remembrancer.recall.schemas import MIN_RELEVANCE, Hit, RecallQuery
from remembrancer.recall.service import Recall
from remembrancer.text import check_range

NEAR: Final = 0.6
"""Nearness of meaning from which something is listed that has none of the words: 0 is that of
unrelated texts, 1 that of a question and its answer. Also the share of the nearest one's cosine."""
WEEK: Final = timedelta(days=7)
MOST_NODES: Final = 120
"""Memories in a picture of the graph: more is hard to read."""
_MOST_EDGES: Final = 1000
_EARLIEST: Final = date(1970, 1, 1)
_PARTS: Final = ("known", "learnt", "changed", "forgotten")
_MOST_LISTED: Final = 30
_MOST_RECALLED: Final = 50
_sql = partial(
    statement, "remembrancer.lookup", "lookup", facts=lambda ids: scope_facts(*ids.split())
)


@retries_deadlocks
class Lookup:
    """A user's memory, as they look it up. Looking counts as no use of a memory."""

    def __init__(self, backend: Backend, embedder: Embedder, recall: Recall) -> None:
        self._embedder = embedder
        self._baseline: Baseline | None = None
        self._database = backend.database
        self._reads = backend.reads
        self._recall = recall

    async def ask(self, actor: Actor, question: str) -> Answers:
        """Return what is recalled for a question, with its origin and who may read it."""
        query = RecallQuery(query=question, min_relevance=MIN_RELEVANCE)
        hits = await self._near(actor, query)
        if not hits:
            return Answers(items=[])
        keys = [(hit.user_id or SHARED_OWNER, hit.id) for hit in hits if hit.type == "memory"]
        talk_ids = [hit.conversation_id for hit in hits if hit.conversation_id is not None]

        def plan(
            actor: Actor, trip: Trip
        ) -> tuple[Sequence[OriginRow], Sequence[TalkRow], Sequence[AgentRow]]:
            binds = {"user_id": actor.user_id, "ids": talk_ids}
            talks = trip.add(_sql("talks"), binds, TalkRow)
            return _read_origins(trip, actor, keys), talks, _read_agents(trip, actor)

        async with self._database.transaction_with(actor, plan) as (connection, actor, planned):
            rows, talk_rows, agent_rows = planned
            agents = await _in_scope(connection, actor, agent_rows)
            origins = _origins(rows)
            talks = {row.id: Talk(id=row.id, title=row.title, platform=row.platform)
                     for row in talk_rows}  # fmt: skip
        return Answers(items=[_answer(hit, origins, talks, agents) for hit in hits])

    async def story(self, actor: Actor, memory: Memory) -> Story:
        """Return why a memory is known, which agents may read it, and which did within a week."""
        owner_id = memory.user_id or SHARED_OWNER
        since = datetime.now(UTC) - WEEK

        def plan(
            actor: Actor, trip: Trip
        ) -> tuple[Sequence[OriginRow], Sequence[AccessRow], Sequence[AgentRow]]:
            binds = {"owner_id": owner_id, "id": memory.id, "since": since}
            origins = _read_origins(trip, actor, [(owner_id, memory.id)])
            readings = trip.add(_sql("readings"), binds, AccessRow)
            return origins, readings, _read_agents(trip, actor)

        async with self._database.transaction_with(actor, plan) as (connection, actor, planned):
            rows, readings, agent_rows = planned
            agents = await _in_scope(connection, actor, agent_rows)
            origin = _origins(rows).get((owner_id, memory.id))
        readers = _readers(memory, agents)
        return Story(
            origin=origin,
            readers=readers,
            all_read=len(readers) == len(agents),
            readings=[Access(agent=row.agent, at=row.at) for row in readings],
        )

    @may_use_replica
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

    @may_use_replica
    async def graph(
        self, actor: Actor, text: str | None = None, *, limit: int = MOST_NODES
    ) -> Graph:
        """Return the user's memories that have associations, and these, the strongest first.

        With a text, the associations that have it at an end. At most ``limit`` memories, those that
        belong together best, of the 1,000 strongest associations.
        """

        def plan(actor: Actor, trip: Trip) -> Sequence[EdgeRow]:
            actor.require_user()
            binds = {"text": text, "count": _MOST_EDGES, **viewer_binds(actor)}
            return trip.add(_sql("graph"), binds, EdgeRow)

        async with self._database.transaction_with(actor, plan) as (_, actor, rows):
            pass
        edges = rules.closest_edges(rows, limit)
        nodes: dict[MemoryKey, GraphNode] = {}
        for row in edges:
            _add_node(
                nodes, (row.owner_id, row.memory_id), row.category, row.content, row.importance
            )
            target = row.target_category, row.target_content, row.target_importance
            _add_node(nodes, (row.target_owner_id, row.target_id), *target)
        await self._reads.note(actor, "association.read", nodes)
        return Graph(
            nodes=list(nodes.values()),
            edges=[association_of(row) for row in edges],
            total=rows[0].total if rows else 0,
        )

    @may_use_replica
    async def timeline(
        self, actor: Actor, zone: str, as_of: date | None = None, *, limit: int = 50
    ) -> Timeline:
        """Return what was known of the user at the end of a day, and what changed since.

        ``zone`` says when a day ends. ``as_of`` is today without one, and not later than today.
        At most ``limit`` memories are listed of each part, from 1 to 200; the counts are of all.
        What was erased is in nothing.
        """
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        today = datetime.now(ZoneInfo(zone)).date()
        day = min(max(as_of or today, _EARLIEST), today)
        end = datetime.combine(day + timedelta(days=1), time(), ZoneInfo(zone))

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[TimelineRow], Sequence[DayRow]]:
            binds = {"user_id": actor.require_user(), "zone": zone, "at": end, "count": limit}
            listed = trip.add(_sql("then_and_now"), binds, TimelineRow)
            return listed, trip.add(_sql("days"), binds, DayRow)

        async with self._database.transaction_with(actor, plan) as (_, actor, (rows, days)):
            owner_id = actor.require_user()
        await self._reads.note(actor, "memory.list", {(owner_id, row.id) for row in rows})
        unit, spans = rules.spans(days, today)
        parts = {name: TimelinePart(items=[], total=0) for name in _PARTS}
        for name, group in groupby(rows, lambda row: row.part):
            items = list(group)
            parts[name] = TimelinePart(items=[_entry(row) for row in items], total=items[0].total)
        first = spans[0].start if spans else today
        return Timeline(as_of=day, first=first, today=today, unit=unit, spans=spans, **parts)

    @may_use_replica
    async def search(
        self, actor: Actor, filters: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> MemoryPage:
        """Return a page of the memories that match ``filters`` and their text.

        First those that recall finds for the text, then those that have it in them. At most 200.
        """
        start = _start(cursor)
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
            ranked = sorted(found, key=lambda key: ranks.get(key, len(ranks)))
            rows = await memory_filters.in_order(connection, ranked[start : start + limit])
            page = await views.named(connection, actor, [views.memory(row) for row in rows])
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


def _add_node(
    nodes: dict[MemoryKey, GraphNode],
    key: MemoryKey,
    category: str,
    content: str,
    importance: float,
) -> None:
    nodes.setdefault(
        key,
        GraphNode(
            id=key[1],
            user_id=public_owner(key[0]),
            category=Category(category),
            content=content,
            importance=importance,
        ),
    )


def _entry(row: TimelineRow) -> TimelineEntry:
    return TimelineEntry(
        id=row.id,
        content=row.content,
        content_then=row.content_then,
        known_now=row.known_now,
        at=row.at,
    )


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
            message_removed=row.message_removed,
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


def _read_agents(trip: Trip, actor: Actor) -> Sequence[AgentRow]:
    binds = {"user_id": actor.require_user(), "most": LARGEST_PAGE}
    return trip.add(_sql("agents"), binds, AgentRow)


@dataclass(frozen=True, slots=True)
class _Agent:
    name: str
    id: UUID
    user_id: UUID
    scope: Scope


async def _in_scope(
    connection: AsyncConnection, actor: Actor, rows: Sequence[AgentRow]
) -> list[_Agent]:
    """Return agents with their scope for the actor's user; a line of the log if an admin reads."""
    user_id = actor.require_user()
    ids = [str(row.id) for row in rows]
    await audit.note_look(connection, actor, "preference.read", {user_id: ids})
    return [_Agent(row.name, row.id, user_id, in_effect(row, user_id).scope) for row in rows]


def _readers(item: Hit | Memory, agents: Sequence[_Agent]) -> list[str]:
    """Return the names of the agents that may read an item, by the access rule."""
    placement = Placement(
        item.user_id or SHARED_OWNER, item.agent_id, item.space_id, item.visibility
    )
    # A space without a name is one that the user has left.
    spaces = frozenset([item.space_id] if item.space_id and item.space_name else [])
    return [
        agent.name
        for agent in agents
        if can_see(Viewer(agent.user_id, agent.id, agent.scope, spaces), placement)
    ]


def _answer(
    hit: Hit,
    origins: Mapping[MemoryKey, Origin],
    talks: Mapping[UUID, Talk],
    agents: Sequence[_Agent],
) -> Answer:
    readers = _readers(hit, agents)
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
        all_read=len(readers) == len(agents),
    )
