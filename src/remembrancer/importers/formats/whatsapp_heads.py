"""Date and time before each message of a WhatsApp chat, in the forms of many languages. Pure.

WhatsApp writes both as the phone's region does: any order and separator, digits of any script,
the time before the date, a word between them, a half of the day before or after the time.
"""

import re
from dataclasses import dataclass
from functools import cache

from remembrancer.importers.formats.whatsapp_words import MARKS, table

_MARK = f"[{MARKS}]{{0,3}}"
_BREAK = rf"{_MARK}(?:[./-]|[년年월月])\s?{_MARK}"
_DATE = (
    rf"(?P<first>\d{{1,4}}){_BREAK}(?P<middle>\d{{1,2}}){_BREAK}(?P<last>\d{{1,4}})"
    rf"{_MARK}(?:[.日일]|\s?\u0433\.?)?"
)
_WORD = r"[^\W\d_][^\d\n:\[\]-]{0,16}?"
_TIME = (
    rf"(?:(?P<before>{_WORD})\s?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})"
    rf"(?:[:.](?P<second>\d{{2}}))?(?:\s?(?P<after>{_WORD}))?"
)
_GAP = rf"{_MARK}[,،]?{_MARK}\s?{_MARK}"
_END = rf"{_MARK}(?:\]\s?|\s[-\u2013]\s)(?P<rest>.*)"
_HEADS = tuple(
    re.compile(rf"{_MARK}\[?{_MARK}{first}{_GAP}{second}{_END}", re.DOTALL)
    for first, second in ((_DATE, _TIME), (_TIME, _DATE))
)


_FIRST_YEAR, _ERA = 2009, 543
"""WhatsApp began in 2009, which is the year 2552 of Thailand."""


def _key(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


@cache
def _halves() -> dict[str, str]:
    """Return the half of the day by the words for it; of other words, none."""
    words = table("times")
    return {_key(word): half for half, listed in words.items() for word in listed}


@dataclass(frozen=True, slots=True)
class Head:
    date: tuple[str, str, str]
    hour: int
    minute: int
    second: int
    rest: str
    """What follows: the sender and the message."""

    @property
    def is_valid(self) -> bool:
        return self.hour < 24 and self.minute < 60 and self.second < 60


def head(line: str) -> Head | None:
    """Return the head of a line; null for a line that goes on with the message before it."""
    match = next(filter(None, (pattern.match(line) for pattern in _HEADS)), None)
    if match is None:
        return None
    words = [word for word in (match["before"], match["after"]) if word]
    halves = [_halves().get(_key(word)) for word in words]
    if None in halves:
        return None
    half = next((half for half in halves if half != "neither"), None)
    hour = _hour(int(match["hour"]), half)
    date = (match["first"], match["middle"], match["last"])
    return Head(date, hour, int(match["minute"]), int(match["second"] or 0), match["rest"])


def _hour(hour: int, half: str | None) -> int:
    if half is None or (half == "noon" and hour > 10):
        return hour
    return hour % 12 + (0 if half == "morning" else 12)


def year(digits: str) -> int:
    """Return the year that WhatsApp means; raise ``ValueError`` for one in which it was not."""
    if len(digits) not in {2, 4}:
        raise ValueError(digits)
    number = int(digits) + (0 if len(digits) == 4 else 2000)
    if len(digits) == 2 and number >= 2000 + (_FIRST_YEAR + _ERA) % 100:
        number += 500
    number -= _ERA if number >= _FIRST_YEAR + _ERA else 0
    if not _FIRST_YEAR <= number < _FIRST_YEAR + 100:
        raise ValueError(digits)
    return number
