"""Find national ids, checked by python-stdnum.

A number with a distinctive shape and check digits counts everywhere. Other numbers, where one in
ten or a hundred random ones would pass, count only beside a word for the id.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from stdnum import get_cc_module

from remembrancer.guard import lines_of
from remembrancer.guard.schemas import SensitiveKind, Span

_BEFORE: Final = 60
_AFTER: Final = 25
"""Characters before and after a number in which a word for it counts."""


_GAPS: Final = re.compile("[ ./-]")
_PASSPORT: Final = re.compile(
    r"(?<!\w)(?:passports?|pasaporte|passeport|reisepass(?:nummer)?|passaporto|паспорт)"
    r"(?:[\s:#.-]{1,3}(?:number|no|nr|n[°º]|num[ée]ro|ist|is|est)){0,3}[\s:#.-]{1,3}"
    r"(?P<value>(?=(?:[A-Z]{0,5}\d){4})[A-Z0-9]{8,9}|\d{4} \d{6})(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Scheme:
    module: Any
    """Of python-stdnum; null without check digits."""
    shape: re.Pattern[str]
    words: re.Pattern[str] | None

    def is_valid(self, number: str) -> bool:
        forms = (number, _GAPS.sub("", number))
        return self.module is None or any(map(self.module.is_valid, forms))

    def find(self, text: str, first: int, last: int) -> Iterator[Span]:
        for match in self.shape.finditer(text, first, last):
            start, end = match.span()
            around = text[max(0, start - _BEFORE) : start] + " " + text[end : end + _AFTER]
            named = self.words is None or self.words.search(around)
            if named and self.is_valid(match.group()):
                yield Span(start, end, SensitiveKind.NATIONAL_ID)


def _scheme(country: str, name: str, shape: str, words: str | None = None) -> _Scheme:
    module = get_cc_module(country, name) if country else None
    return _Scheme(
        module,
        re.compile(rf"(?<![\w.+-])(?:{shape})(?![\w-])(?![.,/]\d)", re.IGNORECASE),
        re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE) if words else None,
    )


_MANY_DIGITS: Final = re.compile(
    r"\d(?:[ ./+A-Z-]{0,3}\d){5,}|(?<=[A-Z]{5})\d{4}(?=[A-Z])", re.IGNORECASE
)
"""Every number of the schemes contains this; the schemes search only around it."""
_LETTERS_AROUND: Final = 12


@cache
def _schemes() -> tuple[_Scheme, ...]:
    # The imports take a tenth of a second, too long for a start.
    return tuple(_scheme(*line.split("\t")) for line in lines_of("national_ids.tsv"))


def find(text: str) -> Iterator[Span]:
    for passport in _PASSPORT.finditer(text):
        yield Span(*passport.span("value"), SensitiveKind.NATIONAL_ID)
    for digits in _MANY_DIGITS.finditer(text):
        first = max(0, digits.start() - _LETTERS_AROUND)
        for scheme in _schemes():
            yield from scheme.find(text, first, digits.end() + _LETTERS_AROUND)
