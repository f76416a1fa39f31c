"""Tool results as one line of JSON that no stored text can break out of. Pure."""

import json
import re
from typing import Any, Final

from remembrancer import tokens

MAX_TOKENS: Final = 300
"""The most tokens of one recalled text."""

# JSON does not escape these: line ends, direction marks, invisible characters, and the brackets of
# special tokens and markup.
_UNSAFE = re.compile(r"[<>\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def to_json_line(value: Any) -> str:
    """Return JSON on one line, with unsafe characters escaped."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def truncate(text: str) -> str:
    """Return ``text``, cut after ``MAX_TOKENS`` with a mark."""
    beginning = tokens.truncate(text, MAX_TOKENS)
    return text if beginning == text else f"{beginning} [...]"
