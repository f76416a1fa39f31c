"""The interface of embedders."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

UNRELATED: Final = (
    "The kettle is boiling over.",
    "Our train to Vienna leaves at nine.",
    "He never learned to swim.",
    "Interest rates went up again.",
    "Which colour do you like best?",
    "The index of the list is out of range.",
    "My sister plays the trombone.",
    "Two cups of flour and a pinch of salt.",
    "Penguins breed on the ice.",
    "I signed the lease yesterday.",
    "The referee stopped the match.",
    "Her boss wants the report by Friday.",
)
"""Sentences that have nothing to do with each other. Vectors of ``bge`` depend on them: other
sentences need another name of that model."""
_ANSWERS: Final = (
    ("What is the name of your dog?", "Our dog Rex loves the beach."),
    ("Where did you go on holiday?", "We spent two weeks in Greece last summer."),
    ("Which sport does he do?", "He plays tennis every Sunday."),
    ("What does she work as?", "My sister got a job as a nurse."),
    ("When did they marry?", "Their wedding was in June."),
    ("Which food can you not eat?", "I am allergic to nuts."),
    ("What are you reading?", "This novel about the sea is wonderful."),
    ("What is wrong with the car?", "The engine makes a strange noise."),
)
"""Questions, each with an answer."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a cosine similarity of a model means: models differ widely."""

    unrelated: float
    """Mean similarity of a question and the answer to another one."""
    alike: float
    """Mean similarity of a question and its answer, in other words."""


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


async def baseline_of(embedder: Embedder) -> Baseline:
    """Measure the baseline of a model on questions and answers."""
    questions = await embedder.embed_documents([question for question, _ in _ANSWERS])
    answers = await embedder.embed_documents([answer for _, answer in _ANSWERS])
    similarity = (questions @ answers.T).astype(np.float64)
    pairs = np.eye(len(similarity), dtype=bool)
    return Baseline(float(similarity[~pairs].mean()), float(similarity[pairs].mean()))


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
