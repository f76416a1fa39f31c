"""Tool results as one line of JSON that no stored text can break out of. Pure."""

import json
from typing import Any, Final

from remembrancer import tokens
from remembrancer.sanitizer import escaped_json

MAX_TOKENS: Final = 300
"""The most tokens of one recalled text."""


def to_json_line(value: Any) -> str:
    return escaped_json(json.dumps(value, ensure_ascii=False, default=str))


def truncate(text: str) -> str:
    beginning = tokens.truncate(text, MAX_TOKENS)
    return text if beginning == text else f"{beginning} [...]"
