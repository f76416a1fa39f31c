"""Recognise texts that say nothing: thanks, greetings, "ok"."""

from functools import cache
from importlib.resources import files
from typing import Final

from remembrancer.analysis.segments import fold, runs

MOST_WORDS: Final = 4
LONGEST: Final = 100
_QUESTION_MARKS: Final = frozenset("?\uff1f\u061f\u037e")


def is_acknowledgement(text: str) -> bool:
    """Return whether a text only thanks, greets, agrees or declines, and asks nothing."""
    if len(text) >= LONGEST or not _QUESTION_MARKS.isdisjoint(text):
        return False
    words = _tokens(text)
    return len(words) <= MOST_WORDS and _known().issuperset(words)


def _tokens(text: str) -> list[str]:
    return [run for kind, run in runs(fold(text)) if kind != "emoji"]


@cache
def _known() -> frozenset[str]:
    text = files("remembrancer.analysis").joinpath("acknowledgements.txt").read_text("utf-8")
    return frozenset(_tokens(text))
