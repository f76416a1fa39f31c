"""Detect the language of a text for stemming, and stem words.

The script decides if it can. Texts in Latin letters are decided by a count of function words,
with English as the default. A library such as py3langid is no better on a line of chat and costs
more than the rest of the analysis. A wrong language does no harm: a query has the stems of every
language, so it finds a word in a text of any detected language.
"""

import threading
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Final

import Stemmer

DEFAULT = "english"
_SAMPLE = 400
"""Words counted to detect the language; more would not change the result."""

_WORDS = tomllib.loads((files(__package__) / "function_words.toml").read_text("utf-8"))
LATIN = tuple(_WORDS["latin"])
"""Languages that a text in Latin letters may have."""
_DEFAULT: Final = LATIN.index(DEFAULT)

_BY_SCRIPT = (
    (0x0370, 0x0400, "greek"),
    (0x0400, 0x0530, "russian"),
    (0x0530, 0x0590, "armenian"),
    (0x0600, 0x0780, "arabic"),
    (0x0900, 0x0980, "hindi"),
    (0x0B80, 0x0C00, "tamil"),
)
_local = threading.local()


def of_script(word: str) -> str | None:
    """Return the language of a word's script; null for a script of several languages."""
    point = ord(word[0])
    return next((name for low, high, name in _BY_SCRIPT if low <= point < high), None)


def is_function_word(word: str, latin: str) -> bool:
    """Return whether a folded word is a function word of its language, by default ``latin``."""
    language = of_script(word) or latin
    return word in _stop_words().get(language, ())


def detect(words: Iterable[str]) -> str:
    """Detect the language of folded words in Latin letters; ``english`` if unclear.

    A function word of several languages gives each of them a part of a vote. One such word alone
    decides nothing: "care" is Romanian too.
    """
    votes, seen = [0] * len(LATIN), [0] * len(LATIN)
    shares = _shares()
    for word in shares.keys() & islice(words, _SAMPLE):
        for language, share in shares[word]:
            votes[language] += share
            seen[language] += 1
    most = max(votes)
    best = votes.index(most)
    return LATIN[best] if seen[best] > 1 and most > votes[_DEFAULT] else DEFAULT


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    lists = {**_WORDS["latin"], **_WORDS["other"]}
    return {language: frozenset(words.split()) for language, words in lists.items()}


@cache
def _shares() -> dict[str, list[tuple[int, int]]]:
    """Return the languages of each function word, by number, with their parts of its vote."""
    owners: dict[str, list[int]] = {}
    for language, words in enumerate(_WORDS["latin"].values()):
        for word in dict.fromkeys(words.split()):
            owners.setdefault(word, []).append(language)
    # Integers, so that the sum does not depend on the order of the words.
    return {
        word: [(number, 720_720 // len(numbers)) for number in numbers]
        for word, numbers in owners.items()
    }


def stem(words: Sequence[str], language: str) -> list[str]:
    """Stem folded words; safe to call from any thread."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        # Two threads must not share a PyStemmer object.
        stemmers[language] = Stemmer.Stemmer(language)
    stems: list[str] = stemmers[language].stemWords(words)
    return stems
