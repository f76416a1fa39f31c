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

from remembrancer.guard.schemas import SensitiveKind, Span

_BEFORE: Final = 60
_AFTER: Final = 25
"""Characters before and after a number in which a word for it counts."""


@dataclass(frozen=True, slots=True)
class _Scheme:
    module: Any
    shape: re.Pattern[str]
    words: re.Pattern[str] | None

    def find(self, text: str, first: int, last: int) -> Iterator[Span]:
        for match in self.shape.finditer(text, first, last):
            start, end = match.span()
            around = text[max(0, start - _BEFORE) : start] + " " + text[end : end + _AFTER]
            named = self.words is None or self.words.search(around)
            if named and self.module.is_valid(match.group()):
                yield Span(start, end, SensitiveKind.NATIONAL_ID)


def _scheme(country: str, name: str, shape: str, words: str | None = None) -> _Scheme:
    module = get_cc_module(country, name)
    assert module is not None
    return _Scheme(
        module,
        re.compile(rf"(?<![\w.+-])(?:{shape})(?![\w-])(?![.,/]\d)", re.IGNORECASE),
        re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE) if words else None,
    )


_NINE: Final = r"\d{3}[ -]?\d{3}[ -]?\d{3}"
_ELEVEN: Final = r"\d{11}"

_NUMBERS: Final[tuple[tuple[str, ...], ...]] = (
    ("us", "ssn", r"\d{3}-\d\d-\d{4}"),
    ("us", "ssn", r"\d{3} ?\d\d ?\d{4}", "ssn|social security"),
    ("us", "itin", r"9\d\d-?\d\d-?\d{4}", "itin"),
    ("gb", "nhs", r"\d{3}[ -]?\d{3}[ -]?\d{4}", "nhs"),
    ("fr", "nir", r"[12] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d"),
    ("it", "codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]"),
    ("es", "dni", r"\d{8}[ -]?[A-Z]", "dni|nif|documento|identidad|id"),
    ("es", "nie", r"[XYZ][ -]?\d{7}[ -]?[A-Z]", "nie|nif|documento|identidad|extranjero"),
    ("pt", "cc", r"\d{8} ?\d ?[A-Z0-9]{2}\d", "cartão de cidadão|cidadão|citizen card|cc"),
    ("pt", "nif", _NINE, "nif|contribuinte"),
    ("br", "cpf", r"\d{3}\.\d{3}\.\d{3}-\d\d"),
    ("br", "cpf", _ELEVEN, "cpf"),
    (
        "de", "idnr", r"\d\d ?\d{3} ?\d{3} ?\d{3}",
        r"steuer-?id\w*|steueridentifikationsnummer|idnr|identifikationsnummer|tax id",
    ),
    ("nl", "bsn", r"\d{4}\.?\d\d\.?\d{3}", "bsn|burgerservicenummer|sofi(?:-?nummer)?"),
    ("be", "nn", r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d"),
    ("be", "nn", _ELEVEN, r"rijksregister\w*|registre national|numéro national|insz|niss"),
    ("ch", "ssn", r"756\.\d{4}\.\d{4}\.\d\d"),
    ("ch", "ssn", r"756\d{10}", "ahv|avs|ssn"),
    ("ie", "pps", r"\d{7}[A-W][A-IW]?", r"ppsn?|pps number"),
    ("se", "personnummer", r"(?:\d\d)?\d{6}[-+]\d{4}", r"personnummer|personal\w* number"),
    ("dk", "cpr", r"\d{6}-?\d{4}", r"cpr(?:-nummer|-nr)?|personnummer"),
    ("no", "fodselsnummer", r"\d{6} ?\d{5}", r"f[øo]dselsnummer|personnummer"),
    ("fi", "hetu", r"\d{6}[-+ABCDEFUVWXY]\d{3}[0-9A-Y]"),
    ("pl", "pesel", _ELEVEN, "pesel"),
    ("cz", "rc", r"\d{6}/\d{3,4}"),
    ("ro", "cnp", r"\d{13}", "cnp|cod numeric personal"),
    ("bg", "egn", r"\d{10}", "егн|egn"),
    ("hr", "oib", _ELEVEN, "oib"),
    ("ee", "ik", _ELEVEN, "isikukood|personal code"),
    ("lt", "asmens", _ELEVEN, "asmens kodas|personal code"),
    ("gr", "amka", _ELEVEN, "αμκα|amka"),
    ("tr", "tckimlik", _ELEVEN, r"t\.?c\.? ?(?:kimlik|no)|kimlik|tckn"),
    ("il", "idnr", r"\d{9}", "תעודת זהות|teudat zehut|israeli id|ת\\.ז\\."),
    ("ru", "inn", r"\d{12}", "инн|inn"),
    ("ua", "rntrc", r"\d{10}", "рнокпп|іпн|tax number"),
    ("za", "idnr", r"\d{6} ?\d{4} ?\d{3}", r"(?:sa|id|identity) (?:number|no)|id"),
    ("cn", "ric", r"\d{17}[\dX]"),
    ("kr", "rrn", r"\d{6}-\d{7}"),
    ("jp", "in_", r"\d{4} ?\d{4} ?\d{4}", "マイナンバー|個人番号|my number"),
    ("in_", "aadhaar", r"\d{4} ?\d{4} ?\d{4}", "aadhaar|aadhar|आधार|uidai"),
    ("in_", "pan", r"[A-Z]{5}\d{4}[A-Z]", r"pan(?: card| number| no)?"),
    ("id", "nik", r"\d{16}", "nik|ktp"),
    ("my", "nric", r"\d{6}-\d\d-\d{4}"),
    ("th", "pin", r"\d-\d{4}-\d{5}-\d\d-\d"),
    ("mx", "curp", r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d"),
    ("cl", "rut", r"\d{1,2}\.\d{3}\.\d{3}-[\dK]"),
    ("cl", "rut", r"\d{7,8}-[\dK]", "rut|run"),
    ("ca", "sin", _NINE, "sin|social insurance"),
    ("au", "tfn", _NINE, "tfn|tax file"),
)  # fmt: skip

_MANY_DIGITS: Final = re.compile(
    r"\d(?:[ ./+A-Z-]{0,3}\d){5,}|(?<=[A-Z]{5})\d{4}(?=[A-Z])", re.IGNORECASE
)
"""Every number of the schemes contains this; the schemes search only around it."""
_LETTERS_AROUND: Final = 12


@cache
def _schemes() -> tuple[_Scheme, ...]:
    # The imports take a tenth of a second, too long for a start.
    return tuple(_scheme(*number) for number in _NUMBERS)


def find(text: str) -> Iterator[Span]:
    for digits in _MANY_DIGITS.finditer(text):
        first = max(0, digits.start() - _LETTERS_AROUND)
        for scheme in _schemes():
            yield from scheme.find(text, first, digits.end() + _LETTERS_AROUND)
