"""Take a question apart, without a language model: its words, names, days, and what it asks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Final

from remembrancer.analysis import languages
from remembrancer.analysis.analyser import query_terms
from remembrancer.analysis.speech import TABLES, speech

MOST_NAMES: Final = 2
"""Each costs an embedding."""


@dataclass(frozen=True, slots=True)
class Question:
    terms: dict[str, int] = field(default_factory=dict)
    """Its terms without the words of its date, each with the number of its word, from 0."""
    names: tuple[str, ...] = ()
    """Words that may be names: with a capital, after the first word. Without any, in English: after
    "did" or "has", or before "'s". At most ``MOST_NAMES``; none in a text that asks nothing, and in
    German, which gives every noun a capital."""
    days: tuple[date, date] | None = None
    """The first and the last day of the date that it has."""
    asks_when: bool = False


def take_apart(text: str) -> Question:
    """Take a question apart. A date has a year: "7 May 2023", "May 7, 2023", "2023-05-07",
    "May 2023", with the months of the languages of ``speech.toml``."""
    dated = next(_dates(text), None)
    rest = text if dated is None else text[: dated[0].start()] + text[dated[0].end() :]
    # A question that has nothing but a date is about its words.
    terms = query_terms(rest) or query_terms(text)
    return Question(terms, _names(rest), dated and dated[1], _asks_when(text))


def _names(text: str) -> tuple[str, ...]:
    words = _WORD.findall(text)
    names = dict.fromkeys(w for w in words[1:] if w[0].isupper() and len(w) > 2)
    names = names or dict.fromkeys(
        word
        for word in map("".join, _UNCAPPED.findall(text))
        if not languages.is_function_word(word, languages.DEFAULT)
    )
    if not names or not speech(text).asks or languages.detect(map(str.lower, words)) == "german":
        return ()
    return tuple(names)[:MOST_NAMES]


def _asks_when(text: str) -> bool:
    words = [match[0].lower() for match in _WORD.finditer(text[:100])]
    starts = (" ".join(words), " ".join(words[1:]))
    return any(f"{start} ".startswith(_WHEN) for start in starts)


def _dates(text: str) -> Iterator[tuple[re.Match[str], tuple[date, date]]]:
    lower = text.lower()
    # In some scripts lower case has another length: the places of a match would be wrong.
    for match in _date_pattern().finditer(lower if len(lower) == len(text) else ""):
        if days := _days(match):
            yield match, days


def _days(match: re.Match[str]) -> tuple[date, date] | None:
    parts = {name: value for name, value in match.groupdict().items() if value}
    year = int(next(value for name, value in parts.items() if name.startswith("year")))
    month = next((value for name, value in parts.items() if name.startswith("month")), "")
    day = next((value for name, value in parts.items() if name.startswith("day")), None)
    try:
        first = date(year, _MONTHS.get(month) or int(month), int(day or 1))
        after = first + timedelta(days=1) if day else (first + timedelta(days=31)).replace(day=1)
        return first, after - timedelta(days=1)
    except (ValueError, OverflowError):
        return None


_WORD: Final = re.compile(r"[^\W\d_]+")
_UNCAPPED: Final = re.compile(
    r"\b(?:do|does|did|has|have|had) ([^\W\d_]{3,})|\b([^\W\d_]{3,})['’]s\b"  # noqa: RUF001
)
_MONTHS: Final = {
    month: number
    for months in TABLES["months"].values()
    for number, month in enumerate(months.split(), 1)
}
_WHEN: Final = tuple(
    f"{' '.join(start.split())} "
    for starts in TABLES["asks_when"].values()
    for start in starts.split(",")
)
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))


@cache
def _date_pattern() -> re.Pattern[str]:
    # Compiling it takes a fortieth of the start of a server.
    return re.compile(_DATE, re.VERBOSE)


_DATE: Final = rf"""\b(?:
        (?P<year1>\d{{4}})-(?P<month1>\d\d)(?:-(?P<day1>\d\d))?
      | (?P<day2>\d{{1,2}})(?:st|nd|rd|th|\.)?\ (?:of\ |de\ )?(?P<month2>{_MONTH})
            ,?\ (?:de\ )?(?P<year2>\d{{4}})
      | (?P<month3>{_MONTH})\ (?P<day3>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year3>\d{{4}})
      | (?P<month4>{_MONTH}),?\ (?:of\ |de\ )?(?P<year4>\d{{4}})
    )\b"""
