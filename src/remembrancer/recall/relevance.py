"""How sure recall is that a question was spoken of, on a scale that holds for any store. Pure.

A rank says which candidate is best. It does not say that the best one is any good. The coefficients
are those of a logistic regression, rounded; ``benchmarks/relevance.py`` measures what they reach
(``docs/decisions/0037-relevance.md``).
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from remembrancer.analysis import analyse
from remembrancer.embeddings.base import Baseline
from remembrancer.recall.candidates import Candidates, Floats
from remembrancer.recall.signals import SIGNALS, Interpretation, Measures

COEFFICIENTS: Final = {
    "nearest": 2.4,
    "nearness": 2.9,
    "words": 4.1,
    "unknown": -1.5,
    "days": 3.9,
    "items": -0.9,
}
"""What a signal adds to the logarithm of the odds, times its value.

`nearest`: nearness of meaning of the candidate nearest to the question: 0 is the baseline's
`unrelated`, 1 its `alike`. `nearness`: the hit's own, less that to the names of senders. `words`:
share of the question's words in the hit and its neighbours, by rarity. `unknown`: share of its
words that no candidate has, by rarity. `days`: whether a candidate was said in the days that it
names. `items`: logarithm of the number of items that the asker sees: among many, one is near by
chance. Names of senders are no words here.
"""
INTERCEPT: Final = -0.9
SHARE: Final = 0.7
"""Part of the relevance of the first hit that the others have at least: an answer is often beside
the words of the question."""


def relevance(
    candidates: Candidates,
    measures: Measures,
    question: Interpretation,
    baseline: Baseline,
    *,
    order: Sequence[int],
) -> Floats:
    """Return the relevance of hits, 0 to 1: an array of shape (hits,).

    ``order`` has the rows of the hits, best first. Hits with the text of the question have a
    relevance of 1, and say nothing about the others.
    """
    others, items = np.flatnonzero(~candidates.exact), candidates.items
    is_other = ~candidates.exact[order]
    if not is_other.any():
        return np.ones(len(order))
    # The score of an unseen word in an item of average length: its rarity (candidates.sql).
    rarest = math.log(2 * items + 2)
    words = _words(question)
    # A word that no candidate has may have no column.
    known = [word for word in words if word < candidates.words.shape[1]]
    best = candidates.words[others][:, known].max(axis=0)
    rarity = np.where(best > 0, np.minimum(best, rarest), rarest)
    unknown = float(rarity[best == 0].sum()) + rarest * (len(words) - len(known))
    total = float(rarity[best > 0].sum()) + unknown or 1.0
    found = np.minimum(measures.near_words[order][:, known], rarity).sum(axis=1)
    scale = baseline.alike - baseline.unrelated
    signals = {
        "nearest": (measures.cosine[others].max() - baseline.unrelated) / scale,
        "nearness": (measures.similarity[order] - baseline.unrelated) / scale,
        "words": found / total,
        "unknown": unknown / total,
        "days": measures.matrix[others, SIGNALS.index("days")].max(),
        "items": math.log(items),
    }
    logit = INTERCEPT + sum(COEFFICIENTS[name] * value for name, value in signals.items())
    chance = 1 / (1 + np.exp(-np.minimum(np.maximum(logit, -50), 50)))
    most = chance[is_other.argmax()]
    return np.where(is_other, SHARE * most + (1 - SHARE) * np.minimum(chance, most), 1.0)


def _words(question: Interpretation) -> list[int]:
    """Return the numbers of the question's words, without the names of senders."""
    terms, names = question.question.terms, question.question.names
    spelled = [*question.senders, *(names[number] for number in question.names)]
    of_names = {terms[term] for name in spelled for term in analyse(name) if term in terms}
    return sorted(set(terms.values()) - of_names)
