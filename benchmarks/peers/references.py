"""What a few lines do: vectors alone, and BM25 and vectors by plain RRF."""

import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np

from benchmarks.peers.base import Bench, CachedVectors, Talk, voiced
from remembrancer.analysis import analyse, query_terms

RANK_CONSTANT = 60
"""The k of reciprocal rank fusion, as in its paper."""
SATURATION, LENGTH = 1.5, 0.75
"""k1 and b of BM25."""


@asynccontextmanager
async def open_vectors(bench: Bench) -> AsyncIterator["Reference"]:
    """Rank by vectors alone."""
    yield Reference(bench.vectors, words=False)


@asynccontextmanager
async def open_fused(bench: Bench) -> AsyncIterator["Reference"]:
    """Rank by BM25 and vectors."""
    yield Reference(bench.vectors, words=True)


class Reference:
    def __init__(self, vectors: CachedVectors, *, words: bool) -> None:
        self._embedder = vectors
        self._words = words
        self._vectors: dict[str, np.ndarray] = {}
        self._index: dict[str, BM25] = {}

    async def add(self, talk: Talk) -> None:
        texts = [voiced(turn) for turn in talk.turns]
        self._vectors[talk.name] = await self._embedder.embed_documents(texts)
        if self._words:
            self._index[talk.name] = BM25([analyse(text) for text in texts])

    async def recall(self, talk: Talk, question: str, limit: int) -> Sequence[str]:
        vector = await self._embedder.embed_query(question)
        ranking = score = self._vectors[talk.name] @ vector
        if self._words:
            words = self._index[talk.name].scores(query_terms(question))
            ranking = reciprocal(score) + np.where(words > 0, reciprocal(words), 0)
        best = np.argsort(-ranking, kind="stable")[:limit]
        return [talk.turns[row].id for row in best]


class BM25:
    """Okapi's BM25 of a few thousand texts, by the terms that Remembrancer uses."""

    def __init__(self, texts: Sequence[dict[str, int]]) -> None:
        self._texts = texts
        lengths = np.array([sum(terms.values()) for terms in texts])
        self._norm = SATURATION * (1 - LENGTH + LENGTH * lengths / lengths.mean())
        self._having = Counter(term for terms in texts for term in terms)

    def scores(self, query: dict[str, int]) -> np.ndarray:
        """Return the score of each text; ``query`` numbers each form by its word."""
        best = np.zeros((max(query.values(), default=-1) + 1, len(self._texts)))
        for term, word in query.items():
            having = self._having[term]
            weight = math.log(1 + (len(self._texts) - having + 0.5) / (having + 0.5))
            counts = np.array([terms.get(term, 0) for terms in self._texts])
            score = weight * counts * (SATURATION + 1) / (counts + self._norm)
            best[word] = np.maximum(best[word], score)
        return best.sum(axis=0)


def reciprocal(scores: np.ndarray) -> np.ndarray:
    """Return the share of each text in reciprocal rank fusion."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return 1 / (RANK_CONSTANT + ranks)
