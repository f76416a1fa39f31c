"""Resolve relative dates: "last year", written in May 2023, is "last year (2022)". Pure.

English, in its most used wordings, and the words for days in other languages; other text stays
unchanged, and so do names ("Last Week Tonight") and quotations. "last Monday" is the Monday before
today: on a Monday, that of the week before. "next Monday" is likewise the one after today.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from remembrancer.extraction import date_words
from remembrancer.text import is_inside

_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        "- a,an,one two,couple three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
    for word in words.split(",")
}
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_N = r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a\ couple\ of)"
_LEAD = r"(?:\b(since|from|until|till|before|by|in|on|during|for)\s+)?"
_RELATIVE = re.compile(
    rf"""{_LEAD}\b(?:
        (?P<before_yesterday>(?:the\ )?day\ before\ yesterday)
      | (?P<after_tomorrow>(?:the\ )?day\ after\ tomorrow)
      | (?P<day>today|tonight|this\ (?:morning|afternoon|evening)
          |yesterday(?:\ (?:morning|afternoon|evening))?|last\ night
          |tomorrow(?:\ (?:morning|afternoon|evening|night))?)
      | (?P<which>last|this|next)\ (?P<unit>week(?:end)?|month|year)
      | (?P<which_day>last|next)\ (?P<weekday>{"|".join(_DAYS)})
      | {_N}\ (?P<ago>day|week|month|year)s?\ ago
      | in\ {_N}\ (?P<ahead>day|week|month|year)s?
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """Days from ``first`` to before ``end``, and their name in English."""

    first: date
    end: date
    name: str


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text with absolute dates, and the interval of the first one.

    The ends are null if the text names no date, or only a beginning or an end.
    """

    text: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


def resolve(text: str, written_at: datetime, zone: str) -> DatedText:
    """Return ``text`` with absolute dates for the relative ones of ``written_at`` in ``zone``."""
    today = local(written_at, zone).date()
    quoted = [match.span() for match in _QUOTATION.finditer(text)]
    spans = sorted(
        word
        for word in (*_english(text, today), *_foreign(text, today))
        if not is_inside(word[0], quoted) and not _HAS_DATE.match(text, word[1])
    )
    if not spans:
        return DatedText(text)
    ends = [0, *(end for _, end, *_ in spans)]
    parts = (
        f"{text[at:end]} ({name})" for at, (_, end, _, name, _) in zip(ends, spans, strict=False)
    )
    dated = "".join([*parts, text[ends[-1] :]])
    _, _, lead, _, span = spans[0]
    first, end = midnight(span.first, zone), midnight(span.end, zone)
    if lead in {"since", "from"}:
        return DatedText(dated, valid_from=first)
    if lead in {"until", "till"}:
        return DatedText(dated, valid_to=end)
    if lead in {"before", "by"}:
        return DatedText(dated, valid_to=first)
    return DatedText(dated, first, end)


_DatedWord = tuple[int, int, str, str, Span]
"""Start and end of words for a date, the preposition, the date's name, and its days."""
_LONGEST_QUOTATION: Final = 300
_AROUND: Final = 60
"""Characters before and after a word that tell its meaning."""
_QUOTATION: Final = re.compile(
    # Marks that nothing closes are many in a text made for it.
    "|".join(
        [
            rf"{start}[^{end}]{{0,{_LONGEST_QUOTATION}}}[{end}]"
            for start, end in (
                *(('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c\u201d")),
                *(("\u00ab", "\u00bb"), ("\u300a", "\u300b"), ("\u300c", "\u300d")),
                *(("\u300e", "\u300f"), ("`", "`"), (r"\*(?!\*)", "*")),
            )
        ]
        + [
            rf"{start}[^{end}]{{0,{_LONGEST_QUOTATION}}}{end}(?!\w)"
            for start, end in ((r"(?<!\w)'", "'"), ("\u2018", "\u2019"), (r"(?<!\w)_(?!_)", "_"))
        ]
    )
)
_HAS_DATE: Final = re.compile(r"\s*[(\uff08]\D{0,20}\d")
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:]\s|\n)\s*$")


def _english(text: str, today: date) -> Iterator[_DatedWord]:
    for match in _RELATIVE.finditer(text):
        start = match.start() if match[1] is None else match.end(1)
        span = None if _is_name(text, start, match.end()) else _span(match, today)
        if span is not None:
            yield match.start(), match.end(), (match[1] or "").casefold(), span.name, span


def _foreign(text: str, today: date) -> Iterator[_DatedWord]:
    has_french_days = bool(date_words.FRENCH.search(text)) and not date_words.GERMANIC.search(text)
    for match in date_words.WORDS.finditer(text):
        lead = text[max(0, match.start() - _AROUND) : match.start()]
        span = _foreign_span(match, lead, today)
        if span is not None and (has_french_days or match[0].casefold() != "hier"):
            since, until = date_words.SINCE.search(lead), date_words.UNTIL.search(lead)
            word = "since" if since else "until" if until else ""
            yield match.start(), match.end(), word, _iso(span), span


def _is_name(text: str, start: int, end: int) -> bool:
    """Say whether words for a date are a name: with a capital inside of a sentence."""
    words = text[start:end].split()
    capitals = [word for word in words if word[0].isupper() and word.casefold() not in _DAYS]
    if not capitals:
        return False
    first = text.find(words[0], start)
    begins = _SENTENCE_START.search(text[max(0, first - _AROUND) : first]) is not None
    follows = text[end : end + _AROUND].split(maxsplit=1)
    title = bool(follows) and follows[0][0].isupper() and len(words) > 1
    return not begins or len(capitals) > 1 or (title and words[-1][0].isupper())


def _foreign_span(match: re.Match[str], lead: str, today: date) -> Span | None:
    word = match[0].casefold().replace("\u2019", "'")
    if word in {"morgen", "ma\u00f1ana"} and date_words.BEFORE_ANOTHER_MEANING.search(lead):
        return None
    if match[0][0].isupper() and not _SENTENCE_START.search(lead):
        return None
    unit, step = date_words.STEPS[word]
    try:
        return _away(unit, step, today)
    except (OverflowError, ValueError):
        return None


def _iso(span: Span) -> str:
    """Return the name of days in any language."""
    last = span.end - timedelta(days=1)
    if span.first == last:
        return span.first.isoformat()
    if span.first.day == 1 and (last.month, last.day) == (12, 31):
        return str(span.first.year)
    if span.first.day == 1 and span.end.day == 1:
        return f"{span.first:%Y-%m}"
    return f"{span.first}/{last}"


def interval(written: str | None, zone: str) -> tuple[datetime, datetime] | None:
    """Return the interval of ``2023``, ``2023-05`` or ``2023-05-07``, else None."""
    match = re.fullmatch(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?(?:T.*)?", (written or "").strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        if year is None or not 2 < year < 9990:
            return None
        if month is None:
            return midnight(date(year, 1, 1), zone), midnight(date(year + 1, 1, 1), zone)
        first = date(year, month, day or 1)
    except ValueError:
        return None
    end = first + timedelta(days=1) if day else _months(first, 1)
    return midnight(first, zone), midnight(end, zone)


def local(moment: datetime, zone: str) -> datetime:
    return moment.astimezone(ZoneInfo(zone))


def midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(zone))


def _span(match: re.Match[str], today: date) -> Span | None:
    try:
        return next(span(match, today) for name, span in _KINDS.items() if match[name] is not None)
    except (OverflowError, ValueError):
        return None


def _one_day(day: date) -> Span:
    return Span(day, day + timedelta(days=1), f"{day.day} {_MONTHS[day.month - 1]} {day.year}")


def _week(day: date) -> Span:
    first = day - timedelta(days=day.weekday())
    return Span(first, first + timedelta(days=7), f"the week of {_one_day(first).name}")


def _month(day: date) -> Span:
    first = day.replace(day=1)
    return Span(first, _months(first, 1), f"{_MONTHS[first.month - 1]} {first.year}")


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year + 1, 1, 1), str(year))


