"""Search memories, messages and chunks, without a language model."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from struct import pack
from typing import TYPE_CHECKING, Any, Final, get_args
from uuid import UUID

from remembrancer.access import Actor, EffectiveScope, ScopeFacts, Viewer
from remembrancer.analysis import Question, take_apart
from remembrancer.backend import Backend
from remembrancer.db.pipeline import Binary
from remembrancer.db.sql import Statement
from remembrancer.embeddings import CachedQueries, Embedder
from remembrancer.embeddings.base import Baseline, baseline_of
from remembrancer.errors import EmbeddingUnavailable, InvalidInput, NotFound, UserMerged
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.metadata import binds_of, conditions_of
from remembrancer.memories.rules import statement_hash
from remembrancer.preferences.scopes import in_effect
from remembrancer.recall import hits, people, queries
from remembrancer.recall.access_counts import AccessCounts
from remembrancer.recall.candidates import Candidates, of_rows
from remembrancer.recall.choice import BM25_B, BM25_K1, Wish
from remembrancer.recall.graph_arm import WALK, graph_arm
from remembrancer.recall.item_cache import SUPPORTED, ItemCache, owners_of
from remembrancer.recall.owner_items import ChangeRow
from remembrancer.recall.ranker import RANK_CONSTANT, Arm, RankedItem, rank
from remembrancer.recall.rows import AskerRow, CandidateRow, OrderedRow
from remembrancer.recall.schemas import Hit, Mode, RecallAnswer, RecallQuery, Sort, SourceType
from remembrancer.recall.signals import PER_ARM, REACH, days_told
from remembrancer.search.index import content_hash
from remembrancer.spaces.rows import SpaceNames
from remembrancer.telemetry.spans import span, spanned
from remembrancer.usage.counts import counted
from remembrancer.usage.schemas import UsageKind

if TYPE_CHECKING:
    from remembrancer.recall.rerank import Reranker

PER_DAYS: Final = 8
"""Further candidates from the days that the question names."""
PLANNER: Final = {
    "enable_nestloop": "off",
    "enable_seqscan": "off",
    "enable_memoize": "off",
    "plan_cache_mode": "force_generic_plan",
    "work_mem": "16MB",
}
"""Forces a generic plan for the candidate statement: row estimates are unreliable in tables that
have grown or were never analysed. Joins are hashed, except the statement's own nested look-ups, and
tables are read by their indexes (decision 4)."""
_BY_KEY: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
"""Plans a statement that reads by key once a connection, and not for tables as small as then."""
TRIES: Final = 2
"""How often a recall chooses its candidates in memory before it searches the database."""
MOST_USERS: Final = 10_000
"""Users with associations, and users with very many items, that a process remembers."""
SIZES: Final = {
    "most_shared": 2_000,
    "most_own": 20_000,
    "most_postings": 5_000,
    "most_picked": 1_000,
}
"""Limits of what is compared (decision 42): shared items, the newest own items, and of the others
the best by words, for which the newest postings of a term are read."""
INDEX_SEARCH: Final = PLANNER | {
    "hnsw.iterative_scan": "strict_order",
    "hnsw.ef_search": "100",
    "enable_bitmapscan": "off",
    "max_parallel_workers_per_gather": "0",
}
"""The same for large sets. A search in the index of vectors goes on until enough rows meet its
conditions; nothing is estimated by the size of the set that few rows are read of."""
_ORDER_OF_MODE: Final = {
    Mode.HYBRID: Sort.RELEVANCE,
    Mode.RECENT: Sort.RECENT,
    Mode.IMPORTANT: Sort.IMPORTANCE,
    Mode.TYPED: Sort.IMPORTANCE,
}

Answers = Sequence[Sequence[Any]]
"""Rows, by statement."""
StatementsFor = Callable[[Actor], Sequence[Statement]]
"""Returns statements for the same round trip, for the actor after a merge."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of an agent: its conversation, or none.

    Of spaces it is told what lies in the conversation's space, if all participants are members.
    """

    conversation_id: UUID | None
    window: int = 0
    """The number of last messages that the prompt has already."""

    @property
    def filters(self) -> dict[str, UUID | int | None]:
        """The filters of a recall for it, with their values."""
        window = {"window": self.window} if self.conversation_id and self.window else {}
        return {"told_in": self.conversation_id, **window}


def _no_statements(_actor: Actor) -> Sequence[Statement]:
    return ()


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, and the rows of the other statements of the round trip."""

    actor: Actor
    """The survivor if the user was merged into another."""
    scope: EffectiveScope | None
    hits: Sequence[Hit]
    answers: Answers
    names: SpaceNames


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Rows of candidates, or of the hits if they are ranked, and what came with them."""

    rows: Sequence[CandidateRow]
    ranking: Sequence[RankedItem] | None
    """Null where candidates are yet to be ranked."""
    asker: AskerRow
    answers: Answers


@dataclass(frozen=True, slots=True)
class Search:
    """A question, ready to be searched for."""

    query: RecallQuery
    question: Question
    wish: Wish
    binds: Mapping[str, object]
    now: datetime
    baseline: Baseline

    def rank(
        self, candidates: Candidates, k: int | None = None, arms: Sequence[Arm] = ()
    ) -> list[RankedItem]:
        """Return the hits, or the best ``k`` candidates."""
        asked = people.interpret(self.query.query or "", self.question, candidates)
        most = k or self.query.limit
        with span("recall.rank"):
            ranking = rank(candidates, most, asked, now=self.now, arms=arms, baseline=self.baseline)
        return [item for item in ranking if k or item.relevance >= self.query.min_relevance]


class Recall:
    """Search memories, messages and chunks together, without a language model."""

    def __init__(
        self,
        backend: Backend,
        embedder: Embedder,
        access_counts: AccessCounts,
        reranker: "Reranker | None" = None,
    ) -> None:
        self._backend = backend
        self._database = backend.database
        self._reads = backend.reads
        self._embedder = embedder
        self._access_counts = access_counts
        self._reranker = reranker
        self._longest_query = backend.limits.message_characters
        self._baseline: Baseline | None = None
        self._associated: set[UUID | None] = set()
        """Users who see associations. A guess: each recall checks it, and starts again if a walk is
        due that was left out."""
        self._large: set[UUID | None] = set()
        """Owners of more items than are compared: a guess that is checked as well."""
        self._items = ItemCache()
        self._written = backend.search.written

    @counted(UsageKind.RECALL)
    async def recall(
        self,
        actor: Actor,
        query: RecallQuery,
        *,
        among: Collection[str] = (),
        prompt: Prompt | None = None,
        counts: bool = True,
    ) -> RecallAnswer:
        """Return the best matches that the actor's agent may know about the user.

        One database round trip after the query is embedded. The same query over the same data
        returns the same hits in the same order, with a rerank endpoint as far as it does.
        ``among`` limits hybrid mode to some of the user's own memories, by id, and ``prompt`` to
        what its conversation is told. Each memory in the answer counts as accessed once more,
        unless ``counts`` is false.

        Raises ``NotFound`` for an unknown user or agent, ``InvalidInput`` for a query that is too
        long, and ``EmbeddingUnavailable`` if the database has the vectors of another model.
        """
        result = await self.find(actor, query, among=among, prompt=prompt)
        if counts:
            self.count(result.hits)
        await self._reads.note(
            result.actor, "recall", ((hit.user_id, hit.id) for hit in result.hits)
        )
        return RecallAnswer(
            hits=list(result.hits),
            scope=result.scope.scope if result.scope else None,
            scope_source=result.scope.source if result.scope else None,
        )

    @spanned("recall")
    async def find(
        self,
        actor: Actor,
        query: RecallQuery | None,
        statements: StatementsFor = _no_statements,
        prompt: Prompt | None = None,
        among: Collection[str] = (),
    ) -> RecallResult:
        """Return the hits of :meth:`recall`, and the rows of statements in the same round trip.

        Notes no reads and no accesses: the caller does so for the hits that it passes on. Without
        ``query`` only the statements run.
        """
        actor = await self._database.identify(actor)
        try:
            if query is None:
                asker, _, answers = await self._run(actor, [], statements)
                results: list[Hit] = []
            elif query.mode is Mode.HYBRID:
                asker, results, answers = await self._search(
                    actor, query, statements, prompt, among
                )
            else:
                asker, results, answers = await self._in_order(actor, query, statements, prompt)
        except UserMerged as merged:
            return await self.find(actor.now(merged.survivor), query, statements, prompt, among)
        return RecallResult(actor, _scope(asker, actor), results, answers, _names(asker))

    def forget(self) -> None:
        """Drop what is in memory of users: items, and the texts of questions."""
        self._items = ItemCache()
        if isinstance(self._embedder, CachedQueries):
            self._embedder.forget()

    def count(self, hits: Sequence[Hit]) -> None:
        """Count an access of the memories among ``hits``."""
        self._access_counts.note([hit for hit in hits if hit.type == "memory"])

    async def _search(
        self,
        actor: Actor,
        query: RecallQuery,
        statements: StatementsFor,
        prompt: Prompt | None,
        among: Collection[str],
    ) -> tuple[AskerRow, list[Hit], Answers]:
        search = await self.prepare(actor, query, prompt, among)
        found = await self.candidates(actor, search, statements, ranks=self._reranker is None)
        ranking = found.ranking
        if ranking is None:
            candidates = of_rows(found.rows, search.question.names)
            with span("recall.graph"):
                arms = [arm] if (arm := graph_arm(candidates)) else []
            if self._reranker is not None and found.rows:
                best = search.rank(candidates, self._reranker.candidates, arms)
                with span("recall.rerank"):
                    arms += await self._reranker.arms(query.query or "", found.rows, best)
            ranking = search.rank(candidates, arms=arms)
        row_of = {row.id: row for row in found.rows}
        labels = hits.word_labels(search.question.terms)
        reader = hits.Asker(actor.user_id, _names(found.asker))
        ranked_hits = [hits.ranked_hit(row_of[item.id], item, labels, reader) for item in ranking]
        return found.asker, _sorted(ranked_hits, query.sort), found.answers

    async def prepare(
        self,
        actor: Actor,
        query: RecallQuery,
        prompt: Prompt | None = None,
        among: Collection[str] = (),
    ) -> Search:
        """Take a question apart, and embed it."""
        text = query.query or ""
        if len(text) > self._longest_query:
            raise InvalidInput(
                f"must have at most {self._longest_query:,} characters", field="query"
            )
        if self._baseline is None:
            self._baseline = await baseline_of(self._embedder)
        question = take_apart(text)
        embed = self._embedder.embed_query
        if question.names:
            vector, *vectors = await asyncio.gather(embed(text), *map(embed, question.names))
        else:
            vector, vectors = await embed(text), []  # a gather costs two tasks
        filters = _filters(query, prompt)
        if among:
            filters["among"] = list(among)
        if told := days_told(question):
            filters |= {"told_from": told[0], "told_before": told[1], "per_days": PER_DAYS}
        if vectors:
            filters["names"] = question.names
        wish = Wish(
            vector=vector,
            terms=question.terms,
            content_hash=content_hash(text),
            per_arm=max(PER_ARM, query.limit),
            filters=filters,
            names=dict(zip(question.names, vectors, strict=True)),
        )
        binds = {
            **filters,
            "user_id": actor.user_id,
            "agent_id": actor.agent_id,
            "vector": Binary(pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes()),
            "terms": list(question.terms),
            "words": list(question.terms.values()),
            "content_hash": wish.content_hash,
            "statement_hash": statement_hash(text, None, None),
            "per_arm": wish.per_arm,
            "reach": REACH,
            "k1": BM25_K1,
            "b": BM25_B,
            "rank_constant": RANK_CONSTANT,
            **SIZES,
            **WALK,
        }
        now = query.as_of or datetime.now(UTC)
        return Search(query, question, wish, binds, now, self._baseline)

    async def candidates(
        self,
        actor: Actor,
        search: Search,
        statements: StatementsFor = _no_statements,
        *,
        ranks: bool = False,
    ) -> SearchResult:
        """Return the candidates; with ``ranks`` the hits instead, where memory can rank them."""
        await self._catch_up(actor, search.wish)
        for tries in count():
            guesses = tries < TRIES
            found = await self._attempt(actor, search, statements, guesses=guesses, ranks=ranks)
            if found is not None:
                return found
        raise AssertionError("the last attempt guesses nothing")

    async def _catch_up(self, actor: Actor, wish: Wish) -> None:
        """Read what this process has written for the asker: a guess without it would be wrong."""
        viewer, owners = self._items.viewer(actor), owners_of(actor)
        if viewer is None or self._written.isdisjoint(owners):
            return
        self._written.difference_update(owners)
        told_in = wish.filters.get("told_in")
        if known := self._items.binds(actor, told_in):
            changes = Statement(queries.changes(), known, PLANNER, ChangeRow)
            [rows] = await self._database.one_round_trip(actor, changes)
            self._items.note(actor, viewer, rows, told_in)

    async def _attempt(
        self,
        actor: Actor,
        search: Search,
        statements: StatementsFor,
        *,
        guesses: bool,
        ranks: bool,
    ) -> SearchResult | None:
        """Return what an attempt finds; none if a guess was wrong."""
        wish, filters = search.wish, search.wish.filters
        told_in = filters.get("told_in")
        choice = self._items.choose(actor, wish) if guesses else None
        known = self._items.binds(actor, told_in) if filters.keys() <= SUPPORTED else None
        associated = actor.user_id in self._associated
        many_shared = SHARED_OWNER in self._large
        exact = choice is not None or not queries.EXACT_FILTERS.isdisjoint(filters)
        large = not exact and (many_shared or actor.user_id in self._large)
        given = {**search.binds, "many_shared": many_shared, **(known or {})}
        is_ranked = choice is not None and ranks and not associated
        ranking = search.rank(choice.candidates(search.now)) if choice and is_ranked else None
        if choice and ranking is not None:
            given |= choice.hits([hit.row for hit in ranking])
            first = Statement(queries.fetch(filters), given, PLANNER, CandidateRow)
        else:
            sql = queries.candidates(
                filters,
                associated=associated,
                dimensions=len(wish.vector) if large else 0,
                given=choice is not None,
            )
            given |= {"names": wish.name_texts, **(choice.binds if choice else {})}
            first = Statement(sql, given, INDEX_SEARCH if large else PLANNER, CandidateRow)
        # Last: what has not changed by then was as it was known.
        last = [Statement(queries.changes(), known, PLANNER, ChangeRow)] if known else []
        asker, [rows, *changes], answers = await self._run(actor, [first, *last], statements)
        _remember(self._associated, actor.user_id, asker.associated)
        _remember(self._large, SHARED_OWNER, asker.many_shared)
        if not known:
            self._items.begin(actor, rows)
        viewer = _viewer(asker, actor)
        holds = all(self._items.note(actor, viewer, each, told_in) for each in changes)
        if choice is None:
            holds = exact or asker.many_shared == many_shared
        elif ranking is not None:
            holds &= choice.has(rows, search.now)
        if not exact and not large and _many(rows):
            self._large.add(actor.user_id)
            holds = False
        if not holds or associated < asker.associated:
            return None
        rows = choice.with_words(rows) if choice and ranking is None else rows
        return SearchResult(rows, ranking, asker, answers)

    async def _in_order(
        self, actor: Actor, query: RecallQuery, statements: StatementsFor, prompt: Prompt | None
    ) -> tuple[AskerRow, list[Hit], Answers]:
        filters = _filters(query.model_copy(update={"sources": ["memory"]}), prompt)
        binds = filters | {
            "user_id": actor.user_id,
            "agent_id": actor.agent_id,
            "sort": query.sort or _ORDER_OF_MODE[query.mode],
            "count": query.limit,
        }
        listing = Statement(queries.memories_in_order(filters), binds, row_type=OrderedRow)
        asker, [rows], answers = await self._run(actor, [listing], statements)
        reader = hits.Asker(actor.user_id, _names(asker))
        return asker, [hits.ordered_hit(row, reader) for row in rows], answers

    async def _run(
        self, actor: Actor, search: Sequence[Statement], statements: StatementsFor
    ) -> tuple[AskerRow, Answers, Answers]:
        """Return the checked row of the asker, the rows of the search, and all other rows."""
        most_shared = SIZES["most_shared"]
        binds = {"user_id": actor.user_id, "agent_id": actor.agent_id, "most_shared": most_shared}
        about = Statement(queries.asker(), binds, _BY_KEY, AskerRow)
        # The search comes last: its settings stay until the end of the round trip.
        trip = [about, *statements(actor), *search]
        [[asker], *answers] = await self._database.one_round_trip(actor, *trip)
        self._check(asker, actor)
        end = len(answers) - len(search)
        return asker, answers[end:], answers[:end]

    def _check(self, asker: AskerRow, actor: Actor) -> None:
        if not asker.user_known:
            raise NotFound("no such user", field="user_id")
        if actor.agent_id is not None and asker.agent_default is None:
            raise NotFound("no such agent", field="agent_id")
        if asker.model != self._embedder.name:
            raise EmbeddingUnavailable(
                f"the stored vectors are of the model {asker.model}; restart with that model"
            )


def _names(asker: AskerRow) -> SpaceNames:
    return SpaceNames(asker.spaces, asker.authors)


def _filters(query: RecallQuery, prompt: Prompt | None) -> dict[str, Any]:
    everything = len(set(query.sources)) == len(get_args(SourceType))
    filters = {
        "source_types": [] if everything else list(query.sources),
        "kinds": [kind.value for kind in query.kinds],
        "categories": [category.value for category in query.categories],
        "conversation_id": query.conversation_id,
        "space_id": query.space_id,
        "since": query.since,
        "until": query.until,
        "as_of": query.as_of,
    }
    filters = {name: value for name, value in filters.items() if value}
    filters |= binds_of(conditions_of(query.metadata))
    return filters | prompt.filters if prompt else filters


def _sorted(hits: list[Hit], sort: Sort | None) -> list[Hit]:
    keys = {
        Sort.RECENT: lambda hit: hit.at.timestamp(),
        Sort.IMPORTANCE: lambda hit: hit.importance or 0.0,
        Sort.MOST_ACCESSED: lambda hit: hit.access_count or 0,
    }
    # The sort is stable: of equal hits, the more relevant stays first.
    return sorted(hits, key=keys[sort], reverse=True) if sort in keys else hits


def _remember(users: set[UUID | None], user_id: UUID | None, is_true: bool) -> None:
    if not is_true:
        users.discard(user_id)
    elif user_id not in users:
        if len(users) >= MOST_USERS:
            users.clear()
        users.add(user_id)


def _many(candidates: Sequence[CandidateRow]) -> bool:
    return bool(candidates) and candidates[0].items > SIZES["most_own"]


def _viewer(asker: AskerRow, actor: Actor) -> Viewer:
    scope = _scope(asker, actor)
    spaces = frozenset(UUID(space) for space in asker.spaces or ())
    return Viewer(actor.user_id, actor.agent_id, scope.scope if scope else None, spaces)


def _scope(asker: AskerRow, actor: Actor) -> EffectiveScope | None:
    if actor.user_id is None or asker.agent_default is None:
        return None
    facts = ScopeFacts(
        asker.agent_default, asker.preference, asker.toggle, bool(asker.policy_allows)
    )
    return in_effect(facts, actor.user_id)
