"""What an agent is told before it answers: the stable block, and what this message calls for."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from remembrancer import tokens
from remembrancer.access import Actor, may_take_part
from remembrancer.audit.reads import Reads
from remembrancer.context import repository
from remembrancer.context.dynamic import Told, dynamic_entries
from remembrancer.context.queries import PLANNER, statement
from remembrancer.context.renderer import MemoryEntry, Moment, Renderer
from remembrancer.context.schemas import MOST_TOKENS, Block, Context, ContextQuery, StableBlock
from remembrancer.context.token_budget import MOST_MISSES
from remembrancer.conversations.access import refused
from remembrancer.db.engine import Database, Statement
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.schemas import Hit, RecallQuery
from remembrancer.recall.service import PER_ARM, Recall, RecallResult, RecentMessages
from remembrancer.settings import ContextSettings
from remembrancer.users import repository as users

FEWEST_TOKENS_A_LINE: Final = 10
MOST_CHANGES: Final = 20
MOST_OF_SPEAKER: Final = 30
LAST_SAID: Final = 3
ACTION: Final = "context.read"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question for a context, and the answers of the one trip to the database."""

    wanted: ContextQuery
    found: RecallResult
    now: datetime
    asker: Any
    frozen: Sequence[Any]
    chosen: Sequence[Any]
    changed: Sequence[Any]
    speaker: Sequence[Any]
    said: Sequence[Any]

    @property
    def actor(self) -> Actor:
        return self.found.actor

    @property
    def group(self) -> bool:
        return len(self.asker.participants or ()) > 1

    @property
    def time_zone(self) -> str:
        return self.asker.time_zone or "UTC"


