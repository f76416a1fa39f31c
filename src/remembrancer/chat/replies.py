"""Answers as pieces of text, written for a platform and cut to its limit. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["plain", "bold", "code"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of one style, without any platform's markup."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class File:
    """A file to hand over."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: lines of pieces, and perhaps a file."""

    lines: Sequence[Sequence[Piece]]
    file: File | None = None


def said(*lines: str) -> Reply:
    """Return a reply of plain lines."""
    return Reply([[Piece(line)] for line in lines])


def messages(
    reply: Reply,
    write: Callable[[Piece], str],
    limit: int,
    length: Callable[[str], int] = len,
) -> list[str]:
    """Return a reply as messages of at most ``limit``, as the platform counts with ``length``.

    ``write`` escapes a piece and marks it up. Messages end between lines; a line that is too long
    by itself is cut within a piece, each part marked up whole.
    """
    written: list[str] = []
    for line in reply.lines:
        for part in _line(line, write, limit, length):
            joined = f"{written[-1]}\n{part}" if written else part
            if written and length(joined) <= limit:
                written[-1] = joined
            else:
                written.append(part)
    return [one for one in written if one.strip()]


def _line(
    line: Sequence[Piece], write: Callable[[Piece], str], limit: int, length: Callable[[str], int]
) -> list[str]:
    parts = [""]
    waiting = list(line)
    while waiting:
        piece = waiting.pop(0)
        marked = write(piece)
        if length(parts[-1] + marked) <= limit:
            parts[-1] += marked
        elif parts[-1]:
            parts.append("")
            waiting.insert(0, piece)
        elif len(piece.text) < 2:
            continue  # a limit that not even one character fits into
        else:
            half = len(piece.text) // 2
            halves = piece.text[:half], piece.text[half:]
            waiting[:0] = [Piece(text, piece.style) for text in halves]
    return parts
