# ruff: noqa: RUF001
"""``MyActivity.html``: Gemini's activity in Google Takeout as a page, which is Takeout's default.

A cell for each activity, with its product as the title. Then come what the person wrote, after a
verb, names of files, the time and the answer, each after a line break. Times are local, in the
language of the account, to the second; short names of zones mean several, so that only UTC and its
offsets are read. The page names no conversation.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from remembrancer.importers.html_text import html_text
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import invalid

_CELL: Final = 'class="outer-cell'
_CONTENT: Final = 'class="content-cell'
_BREAK: Final = re.compile(r"<br\s{0,5}/?>")
_FILE: Final = re.compile(r"-\s{0,5}<a\s")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d):(\d\d)(?:\s?([AaPp])\.?\s?[Mm]\b\.?)?")
_HALVES: Final = {"午前": "a", "上午": "a", "오전": "a", "午後": "p", "下午": "p", "오후": "p"}
_OFFSET: Final = re.compile(r"(?:UTC|GMT)(?:([+\u2212-])(\d{1,2})(?::?(\d\d))?)?$")
_NUMBERS: Final = re.compile(r"\d{1,4}")
_LONGEST_TIME: Final = 60
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_MONTHS: Final = (
    "jan ene gen ian янв січ led sty oca",
    "feb fév фев лют úno lut fev şub",
    "mar mär mrt márc мар бер bře",
    "apr avr abr ápr апр кві dub kwi nis",
    "may mai mei mag maj máj мая май тра kvě",
    "jun juin giu jún июн чер čvn cze haz",
    "jul juil lug júl июл лип čvc lip tem",
    "aug aoû ago agu авг сер srp sie ağu",
    "sep set szept сен вер zář wrz eyl",
    "oct okt out ott окт жов říj paź eki",
    "nov noi noy ноя лис lis kas",
    "dec dez déc dic des дек гру pro gru ara",
)
"""What names of months begin with, in languages whose beginnings name one month alone."""


def looks_like(text: str) -> bool:
    return text.lstrip()[:1] == "<" and _CELL in text and "Gemini" in text


def activities(text: str, where: str, options: Options) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the activities as Takeout's JSON has them, with their positions."""
    for number, cell in enumerate(text.split(_CELL)[1:], 1):
        head, *contents = cell.split(_CONTENT)
        body = contents[0].partition(">")[2].rpartition("</div>")[0] if contents else ""
        lines = _BREAK.split(body)
        position = f"{where}, activity {number}"
        at, time = _time_of(lines, position, options)
        files = [line for line in lines[:at] if _FILE.match(line.strip())]
        said = lines[: max(1, lines.index(files[0]) - 1) if files else at]
        yield (
            position,
            {
                "header": html_text(head.partition(">")[2].rpartition("<")[0]),
                "title": html_text("<br>".join(said)),
                "time": time.isoformat(),
                "safeHtmlItem": [{"html": "<br>".join(lines[at + 1 :])}],
                "attachedFiles": [html_text(line).strip("- ") for line in files],
            },
        )


def _time_of(lines: list[str], where: str, options: Options) -> tuple[int, datetime]:
    for number, line in enumerate(lines):
        shown = " ".join(html_text(line).split())
        clock = _CLOCK.search(shown)
        if clock is not None and len(shown) <= _LONGEST_TIME and number:
            day = _day(shown[: clock.start()], f"{where}, time", options)
            if day is not None:
                zone = _zone(shown[clock.end() :].strip(), f"{where}, time", options)
                return number, day.replace(tzinfo=zone) + _since_midnight(clock, shown)
    raise invalid(f"{where}, time", "is not a date that is known; choose the format JSON")


def _since_midnight(clock: re.Match[str], shown: str) -> timedelta:
    hours, minutes, seconds = (int(part) for part in clock.groups()[:3])
    half = (
        clock[4] or next((half for word, half in _HALVES.items() if word in shown), "")
    ).casefold()
    if half:
        hours = hours % 12 + 12 * (half == "p")
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _day(text: str, where: str, options: Options) -> datetime | None:
    numbers = [int(number) for number in _NUMBERS.findall(text)]
    months = [month for word in _WORD.findall(text) if (month := _month(word))]
    if len(numbers) == 2 and len(months) == 1:
        day, year = sorted(numbers)
        parts = (year, months[0], day)
    elif len(numbers) == 3 and numbers[0] > 31:
        parts = (numbers[0], numbers[1], numbers[2])
    elif len(numbers) == 3:
        first, second, year = numbers
        is_day_first = "." in text or first > 12 or options.date_order is DateOrder.DMY
        if not is_day_first and second <= 12 and options.date_order is None:
            raise invalid(where, "has a day and a month in any order; name it with --date-order")
        parts = (year, second, first) if is_day_first else (year, first, second)
    else:
        return None
    try:
        return datetime(*parts)  # noqa: DTZ001 - its zone follows
    except ValueError:
        return None


def _month(word: str) -> int:
    """Return the number of a month, 0 for what is none."""
    beginning = word.casefold()
    return next(
        (
            number
            for number, known in enumerate(_MONTHS, 1)
            if any(beginning.startswith(one) for one in known.split())
        ),
        0,
    )


def _zone(text: str, where: str, options: Options) -> tzinfo:
    if (match := _OFFSET.match(text)) is not None:
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return timezone(offset if sign == "+" else -offset) if offset < timedelta(days=1) else UTC
    if options.time_zone is None:
        raise invalid(where, "has no time zone that is clear; name one with --time-zone")
    return options.time_zone
