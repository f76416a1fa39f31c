"""The interface of embedders."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is the cosine similarity.

    Accepts any text, also an empty one. Raises ``EmbeddingUnavailable``, without the text, if the
    model or its endpoint does not answer.
    """

    name: str
    """The model, stored with the data: vectors of two models cannot be compared."""
    dimensions: int
    """Numbers in a vector."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in order: shape (n, dimensions), each of length 1."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query: shape (dimensions,), of length 1."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


def normalised(rows: Vectors) -> Vectors:
    """Scale each row to length 1; a row of zeros becomes the first axis."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    unit[lengths[:, 0] == 0, 0] = 1.0
    return unit


async def in_batches(
    texts: Sequence[str],
    size: int,
    dimensions: int,
    embed: Callable[[Sequence[str]], Awaitable[Vectors]],
) -> Vectors:
    """Return one row per text, embedded ``size`` texts at a time."""
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    rows = [np.empty((0, dimensions), dtype=np.float32), *[await embed(b) for b in batches]]
    return np.concatenate(rows)
