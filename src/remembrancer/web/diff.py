"""The difference between two texts, word by word."""

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_MOST_PAIRS = 500_000
"""Pairs of a word in one text and the same one in the other; with more, texts are shown whole."""


@dataclass(frozen=True, slots=True)
class Change:
    kind: Literal["same", "gone", "new"]
    text: str


def word_changes(before: str, after: str) -> list[Change]:
    """Return the changes from ``before`` to ``after``, in order.

    All but ``gone`` make up ``after``; all but ``new`` make up ``before``.
    """
    old, new = _split(before), _split(after)
    counts = Counter(new)
    if sum(counts[word] for word in old) > _MOST_PAIRS:
        return [Change("gone", before), Change("new", after)]
    changes: list[Change] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            changes.append(Change("same", "".join(old[a:b])))
            continue
        if a < b:
            changes.append(Change("gone", "".join(old[a:b])))
        if c < d:
            changes.append(Change("new", "".join(new[c:d])))
    return changes


def _split(text: str) -> list[str]:
    return re.findall(r"\s+|[^\s\w]|\w+", text)
