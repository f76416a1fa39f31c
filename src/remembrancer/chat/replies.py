"""Replies as styled text, marked up for a platform and split at its limit. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from remembrancer.sanitizer import visible_text

Style = Literal["plain", "bold", "code"]


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class File:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    lines: Sequence[Sequence[Span]]
    file: File | None = None


def plain_reply(*lines: str) -> Reply:
    return Reply([[Span(line)] for line in lines])


def plain_text(span: Span) -> str:
    return "".join(c if c.isprintable() else " " for c in span.text)


def split_messages(
    reply: Reply,
    markup: Callable[[Span], str],
    limit: int,
    length: Callable[[str], int] = len,
) -> list[str]:
    """Return a reply as messages of at most ``limit``, as the platform counts with ``length``.

    ``markup`` escapes a span and marks it up. Messages end between lines; a line that is too long
    is split within a span, and each part is marked up whole.
    """
    texts: list[str] = []
    for line in reply.lines:
        for part in _split_line(line, markup, limit, length):
            joined = f"{texts[-1]}\n{part}" if texts else part
            if texts and length(joined) <= limit:
                texts[-1] = joined
            else:
                texts.append(part)
    return [text for text in texts if text.strip()]


def _split_line(
    line: Sequence[Span], markup: Callable[[Span], str], limit: int, length: Callable[[str], int]
) -> list[str]:
    parts = [""]
    rest = [Span(visible_text(span.text), span.style) for span in line]
    while rest:
        span = rest.pop(0)
        if len(span.text) > limit:
            pieces = (span.text[at : at + limit] for at in range(0, len(span.text), limit))
            rest[:0] = [Span(text, span.style) for text in pieces]
            continue
        text = markup(span)
        if length(parts[-1] + text) <= limit:
            parts[-1] += text
        elif parts[-1]:
            parts.append("")
            rest.insert(0, span)
        elif len(span.text) < 2:
            continue  # the limit is too small for a single character
        else:
            half = len(span.text) // 2
            halves = span.text[:half], span.text[half:]
            rest[:0] = [Span(text, span.style) for text in halves]
    return parts
