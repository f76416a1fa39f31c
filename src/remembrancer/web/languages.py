"""The language of pages: which one a browser gets, its texts, its dates and numbers."""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache, partial
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from typing import Final, Literal, cast
from zoneinfo import ZoneInfo

from babel import Locale, dates, numbers
from babel.core import UnknownLocaleError
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po
from babel.support import LazyProxy
from fastapi import Request

from remembrancer.errors import ConfigurationError

COOKIE: Final = "remembrancer_language"
SOURCE: Final = "en"
"""The language that the texts are written in."""
_LONGEST_HEADER: Final = 200
_REGION: Final = "GB"
"""Region of dates and numbers in English, for browsers that name none."""


@dataclass(frozen=True)
class Language:
    """A language with the region that dates and numbers are written for."""

    locale: Locale
    texts: NullTranslations

    @property
    def code(self) -> str:
        return self.locale.language


_current: ContextVar[Language | None] = ContextVar("language", default=None)
_offered: list[Path] = []


def offer(directory: Path | None) -> None:
    """Offer the languages in a directory too: a file for each, such as ``fr.po``.

    A file takes the place of the one that is part of the package. Raises ``ConfigurationError``
    if the directory or a file cannot be read, or a text lacks what is put into it.
    """
    if directory is not None and not directory.is_dir():
        raise ConfigurationError(f"server.languages: {directory} is not a directory")
    _offered[:] = [directory] if directory else []
    _files.cache_clear()
    texts.cache_clear()
    for code in _files():
        texts(code)


@cache
def _files() -> Mapping[str, Traversable]:
    found: dict[str, Traversable] = {}
    for directory in (files("remembrancer.web") / "locale", *_offered):
        for file in sorted(directory.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".po"):
                found[file.name.removesuffix(".po")] = file
    return found


@cache
def texts(code: str) -> NullTranslations:
    """Return the texts of a language; the source language has none of its own."""
    file = _files().get(code)
    if file is None:
        return NullTranslations()
    try:
        with file.open("rb") as lines:
            catalog = read_po(lines, locale=Locale.parse(code), abort_invalid=True)
    except (ValueError, UnknownLocaleError, PoFileError) as error:
        raise ConfigurationError(f"{file} is no file of texts in a language: {error}") from None
    for message in catalog:
        for mistake in message.check(catalog):
            raise ConfigurationError(f"{file}: {message.id!r}: {mistake}")
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return GNUTranslations(compiled)


def names() -> list[tuple[str, str]]:
    """Return the code of each language with its name in itself, by name."""
    codes = {SOURCE, *_files()}
    found = [(code, (Locale.parse(code).display_name or code).capitalize()) for code in codes]
    return sorted(found, key=lambda entry: entry[1].casefold())


def use(request: Request) -> Language:
    """Take the language that a request asks for, for the rest of the request.

    The one that was chosen on the pages comes first, then those that the browser names.
    """
    header = request.headers.get("accept-language", "")[:_LONGEST_HEADER]
    language = _language(request.cookies.get(COOKIE, "")[:20], header)
    _current.set(language)
    return language


@cache
def _default() -> Language:
    return _of(SOURCE)


def current() -> Language:
    return _current.get() or _default()


def _language(chosen: str, header: str) -> Language:
    asked = list(_preferences(header))
    for code in (chosen, *asked):
        language = code.partition("-")[0].lower()
        if language == SOURCE or language in _files():
            # A language that was chosen gets the region that the browser names for it.
            regional = (tag for tag in (code, *asked) if tag.lower().startswith(f"{language}-"))
            return _of(next(regional, language))
    return _default()


def _preferences(header: str) -> Iterator[str]:
    """Yield the languages of an Accept-Language header, the most wanted first."""
    weighed = []
    for part in header.split(","):
        tag, _, weight = part.partition(";")
        try:
            weighed.append((float(weight.strip().removeprefix("q=") or 1), tag.strip()))
        except ValueError:
            continue
    yield from (tag for weight, tag in sorted(weighed, key=lambda pair: -pair[0]) if weight > 0)


