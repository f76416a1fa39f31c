"""Rerank the best candidates: one more arm, by a model that reads question and text.

Without an answer in time, recall goes on without the arm. Log lines name only the kind of error:
the request has texts of users.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

import httpx2
import numpy as np
from pydantic import AliasChoices, BaseModel, Field, TypeAdapter

from remembrancer.errors import ConfigurationError
from remembrancer.recall.ranker import Arm, RankedItem
from remembrancer.recall.rows import CandidateRow
from remembrancer.search.index import voiced
from remembrancer.settings import RerankSettings

log = logging.getLogger(__name__)

VOTE: Final = 1.2
"""Weight of the arm beside the ranking by signals (decision 33)."""
MAX_CHARACTERS: Final = 4000
"""Maximum characters of a text in a request; the rest is ignored."""
_URLS: Final = {
    "cohere": "https://api.cohere.com/v2/rerank",
    "jina": "https://api.jina.ai/v1/rerank",
    "tei": "http://127.0.0.1:8080/rerank",
}


class _Score(BaseModel):
    index: int = Field(ge=0)
    score: float = Field(
        allow_inf_nan=False, validation_alias=AliasChoices("relevance_score", "score")
    )


_scores: Final = TypeAdapter(list[_Score])


class Reranker:
    """Scores the best candidates by a rerank endpoint; see :class:`RerankSettings`."""

    def __init__(self, settings: RerankSettings) -> None:
        if settings.provider in ("cohere", "jina") and not settings.model:
            raise ConfigurationError(
                "the rerank endpoint needs a model: set REMEMBRANCER_RERANK__MODEL"
            )
        self.candidates = settings.candidates
        self._settings = settings
        self._url = str(settings.url or _URLS[settings.provider])
        key = settings.api_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=settings.timeout)

    async def arms(
        self, query: str, candidates: Sequence[CandidateRow], best: Sequence[RankedItem]
    ) -> list[Arm]:
        """Return the arm that ranks ``best`` alone; none if the endpoint fails or is too slow."""
        row_of = {candidate.id: row for row, candidate in enumerate(candidates)}
        rows = [row_of[item.id] for item in best]
        texts = voiced(
            [candidates[row].content for row in rows],
            [candidates[row].sender_name or "" for row in rows],
        )
        raw, present = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=bool)
        try:
            # The client's own timeout is for each read, not for the whole answer.
            async with asyncio.timeout(self._settings.timeout):
                scores = await self._ask(query, texts)
            for each in scores:
                raw[rows[each.index]] = each.score
                present[rows[each.index]] = True
        except (
            httpx2.HTTPError,
            TimeoutError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            kind = type(error).__name__
            if isinstance(error, httpx2.HTTPStatusError):
                kind = f"HTTP {error.response.status_code}"
            log.warning("the rerank endpoint failed (%s); recall goes on without it", kind)
            return []
        nobody = np.zeros(len(candidates), dtype=np.int64)
        return [Arm("rerank", raw, raw, present, nobody, vote=VOTE)]

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self._client.aclose()

    async def _ask(self, query: str, texts: Sequence[str]) -> list[_Score]:
        query, texts = query[:MAX_CHARACTERS], [text[:MAX_CHARACTERS] for text in texts]
        response = await self._client.post(self._url, json=self._body(query, texts))
        answer = response.raise_for_status().json()
        return _scores.validate_python(
            answer if self._settings.provider == "tei" else answer["results"]
        )

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._settings.provider == "tei":
            return {"query": query, "texts": texts, "truncate": True}
        body = {
            "model": self._settings.model,
            "query": query,
            "documents": texts,
            "top_n": len(texts),
        }
        return body | ({"return_documents": False} if self._settings.provider == "jina" else {})
