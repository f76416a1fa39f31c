"""Rules of associations: growing a neighbourhood, suggestions. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from remembrancer.associations.rows import SimilarRow
from remembrancer.ids import MemoryKey
from remembrancer.memories.schemas import Relation, Suggestion
from remembrancer.text import normalised

LEAST_SIMILARITY: Final = 0.75
"""Least cosine similarity of two memories for a suggestion."""
MOST_SUGGESTIONS: Final = 5
"""Suggestions for one memory."""

_WORD: Final = re.compile(r"\d[\d.,:/-]*\d|[^\W_]+(?:'[^\W_]+)?|[^\w\s.,:;!'\"()]")
_SHORT_FORMS: Final = {
    "can't": "cannot",
    "won't": "will not",
    "n't": " not",
    "'m": " am",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
}
_FILLERS: Final = frozenset(
    "a an the that really very quite just also too actually please well oh so".split()  # noqa: SIM905
)
"""Words whose lack contradicts nothing."""

Step = tuple[MemoryKey, MemoryKey, float]
"""A step along an association: from a memory to another, with its weight."""


def spread(
    frontier: Mapping[MemoryKey, float], steps: Iterable[Step], known: Collection[MemoryKey]
) -> list[tuple[MemoryKey, float]]:
    """Return the new memories that ``steps`` lead to from ``frontier``, the strongest first.

    Each once, with the strength of its strongest path: the product of the weights. At the same
    strength, the lower key comes first.
    """
    reached: dict[MemoryKey, float] = {}
    for source, target, weight in steps:
        if target not in known:
            reached[target] = max(reached.get(target, 0.0), frontier[source] * weight)
    return sorted(reached.items(), key=lambda item: (-item[1], item[0]))


def suggest_relation(
    *,
    similarity: float,
    near_duplicate: float,
    same_words: bool,
    same_subject: bool,
    later: bool,
) -> Relation | None:
    """Return the relation of a memory to another, or None.

    Almost the same statement with one different word ("gate 12", "gate 13") contradicts the
    other. A later one of the same kind on the same subject updates it.
    """
    if similarity >= near_duplicate and not same_words:
        return Relation.CONTRADICTS
    if same_subject and later:
        return Relation.UPDATES
    return Relation.RELATED_TO if similarity >= LEAST_SIMILARITY else None


def suggestions(pairs: Iterable[SimilarRow], near_duplicate: float) -> dict[str, list[Suggestion]]:
    """Return suggestions by memory, the most similar first."""
    result: dict[str, list[Suggestion]] = {}
    for pair in pairs:
        relation = suggest_relation(
            similarity=pair.similarity,
            near_duplicate=near_duplicate,
            same_words=telling_words(pair.content) == telling_words(pair.target_content),
            same_subject=bool(pair.same_subject),
            later=pair.later,
        )
        of_memory = result.setdefault(pair.memory_id, [])
        if relation is not None and len(of_memory) < MOST_SUGGESTIONS:
            of_memory.append(
                Suggestion(
                    target_id=pair.target_id,
                    relation=relation,
                    similarity=round(pair.similarity, 4),
                    content=pair.target_content,
                )
            )
    return result


def telling_words(statement: str) -> list[str]:
    """Return the words and symbols whose change contradicts a statement."""
    text = normalised(statement).replace("\u2019", "'")
    for short, long in _SHORT_FORMS.items():
        text = text.replace(short, long)
    return [word for word in _WORD.findall(text) if word not in _FILLERS]
