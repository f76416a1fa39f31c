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


class Marker:
    """Marks what a query names in the texts of one page. The query is stemmed once."""

    def __init__(self, query: str) -> None:
        self._terms = query_terms(query).keys()
        self._starts = {term[:_SAME_START] for term in self._terms}
        self._named = set(_WORDS.findall(query.casefold()))
        self._words: dict[str, bool] = {}
        letters = query.strip()
        self._letters = None
        if len(letters) >= _SAME_START:
            self._letters = re.compile(re.escape(letters), re.IGNORECASE)

    def parts(self, text: str) -> list[Part]:
        """Return the parts of a text in order: those that the query names in any form, and others.

        Together they are the text.
        """
        ends: dict[int, int] = {}
        last = 0
        for start, stop in sorted([*self._same_words(text), *self._same_letters(text)]):
            # Spans that meet are one.
            last = start if start > ends.get(last, -1) else last
            ends[last] = max(stop, ends.get(last, 0))
        parts: list[Part] = []
        here = 0
        for start, stop in ends.items():
            parts += [Part(text[here:start], matches=False), Part(text[start:stop], matches=True)]
            here = stop
        return [part for part in [*parts, Part(text[here:], matches=False)] if part.text]

    def _same_words(self, text: str) -> list[tuple[int, int]]:
        return [word.span() for word in _WORDS.finditer(text) if self._names(word[0].casefold())]

    def _names(self, word: str) -> bool:
        # A letter may be the stem of a name.
        is_stem = len(word) == 1 and word not in self._named
        if is_stem or word[:_SAME_START] not in self._starts:
            return False
        if word not in self._words:
            self._words[word] = bool(self._terms & query_terms(word).keys())
        return self._words[word]

    def _same_letters(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._letters.finditer(text)] if self._letters else []
