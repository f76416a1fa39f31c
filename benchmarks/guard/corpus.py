"""Texts with and without secrets. No secret is real, and none is in a file: each run makes them.

The templates are in ``secrets.tsv`` and ``innocents.tsv``. A third of each class is held out: the
guard is not adapted to it.
"""

import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from stdnum import get_cc_module, iban, luhn

_ALPHABETS: Final = {
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "a": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "n": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "l": string.ascii_letters,
    "2": string.ascii_uppercase + "234567",
}
_CARDS: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "visa": ("4", (4, 4, 4, 4)),
    "mastercard": ("53", (4, 4, 4, 4)),
    "mastercard2": ("2221", (4, 4, 4, 4)),
    "amex": ("37", (4, 6, 5)),
    "diners": ("305", (4, 6, 4)),
    "discover": ("6011", (4, 4, 4, 4)),
    "jcb": ("3530", (4, 4, 4, 4)),
    "unionpay": ("6212", (4, 4, 4, 4)),
    "maestro": ("6759", (4, 4, 4, 4)),
    "wide": ("4", (4, 4, 4, 4)),
    "arabic": ("4", (4, 4, 4, 4)),
}
"""The first digits of a card, and its groups."""
_FILL: Final = re.compile(r"\{([dhHaAnubl2]):(\d+)\}|\{(card|iban|id):([^{}]*)\}")
_MARKED: Final = re.compile("\u27e6(.*?)\u27e7", re.DOTALL)
_ESCAPES: Final = {r"\n": "\n", r"\u200b": "\u200b", r"\u00a0": "\u00a0"}
_HELD_OUT: Final = 3
"""One of as many texts of a class is held out."""


@dataclass(frozen=True, slots=True)
class Case:
    group: str
    text: str
    secrets: tuple[tuple[int, int], ...]
    """Where its secrets are; none in an innocent text."""
    held_out: bool


def cases() -> list[Case]:
    return [*_cases("secrets.tsv"), *_cases("innocents.tsv")]


def _cases(name: str) -> Iterator[Case]:
    counts: Counter[str] = Counter()
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if line.startswith("# ") or not line:
            continue
        group, _, template = line.partition("\t")
        counts[group] += 1
        yield _case(group, template, held_out=counts[group] % _HELD_OUT == 0)


def _case(group: str, template: str, *, held_out: bool) -> Case:
    source = random.Random(crc32(template.encode()))
    filled = _FILL.sub(lambda match: _filled(match, source), template)
    for escape, character in _ESCAPES.items():
        filled = re.sub(rf"(?<!\\){re.escape(escape)}", character, filled)
    filled = filled.replace(r"\\n", r"\n")
    text, spans = "", []
    for number, part in enumerate(_MARKED.split(filled)):
        if number % 2:
            spans.append((len(text), len(text) + len(part)))
        text += part
    return Case(group, text, tuple(spans), held_out)


def _filled(match: re.Match[str], source: random.Random) -> str:
    alphabet, count, maker, form = match.groups()
    if maker is None:
        return _characters(source, alphabet, int(count))
    name, _, rest = form.partition(":")
    return {"card": _card, "iban": _iban, "id": _id}[maker](source, name, rest)


def _characters(source: random.Random, alphabet: str, count: int) -> str:
    characters = "".join(source.choices(_ALPHABETS[alphabet], k=count))
    # Real keys are long enough to have a digit; a short one may lack it by chance.
    has_digits = count > 7 and alphabet in "aAnu2"
    return f"{characters[:-1]}{source.choice('234567')}" if has_digits else characters


def _card(source: random.Random, network: str, gap: str) -> str:
    prefix, groups = _CARDS[network]
    digits = prefix + _characters(source, "d", sum(groups) - len(prefix) - 1)
    digits += luhn.calc_check_digit(digits)
    starts = [sum(groups[:number]) for number in range(len(groups))]
    written = gap.join(digits[at : at + size] for at, size in zip(starts, groups, strict=True))
    first = {"wide": 0xFF10, "arabic": 0x0660}.get(network)
    if first is None:
        return written
    return "".join(chr(first + int(c)) if c.isdigit() else c for c in written)


def _iban(source: random.Random, country: str, form: str) -> str:
    shape, _, gap = form.partition(":")
    letters = re.fullmatch(r"(?:(\d+)L)?(\d+)", shape)
    assert letters
    while True:
        bank = "".join(source.choices("ABNKRU", k=int(letters[1] or 0)))
        account = bank + _characters(source, "d", int(letters[2]))
        number = country + iban.calc_check_digits(f"{country}00{account}") + account
        # Some countries have check digits of their own.
        if iban.is_valid(number):
            return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


_PARTS: Final[dict[str, Callable[[random.Random], str]]] = {
    "YY": lambda source: f"{source.randint(50, 99)}",
    "MM": lambda source: f"{source.randint(1, 12):02}",
    "DD": lambda source: f"{source.randint(1, 28):02}",
    "d": lambda source: source.choice(string.digits),
    "L": lambda source: source.choice(string.ascii_uppercase),
}


def _id(source: random.Random, module: str, form: str) -> str:
    checks = get_cc_module(*module.split("."))
    assert checks is not None
    for _ in range(50_000):
        number = re.sub("YY|MM|DD|d|L", lambda part: _PARTS[part[0]](source), form)
        if checks.is_valid(number) or checks.is_valid(re.sub("[ .-]", "", number)):
            return number
    raise AssertionError(f"{module} has no number of the form {form}")
