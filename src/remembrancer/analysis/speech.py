"""What a text shows at a glance: who speaks, whether it tells a time, whether it asks."""

import re
import tomllib
from importlib.resources import files
from typing import Any, Final, NamedTuple

LONGEST: Final = 400
"""Characters that are read: recall reads hundreds of texts for an answer."""
TABLES: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    (files(__package__) / "speech.toml").read_text("utf-8")
)
_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f", "\u037e")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DIGIT: Final = re.compile(r"\d")


class Speech(NamedTuple):
    words: int
    """The number of words, of those that are read."""
    first_person: bool
    tells_time: bool
    """Whether it has a word for a time, or a number."""
    asks: bool
    """Whether it has a question."""
    ends_asking: bool


def speech(text: str) -> Speech:
    """Look at the start of a text. The words are those of ``speech.toml``, in any language."""
    start = text[:LONGEST].lower().replace("\u2019", "'")
    words = _WORD.findall(start)
    return Speech(
        words=len(words),
        first_person=not _FIRST_PERSON.isdisjoint(words),
        tells_time=not _TIME.isdisjoint(words) or _DIGIT.search(start) is not None,
        asks=any(mark in start for mark in _QUESTION_MARKS),
        ends_asking=text.rstrip().endswith(_QUESTION_MARKS),
    )


def _words(table: str) -> frozenset[str]:
    return frozenset(word for words in TABLES[table].values() for word in words.split())


_FIRST_PERSON: Final = _words("first_person")
_TIME: Final = _words("time")