class Contexts:
    """Memory as text for the prompt of an agent.

    The stable block is frozen by the first context of a conversation and the same, byte by byte,
    in every later one. Only what may no longer be told leaves it. The dynamic block is made for
    each message.
    """

    def __init__(
        self,
        database: Database,
        recall: Recall,
        reads: Reads,
        renderer: Renderer,
        settings: ContextSettings,
    ) -> None:
        self._database = database
        self._recall = recall
        self._reads = reads
        self._renderer = renderer
        self._settings = settings

    async def context(self, actor: Actor, wanted: ContextQuery) -> Context:
        """Return what the actor's agent is told for the actor's user, now.

        One database round trip, as a recall, but for the first of a conversation, which also
        writes what is frozen. Raises ``NotFound`` for a conversation the user takes no part in,
        ``InvalidInput`` for an agent that is not the one of the conversation. With ``as_of``
        it is told from the versions known and in force then, of what is active now.
        """
        now = wanted.as_of or datetime.now(UTC)
        asked = await self._ask(actor, wanted, now)
        if wanted.conversation_id is not None:
            agent_id = await self._entered(asked)
            if agent_id != asked.actor.agent_id:
                return await self.context(asked.actor.acting_for(None, agent_id), wanted)
            if not asked.frozen and not await self._freeze(asked):
                # Another process was first: its block is the one.
                return await self.context(asked.actor, wanted)
        stable = self._stable(asked)
        told = self._dynamic(asked, {*stable.ids})
        self._recall.count(told.hits)
        read = [*_owners(asked, stable), *told.read]
        await self._reads.note(asked.actor, ACTION, read)
        scope = asked.found.scope
        return Context(
            stable=stable,
            dynamic=told.block,
            group=asked.group,
            scope=scope.scope if scope else None,
            scope_source=scope.source if scope else None,
        )

    async def _ask(self, actor: Actor, wanted: ContextQuery, now: datetime) -> _Asked:
        def beside(actor: Actor) -> Sequence[Statement]:
            who: dict[str, Any] = {
                "user_id": actor.user_id,
                "agent_id": actor.agent_id,
                "conversation_id": wanted.conversation_id,
            }
            most = self._stable_budget(wanted) // FEWEST_TOKENS_A_LINE + MOST_MISSES
            asked: list[tuple[str, dict[str, Any]]] = [
                ("asker", {}),
                ("frozen", {}),
                _chosen_at(wanted.as_of, most),
                ("changed", {"count": MOST_CHANGES}),
                (
                    "speaker",
                    {
                        "joined": wanted.joined,
                        "least": self._settings.high_importance,
                        "count": MOST_OF_SPEAKER,
                    },
                ),
                *([("said", {"count": LAST_SAID})] if wanted.joined else []),
            ]
            # Settings hold until the trip ends, so the first statement's are those of all.
            return [
                Statement(statement(name), {**who, **binds}, {} if n else PLANNER)
                for n, (name, binds) in enumerate(asked)
            ]

        query = self._query(wanted)
        where = wanted.conversation_id
        recent = RecentMessages(where, wanted.window) if where else None
        found = await self._recall.find(actor, query, beside, recent)
        [asker], frozen, chosen, changed, speaker, *said = found.answers
        return _Asked(
            wanted, found, now, asker, frozen, chosen, changed, speaker, said[0] if said else ()
        )

    def _query(self, wanted: ContextQuery) -> RecallQuery | None:
        settings = self._settings
        most = settings.recalled + settings.summaries
        if wanted.message is None or not most:
            return None
        # A few more than are told, since some stand in the stable block already.
        return RecallQuery(
            query=wanted.message,
            limit=max(most, PER_ARM),
            sources=["memory", "message", *(["chunk"] if settings.summaries else [])],
            as_of=wanted.as_of,
        )

    async def _entered(self, asked: _Asked) -> UUID | None:
        """Return the agent of the conversation, once it is known that the actor takes part."""
        conversation_id, actor = asked.wanted.conversation_id, asked.actor
        assert conversation_id is not None
        if not may_take_part(actor, frozenset(asked.asker.participants or ())):
            raise await refused(self._database, actor, ACTION, conversation_id)
        agent_id: UUID | None = asked.asker.agent_id or actor.agent_id
        if actor.agent_id not in {None, agent_id}:
            raise InvalidInput("is not the agent of this conversation", field="agent_id")
        return agent_id

    async def _freeze(self, asked: _Asked) -> bool:
        """Store what the stable block is made of; return false if somebody was first."""
        actor, wanted = asked.actor, asked.wanted
        for_nobody = asked.group or actor.user_id is None
        budget = self._stable_budget(wanted)
        filled = self._chosen(asked, budget)
        left_out = _total(asked.chosen) - len(filled)
        text = self._renderer.stable(filled, left_out)
        assert wanted.conversation_id is not None
        key = {
            "owner_id": SHARED_OWNER if for_nobody else actor.require_user(),
            "conversation_id": wanted.conversation_id,
            "agent_id": actor.agent_id or SHARED_OWNER,
        }
        async with self._database.system_for(actor) as (connection, _):
            if actor.user_id is not None:
                held = await users.hold(connection, [actor.user_id])
                if actor.user_id not in held:
                    raise NotFound("no such user", field="user_id")
                if held[actor.user_id] != actor.user_id:
                    # Merged at this moment: to be asked again as the survivor.
                    return False
            return await repository.freeze(
                connection,
                key,
                filled,
                time_zone=asked.time_zone,
                budget=budget,
                left_out=left_out,
                tokens=tokens.count(text),
                digest=_digest(text),
                frozen_at=asked.now,
            )

    def _stable_budget(self, wanted: ContextQuery) -> int:
        given = wanted.stable_tokens
        return self._settings.stable_tokens if given is None else min(given, MOST_TOKENS)

    def _chosen(self, asked: _Asked, budget: int) -> Sequence[MemoryEntry]:
        entries = self._renderer.entries(asked.chosen, asked.time_zone)
        return self._renderer.fill_stable(entries, _total(asked.chosen), budget).entries

    def _stable(self, asked: _Asked) -> StableBlock:
        first = asked.frozen[0] if asked.frozen else None
        if first is not None:
            told = [row for row in asked.frozen if row.told]
            entries: Sequence[MemoryEntry] = list(self._renderer.entries(told, first.time_zone))
            left_out, budget = first.left_out, first.budget
        else:
            budget = self._stable_budget(asked.wanted)
            entries = self._chosen(asked, budget)
            left_out = _total(asked.chosen) - len(entries)
        text = self._renderer.stable(entries, left_out)
        if first is not None and bytes(first.digest) == _digest(text):
            total = first.tokens
        else:
            total = tokens.count(text)
        if total > budget:
            # Not even the frame fits.
            text, total, entries = "", 0, []
        frozen_at = asked.now if first is None else first.frozen_at
        return StableBlock(
            text=text,
            tokens=total,
            ids=[entry.row.memory_id for entry in entries],
            left_out=left_out,
            frozen_at=frozen_at if asked.wanted.conversation_id else None,
        )

    def _dynamic(self, asked: _Asked, listed: set[str]) -> "_Dynamic":
        wanted, settings = asked.wanted, self._settings
        told = Told(
            time_zone=asked.time_zone,
            listed=listed,
            group=asked.group or wanted.joined,
            joined=wanted.joined,
            frozen=asked.frozen,
            changed=asked.changed,
            speaker=asked.speaker,
            said=asked.said,
            hits=asked.found.hits,
            recalled=settings.recalled,
            summaries=settings.summaries,
        )
        entries = dynamic_entries(self._renderer, told)
        name = asked.asker.display_name
        moment = Moment(
            asked.now,
            asked.time_zone,
            speaker=name if asked.group or wanted.joined else None,
            user_id=str(asked.actor.user_id),
            joined=wanted.joined,
        )
        given = wanted.dynamic_tokens
        budget = settings.dynamic_tokens if given is None else given
        filled = self._renderer.fill_dynamic(moment, entries, budget)
        ids = list(dict.fromkeys(one for entry in filled.entries for one in entry.ids))
        block = Block(
            text=filled.text,
            tokens=filled.tokens,
            ids=ids,
            left_out=len(entries) - len(filled.entries),
        )
        shown = set(ids)
        hits = [hit for hit in told.hits if hit.id in shown]
        owners = {hit.id: hit.user_id for hit in hits}
        return _Dynamic(block, hits, [(owners.get(i, asked.actor.user_id), i) for i in ids])


@dataclass(frozen=True, slots=True)
class _Dynamic:
    block: Block
    hits: Sequence[Hit]
    read: Sequence[tuple[UUID | None, str]]


def _chosen_at(as_of: datetime | None, most: int) -> tuple[str, dict[str, Any]]:
    """Return the statement for what a stable block may hold, now or as of a time."""
    if as_of is None:
        return "chosen", {"count": most}
    return "chosen_as_of", {"count": most, "as_of": as_of}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _total(chosen: Sequence[Any]) -> int:
    return chosen[0].total if chosen else 0


def _owners(asked: _Asked, stable: StableBlock) -> list[tuple[UUID | None, str]]:
    """Return whose each memory of the stable block is."""
    rows = asked.frozen or asked.chosen
    owners = {row.memory_id: row.memory_owner_id for row in rows}
    return [(owners[memory_id], memory_id) for memory_id in stable.ids]
