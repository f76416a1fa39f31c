"""Types and checks of text from clients."""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, StringConstraints

from remembrancer.errors import InvalidInput
from remembrancer.sanitizer import visible

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_DEEPEST_JSON = 32
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def storable(value: str) -> str:
    """Raise ``ValueError`` for text that Postgres cannot store."""
    if "\x00" in value:
        raise ValueError("has a NUL character; remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("has a lone surrogate, which is not text; remove it") from None
    return value


def storable_json(value: dict[str, Any], most: int = 8192) -> dict[str, Any]:
    """Raise ``ValueError`` for an object over 8 kB, or one that Postgres cannot store."""
    try:
        # Finds escapes and constants that Python writes and Postgres refuses.
        encoded = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError):
        raise ValueError("must have only JSON values") from None
    if len(encoded) > most:
        raise ValueError(f"must have at most {most:,} bytes as JSON")
    if _deeper_than(value, _DEEPEST_JSON):
        raise ValueError(f"must be nested at most {_DEEPEST_JSON} levels deep")
    if _ESCAPED_NUL.search(encoded.decode()):
        raise ValueError("has a NUL character; remove it")
    return value


def _deeper_than(value: Any, levels: int) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list | tuple) and (
        levels == 0 or any(_deeper_than(item, levels - 1) for item in items)
    )


def one_line(value: str) -> str:
    """Trim text and remove hidden characters; raise ``ValueError`` for more than one line."""
    if _CONTROL.search(storable(value)):
        raise ValueError("must have no control character or line break")
    return visible(value).strip()


def is_blank(value: str) -> bool:
    """Return whether text has no visible character."""
    return not any(c.isprintable() and not c.isspace() for c in value)


def not_blank(value: str) -> str:
    """Raise ``ValueError`` for text without a visible character."""
    if is_blank(value):
        raise ValueError("must not be empty")
    return value


def normalised(value: str) -> str:
    """Return text for comparison: without case, width, extra spaces and a final full stop."""
    folded = unicodedata.normalize("NFKC", value).casefold()
    return " ".join(folded.split()).rstrip(".!").rstrip()


def is_inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a position is in one of the spans, which are in order and lie apart."""
    number = bisect_right(spans, at, key=lambda span: span[1])
    return number < len(spans) and spans[number][0] <= at


Text = Annotated[str, AfterValidator(storable)]
"""Any text; its length is checked against the settings by the service."""

Statement = Annotated[str, AfterValidator(storable), AfterValidator(not_blank)]
"""Text with at least one visible character."""

Label = Annotated[
    str, StringConstraints(max_length=200), AfterValidator(one_line), AfterValidator(not_blank)
]
"""A name or key on one line, 1 to 200 characters."""


def _exact_line(value: str) -> str:
    one_line(value)
    return not_blank(value)


Key = Annotated[str, StringConstraints(max_length=255), AfterValidator(_exact_line)]
"""A name from another system, unchanged, 1 to 255 characters."""


def check_platform(value: str) -> str:
    """Raise ``ValueError`` for what no platform is called."""
    if any(character.isspace() for character in value):
        raise ValueError("must have no blank, such as discord")
    return value


Platform = Annotated[Key, AfterValidator(check_platform)]
"""The name of a platform, as in ``platform:id``."""

OptionalLabel = Annotated[str, StringConstraints(max_length=200), AfterValidator(one_line)]
"""A name on one line that may be empty."""

Prose = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(storable)]
"""A description or prompt of up to 20,000 characters."""


def _in_range(value: datetime) -> datetime:
    if not 1 < value.year < 9999:
        raise ValueError("must lie in the years 2 to 9998")
    return value


Metadata = Annotated[dict[str, Any], AfterValidator(storable_json)]
"""A JSON object."""

Instant = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""A time with its zone."""


def check_range(value: int, least: int, most: int, *, field: str) -> None:
    """Raise ``InvalidInput`` unless ``value`` is from ``least`` to ``most``."""
    if not least <= value <= most:
        raise InvalidInput(f"must be from {least:,} to {most:,}", field=field)


def plural(count: int, singular: str, plural: str = "") -> str:
    """Return the count with its noun, such as "1 memory" or "2,000 memories"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
