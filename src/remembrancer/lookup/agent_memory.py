"""What each agent of a user may read of them, and what a change of scope would change in it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from remembrancer.access import (
    Actor,
    Placement,
    Scope,
    ScopeSource,
    Viewer,
    Visibility,
    can_see,
    visible,
)
from remembrancer.backend import Backend
from remembrancer.db.sql import statement
from remembrancer.db.trips import Trip
from remembrancer.lookup.rows import PartRow, PlacementRow, UseRow
from remembrancer.lookup.schemas import AgentCard, Comparison, Part, ScopeChange, ScopeResult
from remembrancer.memories import repository as memories
from remembrancer.memories import views
from remembrancer.moves.schemas import MoveRequest
from remembrancer.moves.service import Moves
from remembrancer.paging import Page
from remembrancer.preferences.schemas import AgentMemoryConfig, PreferenceUpdate
from remembrancer.preferences.service import Preferences
from remembrancer.text import check_range
from remembrancer.validation import validate

MOST_LISTED: Final = 500
"""The most memories of one part of a comparison."""
_WEEK: Final = timedelta(days=7)
_sql = partial(
    statement,
    "remembrancer.lookup",
    "agents",
    left=partial(visible, namespace="CAST(:left_namespace AS uuid)", agent_id=":left_id"),
    right=partial(visible, namespace="CAST(:right_namespace AS uuid)", agent_id=":right_id"),
)
_Reader = tuple[UUID, Scope]
"""An agent and the scope that it reads."""


class AgentMemory:
    """What each agent of a user may read of them.

    Counted are the user's own active memories, which are not shared knowledge or what others share.
    """

    def __init__(self, backend: Backend, preferences: Preferences, moves: Moves) -> None:
        self._database = backend.database
        self._reads = backend.reads
        self._preferences = preferences
        self._moves = moves

    async def cards(
        self, actor: Actor, *, limit: int = 50, cursor: str | None = None
    ) -> Page[AgentCard]:
        """Return the agents of the actor's user in the order of their creation, with counts."""
        user_id = actor.require_user()
        page = await self._preferences.scopes(actor, user_id, limit=limit, cursor=cursor)
        return Page(items=await self._cards(actor, page.items), next_cursor=page.next_cursor)

    async def card(self, actor: Actor, agent_id: UUID) -> AgentCard:
        """Return one agent as :meth:`cards` does. Raises ``NotFound``."""
        config = await self._preferences.scope(actor, actor.require_user(), agent_id)
        [card] = await self._cards(actor, [config])
        return card

    async def _cards(self, actor: Actor, configs: Sequence[AgentMemoryConfig]) -> list[AgentCard]:
        """Both counts and last uses of all agents are one query each, in one round trip."""

        def plan(actor: Actor, trip: Trip) -> tuple[Sequence[PlacementRow], Sequence[UseRow]]:
            binds = {"user_id": actor.user_id}
            since = {"since": datetime.now(UTC) - _WEEK}
            placements = trip.add(_sql("placements"), binds, PlacementRow)
            return placements, trip.add(_sql("uses"), binds | since, UseRow)

        async with self._database.transaction_with(actor, plan) as (_, _actor, (rows, uses)):
            used = {row.agent_id: row.at for row in uses}
        return [_card(config, rows, used.get(config.agent.id)) for config in configs]

    async def compare(
        self, actor: Actor, left_id: UUID, right_id: UUID, *, limit: int = 20
    ) -> Comparison:
        """Return what only one of two agents may read of the actor's user, and what both may.

        At most ``limit`` memories are listed of each part, 1 to 500, the newest first; the counts
        are of all. Raises ``NotFound`` for an unknown agent.
        """
        user_id = actor.require_user()
        left = await self._preferences.scope(actor, user_id, left_id)
        right = await self._preferences.scope(actor, user_id, right_id)
        readers = (left_id, left.effective_scope), (right_id, right.effective_scope)
        parts = await self._parts(actor, *readers, limit)
        return Comparison(
            left=left,
            right=right,
            only_left=parts["left"],
            only_right=parts["right"],
            both=parts["both"],
        )

    async def preview(
        self, actor: Actor, agent_id: UUID, to: Scope, *, limit: int = 20
    ) -> ScopeChange:
        """Return what an agent could read if the user chose a scope, and what no longer.

        Lists as :meth:`compare` does, and counts what a copy would take along. Changes nothing.
        """
        user_id = actor.require_user()
        config = await self._preferences.scope(actor, user_id, agent_id)
        now, then = (agent_id, config.effective_scope), (agent_id, _scope_then(config, to))
        parts = await self._parts(actor, now, then, limit)
        request = validate(MoveRequest, to=to, copy=True)
        plan = await self._moves.move(actor, user_id, agent_id, request)
        return ScopeChange(
            config=config,
            to=to,
            vanish=parts["left"],
            appear=parts["right"],
            stay=parts["both"].count,
            copies=plan.moved if parts["left"].count else 0,
        )

    async def set_scope(
        self, actor: Actor, agent_id: UUID, to: Scope, *, copy: bool = False
    ) -> ScopeResult:
        """Set the scope of an agent for the actor's user; with ``copy``, copy its memories first.

        The copy can be undone as every move. If it fails, the scope stays.
        """
        user_id = actor.require_user()
        earlier = await self._preferences.scope(actor, user_id, agent_id)
        copied = None
        if copy:
            request = validate(MoveRequest, to=to, copy=True, dry_run=False)
            copied = await self._moves.move(actor, user_id, agent_id, request)
        preference = PreferenceUpdate(allow_agent_specific_memory=to is Scope.AGENT)
        await self._preferences.set(actor, user_id, agent_id, preference)
        return ScopeResult(earlier=earlier, copied=copied)

    async def _parts(
        self, actor: Actor, left: _Reader, right: _Reader, limit: int
    ) -> dict[str, Part]:
        check_range(limit, 1, MOST_LISTED, field="limit")

        def plan(actor: Actor, trip: Trip) -> Sequence[PartRow]:
            binds = {
                "user_id": actor.user_id,
                "left_id": left[0],
                "left_namespace": _namespace(left),
                "right_id": right[0],
                "right_namespace": _namespace(right),
                "most": limit,
            }
            return trip.add(_sql("compare"), binds, PartRow)

        async with self._database.transaction_with(actor, plan) as (connection, actor, rows):
            owner_id = actor.require_user()
            found = await memories.by_ids(connection, owner_id, [row.id for row in rows])
            listed = [views.memory(found[row.id]) for row in rows if row.id in found]
            named = {memory.id: memory for memory in await views.named(connection, actor, listed)}
        await self._reads.note(actor, "memory.list", ((owner_id, id_) for id_ in named))
        parts = {name: Part(count=0, items=[]) for name in ("left", "right", "both")}
        for row in rows:
            parts[row.part].count = row.count
            if row.id in named:
                parts[row.part].items.append(named[row.id])
        return parts


