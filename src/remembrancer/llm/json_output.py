"""Find the JSON object in a model's answer. Pure."""

import json
import re
from collections.abc import Callable
from typing import Final

_DECODER: Final = json.JSONDecoder()
_OBJECT: Final = re.compile(r"\{")
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
        spans, _ = _objects(text)
        marks = [match.end() for match in _END_OF_REASONING.finditer(text)]
        outside = [at for at in marks if not any(start < at < end for start, end in spans)]
        text = text[outside[-1] :] if outside else text
        spans, incomplete = _objects(text)
    except RecursionError:
        return text
    objects = [text[start:end] for start, end in spans if not _is_inside(incomplete, text, start)]
    if objects:
        return next((found for found in reversed(objects) if fits(found)), objects[-1])
    return text[incomplete or 0 :]


def _objects(text: str) -> tuple[list[tuple[int, int]], int | None]:
    """Return where complete objects are, and where the first incomplete one begins."""
    spans: list[tuple[int, int]] = []
    incomplete, at = None, 0
    while match := _OBJECT.search(text, at):
        start = match.start()
        try:
            _, at = _DECODER.raw_decode(text, start)
        except ValueError:
            incomplete = start if incomplete is None else incomplete
            at = start + 1
        else:
            spans.append((start, at))
    return spans, incomplete


def _is_inside(incomplete: int | None, text: str, start: int) -> bool:
    """Return whether an object is a part of an incomplete one before it."""
    if incomplete is None or incomplete > start:
        return False
    return text[incomplete:start].lstrip("{ \r\n\t").startswith('"')
