"""What a tool tells a model: one line of JSON that no memory can break out of. Pure."""

import json
import re
from typing import Any, Final

from remembrancer import tokens

LONGEST: Final = 300
"""Tokens of one recalled text; a message may have thousands."""

# Beyond what JSON escapes: what ends a line somewhere, turns its direction or cannot be seen, and
# brackets, with which special tokens and markup begin and end.
_UNSAFE = re.compile(r"[<>\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def as_json(value: Any) -> str:
    """Return JSON values as JSON text on one line, in which data is visibly data."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def clipped(text: str) -> str:
    """Return ``text``, or its beginning with a mark if it has many tokens."""
    beginning = tokens.truncate(text, LONGEST)
    return text if beginning == text else f"{beginning} [...]"
