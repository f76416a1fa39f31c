"""Find numbers of cards and bank accounts by shape and check digits."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from stdnum import iban, luhn

from remembrancer.guard.schemas import SensitiveKind, Span

_GAP: Final = r"[ \t\u2010-\u2015-]"
_DIGITS: Final = re.compile(rf"(?<![\w+])\d(?:{_GAP}{{0,2}}\d){{11,}}(?!\w)(?![.,]\d)")
_GROUPED: Final = re.compile(
    # Signs that stand in other numbers too; the groups are those of a card.
    r"(?<![\w.,+-])\d{4}(?P<gap>[^\w\n]{1,3}|\s{1,3}|_)"
    r"(?:\d{4}(?P=gap)\d{4}(?P=gap)\d{4}|\d{6}(?P=gap)\d{4,5})(?!\w)(?![.,]\d)"
)
_DIGIT: Final = re.compile(r"\d")
_CARD: Final = re.compile(
    r"4(?:\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)\d+(?<=^\d{16})"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|64[4-9]|65)\d{12,13}(?<=^\d{16})"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
    r"|62\d{14,17}"  # UnionPay
)
_MOST_GROUPS: Final = 8
_SHORTEST_CARD: Final = 14
_LONGEST_CARD: Final = 19
_OTHER_NUMBER: Final = re.compile(
    r"\b(?:order|invoice|tracking|parcel|shipment|reference|ref|ticket|case|imei|isbn|serial)"
    r"\W*(?:number|no|nr|id|code)?\W*(?:is|was)?\W*$",
    re.IGNORECASE,
)
_LIKE_IBAN: Final = re.compile(
    rf"(?<![^\W_])[A-Z]{{2}}\d\d(?:(?:{_GAP}|[.\r\n]){{0,2}}[A-Z0-9]){{11,34}}", re.IGNORECASE
)
_CHARACTER: Final = re.compile("[A-Z0-9]", re.IGNORECASE)
_SHORTEST_IBAN: Final = 15


def find(text: str) -> Iterator[Span]:
    for match in _DIGITS.finditer(text):
        yield from _cards(text, match)
    for match in _GROUPED.finditer(text):
        if _is_card("".join(str(int(c)) for c in match[0] if c.isdigit())):
            yield Span(*match.span(), SensitiveKind.CARD)
    for match in _LIKE_IBAN.finditer(text):
        if span := _iban(text, match):
            yield span


def _cards(text: str, run: re.Match[str]) -> Iterator[Span]:
    # Digits of any script, with their offsets.
    offsets = [m.start() for m in _DIGIT.finditer(text, *run.span())]
    digits = "".join(str(int(text[offset])) for offset in offsets)
    gaps = [b - a > 1 for a, b in pairwise(offsets)]
    starts = [0, *(n for n, gap in enumerate(gaps, 1) if gap)]
    if len(starts) == 1 and _OTHER_NUMBER.search(text, max(0, run.start() - 40), run.start()):
        return
    ends = {*starts[1:], len(digits)}
    after = 0
    for start in starts:
        for end in range(start + _LONGEST_CARD, start + _SHORTEST_CARD - 1, -1):
            few = sum(gaps[start : end - 1]) < _MOST_GROUPS
            if start >= after and end in ends and few and _is_card(digits[start:end]):
                yield Span(offsets[start], offsets[end - 1] + 1, SensitiveKind.CARD)
                after = end


def _is_card(number: str) -> bool:
    return bool(_CARD.fullmatch(number)) and luhn.is_valid(number) and len(set(number)) > 1


def _iban(text: str, match: re.Match[str]) -> Span | None:
    """Return the IBAN at the start of ``match``; the rest may be the next word."""
    offsets = [m.start() for m in _CHARACTER.finditer(text, *match.span())]
    letters = "".join(text[offset] for offset in offsets).upper()
    for length in range(len(letters), _SHORTEST_IBAN - 1, -1):
        if iban.is_valid(letters[:length]):
            return Span(match.start(), offsets[length - 1] + 1, SensitiveKind.IBAN)
    return None
