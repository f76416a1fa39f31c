"""Recognise questions about the world, which no memory of a person answers."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from remembrancer.analysis import languages
from remembrancer.analysis.segments import fold, runs

FEWEST_FUNCTION_WORDS: Final = 2
"""Below this, the language is a guess."""


def is_impersonal(text: str) -> bool:
    """Return whether a text names nobody, in a language that always says of whom it speaks.

    False where the language is unclear or leaves pronouns out: "¿Qué no debo comer?"
    """
    folded = fold(text).replace("\u2019", "'")
    words = [piece for _, run in runs(folded) for piece in run.split("'")]
    language = languages.detect(words)
    function_words = sum(languages.is_function_word(word, language) for word in words)
    persons = _persons().get(language)
    return (
        persons is not None
        and function_words >= FEWEST_FUNCTION_WORDS
        and persons.isdisjoint(words)
    )


@cache
def _persons() -> dict[str, frozenset[str]]:
    lists = tomllib.loads((files(__package__) / "persons.toml").read_text("utf-8"))
    return {language: frozenset(fold(words).split()) for language, words in lists.items()}
