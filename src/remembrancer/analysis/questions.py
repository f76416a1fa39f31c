"""Take a question apart, without a language model: its words, names, days, and what it asks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from remembrancer.analysis.analyser import query_terms
from remembrancer.analysis.speech import TABLES

MOST_NAMES: Final = 3


@dataclass(frozen=True, slots=True)
class Question:
    terms: dict[str, int] = field(default_factory=dict)
    """Its terms without the words of its date, each with the number of its word, from 0."""
    names: tuple[str, ...] = ()
    """Words that may be names: with a capital, after the first word. At most ``MOST_NAMES``."""
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
    words = [match for match in _WORD.finditer(text) if match[0][0].isupper()]
    names = [match[0] for match in words if match.start() != _start(text) and len(match[0]) > 2]
    return tuple(dict.fromkeys(names))[:MOST_NAMES]


def _start(text: str) -> int:
    first = _WORD.search(text)
    return first.start() if first else -1


def _asks_when(text: str) -> bool:
    words = [match[0].lower() for match in _WORD.finditer(text[:100])]
    starts = (" ".join(words), " ".join(words[1:]))
    return any(f"{start} ".startswith(_WHEN) for start in starts)


def _dates(text: str) -> Iterator[tuple[re.Match[str], tuple[date, date]]]:
    for match in _DATE.finditer(text.lower()):
        # Lower case may change the length of a text in some scripts: no date is better then.
        if len(text) == len(text.lower()) and (days := _days(match)):
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
_DATE: Final = re.compile(
    rf"""\b(?:
        (?P<year1>\d{{4}})-(?P<month1>\d\d)(?:-(?P<day1>\d\d))?
      | (?P<day2>\d{{1,2}})(?:st|nd|rd|th|\.)?\ (?:of\ |de\ )?(?P<month2>{_MONTH})
            ,?\ (?:de\ )?(?P<year2>\d{{4}})
      | (?P<month3>{_MONTH})\ (?P<day3>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year3>\d{{4}})
      | (?P<month4>{_MONTH}),?\ (?:of\ |de\ )?(?P<year4>\d{{4}})
    )\b""",
    re.VERBOSE,
)
