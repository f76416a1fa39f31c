"""What every embedder offers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns text into vectors whose dot product is their cosine similarity.

    Any text is accepted, the empty one included. Raises ``EmbeddingUnavailable`` where the
    model or its endpoint does not answer; the error never holds the text.
    """

    name: str
    """Identifies the model; stored beside the data, since vectors of two models do not mix."""
    dimensions: int
    """Numbers in a vector."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in order: shape (n, dimensions), each of length 1."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question: shape (dimensions,), of length 1."""
        ...

    async def close(self) -> None:
        """Release connections and memory; the embedder is not used afterwards."""
        ...


def normalised(rows: Vectors) -> Vectors:
    """Scale each row to length 1; a row of zeros, which points nowhere, becomes the first axis."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    unit[lengths[:, 0] == 0, 0] = 1.0
    return unit