def _months(day: date, count: int) -> date:
    months = day.year * 12 + day.month - 1 + count
    return date(months // 12, months % 12 + 1, 1)


def _named_day(match: re.Match[str], today: date) -> Span:
    words = match["day"].casefold()
    if words.startswith("tomorrow"):
        return _one_day(today + timedelta(days=1))
    if words.startswith("yesterday") or words == "last night":
        return _one_day(today - timedelta(days=1))
    return _one_day(today)


def _named_unit(match: re.Match[str], today: date) -> Span:
    step = {"last": -1, "this": 0, "next": 1}[match["which"].casefold()]
    return _away(match["unit"].casefold(), step, today)


def _named_weekday(match: re.Match[str], today: date) -> Span:
    weekday = _DAYS.index(match["weekday"].casefold())
    if match["which_day"].casefold() == "last":
        return _one_day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))
    return _one_day(today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1))


def _count(word: str) -> int:
    number = word.casefold()
    if number.startswith("a couple"):
        return 2
    return int(number) if number.isdecimal() else _NUMBERS[number]


def _ago(match: re.Match[str], today: date) -> Span:
    return _away(match["ago"].casefold(), -_count(match[match.re.groupindex["ago"] - 1]), today)


def _ahead(match: re.Match[str], today: date) -> Span:
    return _away(match["ahead"].casefold(), _count(match[match.re.groupindex["ahead"] - 1]), today)


def _away(unit: str, step: int, today: date) -> Span:
    if unit == "day":
        return _one_day(today + timedelta(days=step))
    if unit == "week":
        return _week(today + timedelta(weeks=step))
    if unit == "weekend":
        saturday = _week(today + timedelta(weeks=step)).first + timedelta(days=5)
        name = f"the weekend of {_one_day(saturday).name}"
        return Span(saturday, saturday + timedelta(days=2), name)
    if unit == "month":
        return _month(_months(today, step))
    return _year(today.year + step)


_KINDS: Final[dict[str, Callable[[re.Match[str], date], Span]]] = {
    "before_yesterday": lambda _, today: _one_day(today - timedelta(days=2)),
    "after_tomorrow": lambda _, today: _one_day(today + timedelta(days=2)),
    "day": _named_day,
    "which": _named_unit,
    "which_day": _named_weekday,
    "ago": _ago,
    "ahead": _ahead,
}
