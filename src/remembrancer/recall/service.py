"""Recall: the ranked answer to "what do we know that helps here"."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, get_args
from uuid import UUID

from remembrancer.access import Actor, EffectiveScope
from remembrancer.analysis import named, query_terms
from remembrancer.audit.reads import Reads
from remembrancer.db.engine import Database, Statement
from remembrancer.embeddings import Embedder
from remembrancer.errors import EmbeddingUnavailable, InvalidInput, NotFound, UserMerged
from remembrancer.preferences.scopes import in_effect
from remembrancer.recall import hits
from remembrancer.recall.access_counts import AccessCounts
from remembrancer.recall.fusion import Fusion, fuse
from remembrancer.recall.graph_arm import WALK, graph_arm
from remembrancer.recall.queries import statement
from remembrancer.recall.schemas import Hit, Mode, RecallAnswer, RecallQuery, Sort, SourceType
from remembrancer.search.index import content_hash

PER_ARM: Final = 16
"""Items each arm puts forward; more does not change what comes out (decision 0004)."""
PLANNER: Final = {
    "enable_nestloop": "off",
    "enable_seqscan": "off",
    "enable_memoize": "off",
    "plan_cache_mode": "force_generic_plan",
    "work_mem": "16MB",
}
"""How the candidate statement is planned: once, and by its own lights. Its look-ups are nested
by the way it is written, all other joins are hashed, tables are read by their indexes; so no
guess from tables that have grown or were never analysed can turn it bad (decision 0004)."""
BM25_K1: Final = 0.9
BM25_B: Final = 0.4

_ORDER_OF_MODE = {
    Mode.HYBRID: Sort.RELEVANCE,
    Mode.RECENT: Sort.RECENT,
    Mode.IMPORTANT: Sort.IMPORTANCE,
    Mode.TYPED: Sort.IMPORTANCE,
}


Answers = Sequence[Sequence[Any]]
"""The rows of each of several statements."""
Beside = Callable[[Actor], Sequence[Statement]]
"""Statements to ask in the same round trip, for who the actor turns out to be."""


@dataclass(frozen=True, slots=True)
class Window:
    """The last messages of a conversation, which a prompt has anyway."""

    conversation_id: UUID
    messages: int


def _nothing_beside(_actor: Actor) -> Sequence[Statement]:
    return ()


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for whom, before it is told."""

    actor: Actor
    """Who asked: the survivor, if their user was merged into another."""
    scope: EffectiveScope | None
    hits: Sequence[Hit]
    beside: Answers


