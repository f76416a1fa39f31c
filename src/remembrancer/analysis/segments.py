"""Fold a text and split it into runs of one kind, by script and not by language."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal

Kind = Literal["word", "unspaced", "hangul", "emoji"]
Run = tuple[Kind, str]

_UNSPACED = {
    # Han comes first: its single characters are words, see ``is_han``.
    "han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "hiragana": "\u3041-\u309f",
    "katakana": "\u30a1-\u30ff\u31f0-\u31ff",
    "thai": "\u0e01-\u0e4e",
    "lao": "\u0e81-\u0ece",
    "tibetan": "\u0f40-\u0fbc",
    "myanmar": "\u1000-\u104f",
    "khmer": "\u1780-\u17d3",
}
_HAN = re.compile(f"[{_UNSPACED['han']}]")
_HANGUL = "\u1100-\u11ff\uac00-\ud7ff"
_EMOJI = (
    "\u203c\u2049\u231a\u231b\u23e9-\u23f3\u25b6\u25c0\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c"
    "\u2b50\u2b55\U0001f004\U0001f0cf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
# Marks inside words of Indic, Hebrew and other scripts, which Python's \w excludes.
_MARK_BLOCKS = ((0x0300, 0x0370), (0x0483, 0x1E00), (0xA66F, 0xAC00), (0xFE20, 0xFE30))
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_DIACRITICS = re.compile("[\u0300-\u036f]")
_HEBREW_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
_NOT_SPELLING = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0e\ufe0f\ufeff]")


def fold(text: str) -> str:
    """Give equivalent spellings the same characters.

    Removes compatibility forms (NFKC), case, Latin, Greek and Hebrew diacritics and invisible
    controls. The length may change. Lone surrogates and NUL become spaces.
    """
    if text.isascii():
        return text.replace("\x00", " ").lower()
    text = _NOT_SPELLING.sub("", _UNSTORABLE.sub(" ", text))
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFC", _strip_marks(unicodedata.normalize("NFD", text)))


def _strip_marks(decomposed: str) -> str:
    # Without its breve, the Cyrillic "short i" would become another letter.
    stripped = decomposed.replace("и\u0306", "\x00")
    stripped = _HEBREW_POINTS.sub("", _DIACRITICS.sub("", stripped)).replace("\u0131", "i")
    return stripped.replace("\x00", "и\u0306")


def runs(folded: str) -> Iterable[Run]:
    if folded.isascii():
        return [("word", word) for word in _ASCII_WORD.findall(folded)]
    return _runs(folded)


def _runs(folded: str) -> Iterator[Run]:
    for match in _pattern().finditer(folded):
        group = match.lastgroup or "word"
        kind: Kind = "unspaced" if group in _UNSPACED else group  # type: ignore[assignment]
        yield kind, match.group()


def parts(word: str) -> Sequence[str]:
    """Split a word at apostrophes and drop short parts: "Ann's", "l'eau"."""
    if "'" not in word and "\u2019" not in word:
        return (word,)
    return [piece for piece in word.replace("\u2019", "'").split("'") if len(piece) > 2]


def is_han(run: str) -> bool:
    """Return whether an unspaced run is Han, where one character is often a word."""
    return _HAN.match(run) is not None


@cache
def _pattern() -> re.Pattern[str]:
    special = "".join(_UNSPACED.values()) + _HANGUL
    letter = f"(?:(?![{special}])[^\\W_]|[{_marks()}])"
    groups = [f"(?P<{name}>[{chars}]+)" for name, chars in _UNSPACED.items()]
    groups += [f"(?P<hangul>[{_HANGUL}]+)", f"(?P<emoji>{_FLAG}|[{_EMOJI}])"]
    groups += [f"(?P<word>{letter}+(?:['\u2019]{letter}+)*)"]
    return re.compile("|".join(groups))


def _marks() -> str:
    blocks = (range(*block) for block in _MARK_BLOCKS)
    points = (chr(point) for block in blocks for point in block)
    return "".join(c for c in points if unicodedata.category(c) in {"Mn", "Mc"})
