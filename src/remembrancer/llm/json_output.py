"""Find the JSON object in a model's answer. Pure."""

import json
import re
from collections.abc import Callable
from typing import Final

from remembrancer.text import is_inside

_DECODER: Final = json.JSONDecoder()
_BRACE: Final = re.compile(r"\{")
_OBJECT: Final = re.compile(r'\{[ \r\n\t]*+["}]')
_KEY: Final = re.compile(r'[{ \r\n\t]*+"')
_PATIENCE: Final = 100
"""Failures after which what was read in vain is not read again from its next brace."""
_MOST_FAILURES: Final = 1000
_END_OF_REASONING: Final = re.compile(
    r"</[\w:]*(?:think|thinking|thoughts?|analysis|reason(?:ing)?|reflection|scratchpad|draft)>"
    r"|\[/think(?:ing)?\]|\u25c1/think\u25b7|<\|(?:end_of_thought|/think)\|>"
    r"|<\|channel\|>\s*final\b",
    re.IGNORECASE,
)


def json_object(text: str, fits: Callable[[str], bool] = lambda _: True) -> str:
    """Return the last JSON object after the reasoning in a text that ``fits`` the schema.

    Fences and prose around it do not matter, nor does a mark of reasoning inside of an object.
    Without an object that fits, returns the last one, so that its errors are reported; of an
    incomplete object the text from its start; without any the text after the reasoning.
    """
    try:
        spans, incomplete = _objects(text)
        marks = [match.end() for match in _END_OF_REASONING.finditer(text)]
        if outside := [at for at in marks if not is_inside(at - 1, spans)]:
            text = text[outside[-1] :]
            spans, incomplete = _objects(text)
    except RecursionError:
        return text
    part_of_it = _first_key(text, incomplete)
    objects = [text[start:end] for start, end in spans if start < part_of_it]
    if objects:
        return next((found for found in reversed(objects) if fits(found)), objects[-1])
    return text[incomplete or 0 :]


def _objects(text: str) -> tuple[list[tuple[int, int]], int | None]:
    """Return where complete objects are, and where the first incomplete one begins."""
    spans: list[tuple[int, int]] = []
    incomplete: list[int] = []
    at, failures = 0, 0
    while failures < _MOST_FAILURES and (match := _BRACE.search(text, at)):
        start = match.start()
        if _OBJECT.match(text, start) is None:
            # The decoder would say so as well, but counts all lines before.
            incomplete.append(start)
            at = start + 1
            continue
        try:
            _, at = _DECODER.raw_decode(text, start)
        except ValueError as error:
            incomplete.append(start)
            failures += 1
            # A number of too many digits has no position.
            failed = error.pos if isinstance(error, json.JSONDecodeError) else len(text)
            at = start + 1 if failures < _PATIENCE else max(failed, start + 1)
        else:
            spans.append((start, at))
    return spans, incomplete[0] if incomplete else None


def _first_key(text: str, incomplete: int | None) -> int:
    """Return where the first key of an incomplete object is; objects after it are its parts."""
    key = None if incomplete is None else _KEY.match(text, incomplete)
    return len(text) if key is None else key.end()