def _namespace(reader: _Reader) -> UUID | None:
    agent_id, scope = reader
    return agent_id if scope is Scope.AGENT else None


def _scope_then(config: AgentMemoryConfig, to: Scope) -> Scope:
    """Return the scope in effect after a user has chosen one: the policy has precedence."""
    return config.effective_scope if config.source is ScopeSource.ADMIN_OVERRIDE else to


def _card(
    config: AgentMemoryConfig, rows: Sequence[PlacementRow], used_at: datetime | None
) -> AgentCard:
    now = config.effective_scope
    other = Scope.GLOBAL if now is Scope.AGENT else Scope.AGENT
    then = _scope_then(config, other)
    counts = {"known": 0, "private": 0, "vanish": 0, "appear": 0}
    for row in rows:
        reads, would_read = _can_read(config, now, row), _can_read(config, then, row)
        counts["known"] += row.count * reads
        counts["private"] += row.count * (reads and row.agent_id == config.agent.id)
        counts["vanish"] += row.count * (reads and not would_read)
        counts["appear"] += row.count * (would_read and not reads)
    return AgentCard(config=config, used_at=used_at, **counts)


def _can_read(config: AgentMemoryConfig, scope: Scope, row: PlacementRow) -> bool:
    spaces = frozenset([row.space_id] if row.space_id and row.joined else [])
    viewer = Viewer(config.user_id, config.agent.id, scope, spaces)
    visibility = Visibility(row.visibility)
    return can_see(viewer, Placement(config.user_id, row.agent_id, row.space_id, visibility))
