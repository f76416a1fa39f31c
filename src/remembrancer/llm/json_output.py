"""Find the JSON object in what a model wrote. Pure."""

import json
import re

Said = tuple[str, str]
"""A message of a conversation: ``user`` or ``assistant``, and the words."""

_DECODER = json.JSONDecoder()
_OBJECT = re.compile(r"\{")


def json_object(written: str) -> str:
    """Return the largest JSON object in a text: in a fence, amid prose, or the text itself.

    One that is cut off is returned from where it starts, so that it can be seen to be cut off.
    Without any, the text is returned as it is.
    """
    best, first, at = "", None, 0
    while match := _OBJECT.search(written, at):
        start = match.start()
        try:
            _, end = _DECODER.raw_decode(written, start)
        except ValueError:
            first = start if first is None else first
            at = start + 1
            continue
        except RecursionError:
            return written
        if end - start > len(best) and not _is_inside(first, written, start):
            best = written[start:end]
        at = end
    if best:
        return best
    return written if first is None else written[first:]


def _is_inside(first: int | None, written: str, start: int) -> bool:
    """Say whether an object is a part of one that began before it and never ended."""
    return first is not None and written[first:start].lstrip("{ \r\n\t").startswith('"')