def _of(tag: str) -> Language:
    language = tag.partition("-")[0].lower()
    try:
        locale = Locale.parse(tag, sep="-")
    except (ValueError, UnknownLocaleError):
        locale = Locale.parse(language)
    if locale.language == SOURCE and locale.territory is None:
        locale = Locale(SOURCE, _REGION)
    return Language(locale, texts(language))


def gettext(text: str, **values: object) -> str:
    """Return a text in the language of the page, with values put in for ``%(name)s``."""
    found = current().texts.gettext(text) if text else ""
    return found % values if values else found


def ngettext(one: str, many: str, count: int) -> str:
    """Return the form of a text that goes with a count, in the language of the page."""
    return current().texts.ngettext(one, many, count)


def lazy(text: str) -> str:
    """Return a text that is translated when it is shown, for constants."""
    return cast("str", LazyProxy(partial(gettext, text), enable_cache=False))


def marked(one: str, many: str) -> tuple[str, str]:
    """Return the forms of a text that is counted later, so that it is found for translation."""
    return one, many


def number(value: float) -> str:
    return numbers.format_decimal(value, locale=current().locale)


def percent(share: float) -> str:
    return numbers.format_percent(share, locale=current().locale)


def counted(one: str, many: str, count: int) -> str:
    """Return a text with its count in it, as ``%(count)s``."""
    return ngettext(one, many, count) % {"count": number(count)}


def when(value: datetime, zone: str = "UTC") -> str:
    """Return a time with its date."""
    locale, local = current().locale, value.astimezone(ZoneInfo(zone))
    day = dates.format_date(local, "medium", locale)
    time = dates.format_time(local, "short", local.tzinfo, locale)
    pattern = str(dates.get_datetime_format("medium", locale))
    return pattern.replace("{0}", time).replace("{1}", day)


def date_of(value: date, now: date | None = None) -> str:
    """Return a date; without its year if it is the year of ``now``."""
    skeleton = "MMMd" if now is not None and now.year == value.year else "yMMMd"
    return dates.format_skeleton(skeleton, value, locale=current().locale)


def short_day(value: date) -> str:
    """Return a day and its month."""
    return dates.format_skeleton("MMMd", value, locale=current().locale)


def month(value: date) -> str:
    """Return a month with its year."""
    return dates.format_skeleton("yMMM", value, locale=current().locale)


def name_of_day(value: datetime, now: datetime, zone: str = "UTC") -> str:
    """Name a day: today, yesterday, or a weekday with its date."""
    local, today = value.astimezone(ZoneInfo(zone)).date(), now.astimezone(ZoneInfo(zone)).date()
    named = {0: gettext("Today"), 1: gettext("Yesterday")}.get((today - local).days)
    return named or dates.format_skeleton("MMMMEEEEd", local, locale=current().locale)


def ago(value: datetime, now: datetime, zone: str = "UTC") -> str:
    """Say how long ago a time is, or how soon: to the minute on a day, to the day in a week."""
    local, today = value.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone)).date()
    passed, days = now - value, (today - local.date()).days
    if abs(passed) < timedelta(seconds=45):
        return gettext("just now") if passed >= timedelta() else gettext("any moment")
    if abs(passed) < timedelta(hours=12):
        return _span(-passed)
    if abs(days) < 7:
        named = {0: gettext("today"), 1: gettext("yesterday"), -1: gettext("tomorrow")}.get(days)
        return named or _span(timedelta(days=-days))
    return date_of(local.date(), today)


def _span(span: timedelta) -> str:
    style: Literal["short", "long"] = "short" if abs(span) < timedelta(hours=1) else "long"
    return dates.format_timedelta(
        span, threshold=1.0, add_direction=True, format=style, locale=current().locale
    )
