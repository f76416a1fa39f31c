"""The context of an agent's next answer: a frozen stable block, and a dynamic one."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from remembrancer import tokens
from remembrancer.access import (
    Actor,
    EffectiveScope,
    is_summary_told_to_group,
    may_take_part,
)
from remembrancer.analysis import is_acknowledgement
from remembrancer.backend import Backend
from remembrancer.context import repository
from remembrancer.context.dynamic import DynamicSources, dynamic_entries
from remembrancer.context.lines import Reader
from remembrancer.context.queries import statement
from remembrancer.context.renderer import MemoryEntry, Moment, Renderer
from remembrancer.context.rows import (
    Candidate,
    FrozenRow,
    PromptMemory,
    ReaderRow,
    RecentMessage,
)
from remembrancer.context.schemas import MOST_TOKENS, Block, Context, ContextQuery, StableBlock
from remembrancer.context.token_budget import MOST_MISSES
from remembrancer.conversations.access import no_such_conversation
from remembrancer.db.retries import retries_deadlock
from remembrancer.db.sql import Statement
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.schemas import Hit, RecallQuery
from remembrancer.recall.service import Prompt, Recall
from remembrancer.recall.signals import PER_ARM
from remembrancer.settings import ContextSettings
from remembrancer.spaces.rows import SpaceNames
from remembrancer.usage.counts import counted
from remembrancer.usage.schemas import UsageKind
from remembrancer.users import repository as users

FEWEST_TOKENS_A_LINE: Final = 10
MOST_OF_SPEAKER: Final = 30
MOST_RECENT: Final = 3
ACTION: Final = "context.read"


@dataclass(frozen=True, slots=True)
class _Sources:
    """A query for a context, and all that one round trip read for it."""

    query: ContextQuery
    actor: Actor
    scope: EffectiveScope | None
    hits: Sequence[Hit]
    now: datetime
    reader: ReaderRow
    frozen: Sequence[FrozenRow]
    candidates: Sequence[Candidate]
    changes: Sequence[PromptMemory]
    speaker: Sequence[PromptMemory]
    recent: Sequence[RecentMessage]
    names: SpaceNames

    @property
    def group(self) -> bool:
        return _is_group(self.reader)

    @property
    def time_zone(self) -> str:
        return self.reader.time_zone or "UTC"

    @property
    def owner_id(self) -> UUID:
        """The key of the frozen block: its reader, or for a group its space or everybody."""
        if self.actor.user_id is None:
            return SHARED_OWNER
        return self.actor.user_id if not self.group else self.reader.space_id or SHARED_OWNER

    @property
    def line_reader(self) -> Reader:
        """The reader of the dynamic block."""
        return Reader(self.time_zone, self.actor.user_id, self.names, self.reader.space_id)

    def block_reader(self, time_zone: str) -> Reader:
        """Return the reader of the stable block: nobody in particular in a group."""
        user_id = None if self.group else self.actor.user_id
        return replace(self.line_reader, time_zone=time_zone, user_id=user_id)

    @property
    def total(self) -> int:
        """Memories that the stable block could hold."""
        return self.candidates[0].total if self.candidates else 0


@dataclass(frozen=True, slots=True)
class _DynamicBlock:
    """A dynamic block, the hits in it, and the owner of each of its ids."""

    block: Block
    hits: Sequence[Hit]
    owners: Sequence[tuple[UUID | None, str]]


class Contexts:
    """Memory as text for an agent's prompt.

    The first context of a conversation freezes the stable block. It is the same, byte by byte,
    in every later one, without what the reader may no longer see. It is frozen anew after a long
    silence, after many changes, and on request (decision 20). The dynamic block is made for each
    message.
    """

    def __init__(
        self, backend: Backend, recall: Recall, renderer: Renderer, settings: ContextSettings
    ) -> None:
        self._backend = backend
        self._recall = recall
        self._renderer = renderer
        self._settings = settings

    @counted(UsageKind.RECALL)
    async def context(self, actor: Actor, query: ContextQuery, *, counts: bool = True) -> Context:
        """Return the context of the next answer to the actor's user.

        One database round trip; the first context of a conversation also writes the frozen
        block. Each recalled memory in it counts as accessed once more, unless ``counts`` is
        false. With ``as_of`` it has the versions known and valid then of memories active now.
        Raises ``NotFound`` for a conversation the user takes no part in, and ``InvalidInput``
        for another agent than the conversation's.
        """
        if not tokens.is_loaded():
            await asyncio.to_thread(tokens.load)
        sources = await self._read(actor, query)
        if (where := query.conversation_id) is not None:
            agent_id = await self._conversation_agent(sources, where)
            if agent_id != sources.actor.agent_id:
                actor = sources.actor.acting_for(None, agent_id)
                sources = await self._read(actor, query)
            if self._is_stale(sources):
                await self._thaw(sources, where)
                sources = await self._read(sources.actor, query)
            while not sources.frozen and not await self._freeze(sources, where):
                # Another request was first: its block is the frozen one.
                sources = await self._read(sources.actor, query)
        stable = self._stable(sources)
        dynamic = self._dynamic(sources, stable)
        if counts:
            self._recall.count(dynamic.hits)
            given = stable.tokens + dynamic.block.tokens
            self._backend.usage_counts.note(sources.actor, UsageKind.TOKENS, given)
        await self._backend.reads.note(
            sources.actor, ACTION, [*_owners(sources, stable), *dynamic.owners]
        )
        return Context(
            stable=stable,
            dynamic=dynamic.block,
            group=sources.group,
            scope=sources.scope.scope if sources.scope else None,
            scope_source=sources.scope.source if sources.scope else None,
        )

    async def _read(self, actor: Actor, query: ContextQuery) -> _Sources:
        def statements(actor: Actor) -> Sequence[Statement]:
            viewer = {
                "user_id": actor.user_id,
                "agent_id": actor.agent_id,
                "conversation_id": query.conversation_id,
            }
            count = self._stable_budget(query) // FEWEST_TOKENS_A_LINE + MOST_MISSES
            return [
                statement("reader", **viewer, pause=self._settings.pause_minutes),
                statement("frozen_block", **viewer),
                statement("candidates", **viewer, count=count)
                if query.as_of is None
                else statement("candidates_as_of", **viewer, count=count, as_of=query.as_of),
                statement("changes", **viewer, count=self._settings.most_changes + 1),
                statement(
                    "speaker_memories",
                    **viewer,
                    joined=query.joined,
                    min_importance=self._settings.high_importance,
                    count=MOST_OF_SPEAKER,
                ),
                *([statement("recent_messages", **viewer, count=MOST_RECENT)] * query.joined),
            ]

        prompt = Prompt(query.conversation_id, query.window)
        result = await self._recall.find(actor, self._recall_query(query), statements, prompt)
        [reader], frozen, candidates, changes, speaker, *recent = result.answers
        hits = result.hits
        if _is_group(reader):
            hits = _told_to_group(hits, query.conversation_id)
        return _Sources(
            query=query,
            actor=result.actor,
            scope=result.scope,
            hits=hits,
            now=query.as_of or datetime.now(UTC),
            reader=reader,
            frozen=frozen,
            candidates=candidates,
            changes=changes,
            speaker=speaker,
            recent=recent[0] if recent else (),
            names=result.names,
        )

    def _recall_query(self, query: ContextQuery) -> RecallQuery | None:
        settings = self._settings
        most = settings.recalled + settings.summaries
        if query.message is None or not most or is_acknowledgement(query.message):
            return None
        # A few more than the block has, since some stand in the stable block already.
        return RecallQuery(
            query=query.message,
            limit=max(most, PER_ARM),
            sources=["memory", "message", *(["chunk"] if settings.summaries else [])],
            min_relevance=settings.min_relevance,
            as_of=query.as_of,
        )

    async def _conversation_agent(self, sources: _Sources, conversation_id: UUID) -> UUID | None:
        """Return the conversation's agent; refuse actors who take no part."""
        reader, actor = sources.reader, sources.actor
        if not may_take_part(actor, frozenset(reader.participants or ())):
            error = no_such_conversation()
            await self._backend.refuse(actor, ACTION, [str(conversation_id)], error)
        agent_id = reader.agent_id or actor.agent_id
        if actor.agent_id not in {None, agent_id}:
            raise InvalidInput("is not the agent of this conversation", field="agent_id")
        return agent_id

    def _is_stale(self, sources: _Sources) -> bool:
        """Return whether the frozen block has to be frozen anew."""
        if not sources.frozen:
            return False
        frozen_at, silent_since = sources.frozen[0].frozen_at, sources.reader.silent_since
        return (
            sources.query.refresh
            or len(sources.changes) > self._settings.most_changes
            or (silent_since is not None and frozen_at < silent_since)
        )

    @retries_deadlock
    async def _thaw(self, sources: _Sources, conversation_id: UUID) -> None:
        key = _key(sources, conversation_id)
        async with self._backend.database.system_for(sources.actor) as (connection, _):
            await repository.thaw(connection, key, sources.frozen[0].frozen_at)

    @retries_deadlock
    async def _freeze(self, sources: _Sources, conversation_id: UUID) -> bool:
        """Store the memories of the stable block; return false if it was frozen already."""
        actor = sources.actor
        budget = self._stable_budget(sources.query)
        entries = self._fitting(sources, budget)
        left_out = sources.total - len(entries)
        text = self._renderer.stable(entries, left_out, sources.line_reader.space)
        key = _key(sources, conversation_id)
        async with self._backend.database.system_for(actor) as (connection, _):
            if actor.user_id is not None:
                survivors = await users.hold(connection, [actor.user_id])
                if actor.user_id not in survivors:
                    raise NotFound("no such user", field="user_id")
                if survivors[actor.user_id] != actor.user_id:
                    # Merged at this moment: read again as the survivor.
                    return False
            return await repository.freeze(
                connection,
                key,
                entries,
                time_zone=sources.time_zone,
                budget=budget,
                left_out=left_out,
                tokens=tokens.count(text),
                digest=_digest(text),
                frozen_at=sources.now,
            )

    def _stable_budget(self, query: ContextQuery) -> int:
        budget = query.stable_tokens
        return self._settings.stable_tokens if budget is None else min(budget, MOST_TOKENS)

    def _fitting(self, sources: _Sources, budget: int) -> Sequence[MemoryEntry]:
        reader = sources.block_reader(sources.time_zone)
        entries = self._renderer.entries(sources.candidates, reader)
        return self._renderer.fill_stable(entries, sources.total, budget, reader.space).entries

    def _stable(self, sources: _Sources) -> StableBlock:
        block = sources.frozen[0] if sources.frozen else None
        if block is not None:
            memories = [row.memory for row in sources.frozen if row.in_use]
            reader = sources.block_reader(block.time_zone)
            entries: Sequence[MemoryEntry] = [*self._renderer.entries(memories, reader)]
            left_out, budget = block.left_out, block.budget
        else:
            budget = self._stable_budget(sources.query)
            entries = self._fitting(sources, budget)
            left_out = sources.total - len(entries)
        text = self._renderer.stable(entries, left_out, sources.line_reader.space)
        unchanged = block is not None and bytes(block.digest) == _digest(text)
        total = block.tokens if block is not None and unchanged else tokens.count(text)
        if total > budget:
            # Not even the frame fits.
            text, total, entries = "", 0, []
        frozen_at = sources.now if block is None else block.frozen_at
        return StableBlock(
            text=text,
            tokens=total,
            ids=[entry.memory.memory_id for entry in entries],
            left_out=left_out,
            frozen_at=frozen_at if sources.query.conversation_id else None,
        )

    def _dynamic(self, sources: _Sources, stable: StableBlock) -> _DynamicBlock:
        query, settings = sources.query, self._settings
        rows = sources.frozen or sources.candidates
        contents = {row.memory_id: row.content for row in rows}
        entries = dynamic_entries(
            self._renderer,
            DynamicSources(
                reader=sources.line_reader,
                listed={id_: contents[id_] for id_ in stable.ids},
                joined=query.joined,
                frozen=sources.frozen,
                changes=sources.changes,
                speaker=sources.speaker,
                recent=sources.recent,
                hits=sources.hits,
                recalled=settings.recalled,
                summaries=settings.summaries,
            ),
        )
        moment = Moment(
            sources.now,
            sources.time_zone,
            speaker=sources.reader.display_name if sources.group or query.joined else None,
            user_id=str(sources.actor.user_id),
            joined=query.joined,
        )
        budget = query.dynamic_tokens
        budget = settings.dynamic_tokens if budget is None else budget
        filled = self._renderer.fill_dynamic(moment, entries, budget)
        ids = list(dict.fromkeys(id_ for entry in filled.entries for id_ in entry.ids))
        block = Block(
            text=filled.text,
            tokens=filled.tokens,
            ids=ids,
            left_out=len(entries) - len(filled.entries),
        )
        hits = [hit for hit in sources.hits if hit.id in ids]
        owners: dict[str, UUID | None] = {
            memory.memory_id: memory.memory_owner_id for memory in sources.changes
        }
        owners |= {hit.id: hit.user_id for hit in hits}
        return _DynamicBlock(block, hits, [(owners.get(i, sources.actor.user_id), i) for i in ids])


def _is_group(reader: ReaderRow) -> bool:
    return len(reader.participants or ()) > 1


def _told_to_group(hits: Sequence[Hit], group_id: UUID | None) -> Sequence[Hit]:
    """Leave out summaries of talks that the readers of a group may not have heard."""
    return [
        hit
        for hit in hits
        if hit.type != "chunk"
        or is_summary_told_to_group(hit.visibility, hit.conversation_id, group_id)
    ]


def _key(sources: _Sources, conversation_id: UUID) -> dict[str, UUID]:
    return {
        "owner_id": sources.owner_id,
        "conversation_id": conversation_id,
        "agent_id": sources.actor.agent_id or SHARED_OWNER,
    }


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _owners(sources: _Sources, stable: StableBlock) -> list[tuple[UUID | None, str]]:
    """Return the owner of each memory in the stable block."""
    rows = sources.frozen or sources.candidates
    owners: dict[str | None, UUID] = {row.memory_id: row.memory_owner_id for row in rows}
    return [(owners[memory_id], memory_id) for memory_id in stable.ids]
