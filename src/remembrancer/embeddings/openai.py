"""Embeddings of any endpoint with OpenAI's API, also a local one."""

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import numpy as np

from remembrancer.embeddings.base import Vectors, in_batches, normalised
from remembrancer.errors import EmbeddingUnavailable

ATTEMPTS = 4
"""Tries per call."""
LONGEST_PAUSE = 30.0
"""Maximum seconds before the next try, whatever the endpoint asks for."""
LARGEST = 1e15
"""Bound of the numbers in a vector. The length of one with larger ones may not be finite."""
MAX_BYTES = 16_000
"""Maximum UTF-8 bytes of a text, safely below the models' limit of 8,191 tokens."""


class OpenAIEmbedder:
    """Embedder behind ``POST {base_url}/embeddings``.

    A call has up to ``batch_size`` texts and takes up to ``timeout`` seconds. Broken connections
    and answers 429 and 5xx are retried, after the pause in ``Retry-After`` or else after ``pause``
    seconds, doubled each time. ``text-embedding-3`` models can shorten their vectors, so they get
    the size in the request; other models must return ``dimensions`` numbers by default.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        api_key: str | None = None,
        batch_size: int = 64,
        timeout: float = 30.0,
        pause: float = 0.5,
    ) -> None:
        self.name = model
        self.dimensions = dimensions
        self._batch_size = batch_size
        self._pause = pause
        self._timeout = timeout
        self._url = f"{base_url.rstrip('/')}/embeddings"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=timeout)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, in order: shape (n, dimensions)."""
        return await in_batches(texts, self._batch_size, self.dimensions, self._embed)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, of length 1: shape (dimensions,)."""
        vector: Vectors = (await self._embed([text]))[0]
        return vector

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self._client.aclose()

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.name, "input": [_sendable(text) for text in texts]}
        if self.name.startswith("text-embedding-3"):
            body["dimensions"] = self.dimensions
        response = await self._post(body)
        try:
            rows = _rows(response.json())
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise EmbeddingUnavailable(
                "the embedding endpoint's answer is malformed; check its base URL"
            ) from None
        if rows.shape != (len(texts), self.dimensions):
            raise EmbeddingUnavailable(
                f"the embedding endpoint did not return {len(texts)} vectors of {self.dimensions} "
                "numbers; check the model and its dimensions"
            )
        return normalised(rows)

    async def _post(self, body: Mapping[str, Any]) -> httpx2.Response:
        problem = ""
        for attempt in range(ATTEMPTS):
            wait = None
            try:
                # The client's own timeout is for each read, not for the whole answer.
                async with asyncio.timeout(self._timeout):
                    response = await self._client.post(self._url, json=body)
            except (httpx2.RequestError, TimeoutError) as error:
                # Drop its text and its cause: the request has the texts of users.
                problem = type(error).__name__
            else:
                if response.is_success:
                    return response
                problem = f"HTTP {response.status_code}"
                if response.status_code != 429 and response.status_code < 500:
                    break
                wait = _retry_after(response.headers.get("Retry-After"))
            if attempt + 1 < ATTEMPTS:
                await asyncio.sleep(self._wait(attempt) if wait is None else wait)
        raise EmbeddingUnavailable(
            f"the embedding endpoint failed ({problem}); try again later"
        ) from None

    def _wait(self, attempt: int) -> float:
        # A random spread, so that refused workers do not all return at once.
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        return min(self._pause * 2.0**attempt * spread, LONGEST_PAUSE)


def _sendable(text: str) -> str:
    """Return a text for the endpoint: valid Unicode, not too long, never blank."""
    cut = text[:MAX_BYTES].encode(errors="replace")[:MAX_BYTES].decode(errors="ignore")
    return cut if cut.strip() else "."


def _rows(answer: Any) -> Vectors:
    data = sorted(answer["data"], key=lambda item: item["index"])
    rows = np.array([item["embedding"] for item in data], dtype=np.float64)
    if [item["index"] for item in data] != list(range(len(data))):
        raise ValueError("vectors are missing")
    if not (np.abs(rows) < LARGEST).all():
        raise ValueError("vectors are not finite, or so large that their length is not")
    return rows.astype(np.float32)


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, a number or a date; null if invalid."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_PAUSE) if math.isfinite(seconds) else None
