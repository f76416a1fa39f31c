"""What changed from one wording to the next, word by word."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_LARGEST = 4000
"""Words in both texts together, beyond which they are shown whole."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words, and what became of them."""

    what: Literal["same", "gone", "new"]
    text: str


def words(before: str, after: str) -> list[Piece]:
    """Return ``after`` with what it took from ``before`` and what it left out.

    The pieces that are not ``gone`` make up ``after``, those that are not ``new`` ``before``.
    """
    old, new = _split(before), _split(after)
    if len(old) + len(new) > _LARGEST:
        return [Piece("gone", before), Piece("new", after)]
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(old[a:b])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(old[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(new[c:d])))
    return pieces


def _split(text: str) -> list[str]:
    return re.findall(r"\s+|[^\s\w]|\w+", text)