class Recall:
    """Searches memories, messages and chunks together, without an LLM."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        accesses: AccessCounts,
        reads: Reads,
        *,
        longest_query: int,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._accesses = accesses
        self._reads = reads
        self._longest_query = longest_query
        self._fusion = Fusion()

    async def recall(
        self, actor: Actor, wanted: RecallQuery, *, among: Collection[str] = ()
    ) -> RecallAnswer:
        """Return what the actor's user may be told through the actor's agent.

        One database round trip after the query is embedded. The same query over the same
        store gives the same hits in the same order. ``among``, if any, are the ids of the
        user's own memories that hybrid mode is to look at, and at nothing else.
        """
        found = await self.find(actor, wanted, among=among)
        self.count(found.hits)
        read = ((hit.user_id, hit.id) for hit in found.hits)
        await self._reads.note(found.actor, "recall", read)
        return RecallAnswer(
            hits=list(found.hits),
            scope=found.scope.scope if found.scope else None,
            scope_source=found.scope.source if found.scope else None,
        )

    async def find(
        self,
        actor: Actor,
        wanted: RecallQuery | None,
        beside: Beside = _nothing_beside,
        window: Window | None = None,
        among: Collection[str] = (),
    ) -> Found:
        """Return what :meth:`recall` does, and the answers to statements asked in the same trip.

        Nothing is noted as read or counted: that is for the caller, who may tell less than all
        of it. Without ``wanted`` only the statements are asked. What is said in ``window`` is not
        looked for in hybrid mode.
        """
        try:
            if wanted is None:
                facts, _, others = await self._ask(actor, None, beside)
                hits: list[Hit] = []
            elif wanted.mode is Mode.HYBRID:
                facts, hits, others = await self._search(actor, wanted, beside, window, among)
            else:
                facts, hits, others = await self._in_order(actor, wanted, beside)
        except UserMerged as merged:
            return await self.find(actor.now(merged.survivor), wanted, beside, window, among)
        return Found(actor, _scope(facts, actor), hits, others)

    def count(self, hits: Sequence[Hit]) -> None:
        """Count the memories among ``hits`` as recalled once more."""
        self._accesses.note([hit for hit in hits if hit.type == "memory"])

    async def _search(
        self,
        actor: Actor,
        wanted: RecallQuery,
        beside: Beside,
        window: Window | None,
        among: Collection[str],
    ) -> tuple[Any, list[Hit], Answers]:
        query = wanted.query or ""
        if len(query) > self._longest_query:
            raise InvalidInput(
                f"must have at most {self._longest_query:,} characters", field="query"
            )
        terms = query_terms(query)
        vector = await self._embedder.embed_query(query)
        filters = _filters(wanted)
        if among:
            filters |= {"among": list(among)}
        if window is not None and window.messages:
            filters |= {"window_of": window.conversation_id, "window": window.messages}
        binds = filters | {
            "user_id": actor.user_id,
            "agent_id": actor.agent_id,
            "vector": str(vector.tolist()),
            "terms": list(terms),
            "words": list(terms.values()),
            "content_hash": content_hash(query),
            "per_arm": max(PER_ARM, wanted.limit),
            "reach": self._fusion.reach,
            "k1": BM25_K1,
            "b": BM25_B,
            "rank_constant": self._fusion.rank_constant,
            **WALK,
        }
        candidates = Statement(statement("candidates", filters), binds, PLANNER)
        facts, rows, others = await self._ask(actor, candidates, beside)
        ranked = fuse(
            rows,
            wanted.limit,
            named=named(query, {row.sender_name for row in rows if row.sender_name}),
            now=wanted.as_of or datetime.now(UTC),
            weights=self._fusion,
            arms=[arm] if (arm := graph_arm(rows)) else (),
        )
        found = {row.id: row for row in rows}
        labels = hits.word_labels(terms)
        ranked_hits = [hits.hit(found[one.id], one, labels) for one in ranked]
        return facts, _sorted(ranked_hits, wanted.sort), others

    async def _in_order(
        self, actor: Actor, wanted: RecallQuery, beside: Beside
    ) -> tuple[Any, list[Hit], Answers]:
        filters = _filters(wanted.model_copy(update={"sources": ["memory"]}))
        binds = filters | {
            "user_id": actor.user_id,
            "agent_id": actor.agent_id,
            "sort": wanted.sort or _ORDER_OF_MODE[wanted.mode],
            "count": wanted.limit,
        }
        listed = Statement(statement("memories_in_order", filters), binds)
        facts, rows, others = await self._ask(actor, listed, beside)
        return facts, [hits.hit(row, None, {}) for row in rows], others

    async def _ask(
        self, actor: Actor, asked: Statement | None, beside: Beside
    ) -> tuple[Any, Sequence[Any], Answers]:
        """Return what must be known of the asker, checked, and the rows ``asked`` for."""
        who = {"user_id": actor.user_id, "agent_id": actor.agent_id}
        about = Statement(statement("facts"), who)
        # What else is asked comes first: the settings of the search hold until the trip ends.
        others = beside(actor)
        statements = [about, *others, *([asked] if asked else [])]
        [facts], *answers = await self._database.one_round_trip(actor, *statements)
        if not facts.user_known:
            raise NotFound("no such user", field="user_id")
        if actor.agent_id is not None and facts.agent_default is None:
            raise NotFound("no such agent", field="agent_id")
        if facts.model != self._embedder.name:
            raise EmbeddingUnavailable(
                f"the store now holds vectors of {facts.model}; restart with that model"
            )
        rows = answers.pop() if asked else []
        return facts, rows, answers


def _filters(wanted: RecallQuery) -> dict[str, Any]:
    """Return the filters that are in use, by name."""
    everything = len(set(wanted.sources)) == len(get_args(SourceType))
    asked = {
        "source_types": [] if everything else list(wanted.sources),
        "kinds": [kind.value for kind in wanted.kinds],
        "categories": [category.value for category in wanted.categories],
        "conversation_id": wanted.conversation_id,
        "space_id": wanted.space_id,
        "since": wanted.since,
        "until": wanted.until,
        "as_of": wanted.as_of,
    }
    return {name: value for name, value in asked.items() if value}


def _sorted(hits: list[Hit], sort: Sort | None) -> list[Hit]:
    keys = {
        Sort.RECENT: lambda hit: hit.at.timestamp(),
        Sort.IMPORTANCE: lambda hit: hit.importance or 0.0,
        Sort.MOST_ACCESSED: lambda hit: hit.access_count or 0,
    }
    # Sorting is stable: among equals the more relevant stays first.
    return sorted(hits, key=keys[sort], reverse=True) if sort in keys else hits


def _scope(facts: Any, actor: Actor) -> EffectiveScope | None:
    if actor.agent_id is None or actor.user_id is None:
        return None
    return in_effect(facts, actor.user_id)
