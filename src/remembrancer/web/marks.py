"""The words of a text that a search is for."""

import re
from dataclasses import dataclass

from remembrancer.analysis import query_terms

_WORDS = re.compile(r"\w+")
_SAME_START = 2
"""A word whose first letters no term has is not looked at: stemming takes time."""


@dataclass(frozen=True, slots=True)
class Part:
    text: str
    matches: bool


def marks(text: str, query: str) -> list[Part]:
    """Return the parts of a text in order: those that ``query`` names, in any form, and the rest.

    Together they are the text.
    """
    ends: dict[int, int] = {}
    last = 0
    for start, stop in sorted([*_same_words(text, query), *_same_letters(text, query)]):
        # Spans that meet are one.
        last = start if start > ends.get(last, -1) else last
        ends[last] = max(stop, ends.get(last, 0))
    parts: list[Part] = []
    here = 0
    for start, stop in ends.items():
        parts += [Part(text[here:start], matches=False), Part(text[start:stop], matches=True)]
        here = stop
    return [part for part in [*parts, Part(text[here:], matches=False)] if part.text]


def _same_words(text: str, query: str) -> list[tuple[int, int]]:
    terms = query_terms(query)
    starts = {term[:_SAME_START] for term in terms}
    same = {
        word
        for word in set(_WORDS.findall(text))
        if word.casefold()[:_SAME_START] in starts and terms.keys() & query_terms(word).keys()
    }
    return [word.span() for word in _WORDS.finditer(text) if word[0] in same]


def _same_letters(text: str, query: str) -> list[tuple[int, int]]:
    query = query.strip()
    if len(query) < _SAME_START:
        return []
    return [match.span() for match in re.finditer(re.escape(query), text, re.IGNORECASE)]
