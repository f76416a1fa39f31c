"""Find the JSON object in a model's answer. Pure."""

import json
import re

_DECODER = json.JSONDecoder()
_OBJECT = re.compile(r"\{")


def json_object(text: str) -> str:
    """Return the largest JSON object in a text, or the text from an incomplete one."""
    largest, first, at = "", None, 0
    while match := _OBJECT.search(text, at):
        start = match.start()
        try:
            _, end = _DECODER.raw_decode(text, start)
        except ValueError:
            first = start if first is None else first
            at = start + 1
            continue
        except RecursionError:
            return text
        if end - start > len(largest) and not _is_inside(first, text, start):
            largest = text[start:end]
        at = end
    if largest:
        return largest
    return text if first is None else text[first:]


def _is_inside(first: int | None, text: str, start: int) -> bool:
    """Return whether an object is a part of an incomplete one before it."""
    return first is not None and text[first:start].lstrip("{ \r\n\t").startswith('"')
