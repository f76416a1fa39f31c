"""Which association to suggest between two memories. Pure; nothing is ever made by itself."""

from collections.abc import Iterable
from typing import Any, Final

from remembrancer.memories.rules import says_the_same
from remembrancer.memories.schemas import Relation

LEAST_SIMILARITY: Final = 0.75
"""Cosine similarity from which two memories are worth associating."""
MOST_SUGGESTIONS: Final = 5
"""How many a memory gets."""


def proposed(
    *,
    similarity: float,
    near_duplicate: float,
    same_words: bool,
    same_subject: bool,
    later: bool,
) -> Relation | None:
    """Return how a memory seems to stand to another, or None if there is little between them.

    What is said in nearly the same way, but with other telling words ("gate 12", "gate 13"),
    contradicts the other. What was recorded later on the same subject, as the same kind,
    updates it.
    """
    if similarity >= near_duplicate and not same_words:
        return Relation.CONTRADICTS
    if same_subject and later:
        return Relation.UPDATES
    return Relation.RELATED_TO if similarity >= LEAST_SIMILARITY else None


def suggested(pairs: Iterable[Any], near_duplicate: float) -> dict[str, list[dict[str, Any]]]:
    """Return what to suggest for each memory, the most similar first, from pairs in that order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for pair in pairs:
        relation = proposed(
            similarity=pair.similarity,
            near_duplicate=near_duplicate,
            same_words=says_the_same(pair.content, pair.target_content),
            same_subject=bool(pair.same_subject),
            later=pair.later,
        )
        mine = found.setdefault(pair.memory_id, [])
        if relation is not None and len(mine) < MOST_SUGGESTIONS:
            mine.append(
                {
                    "target_id": pair.target_id,
                    "relation": relation,
                    "similarity": round(pair.similarity, 4),
                    "content": pair.target_content,
                }
            )
    return found
