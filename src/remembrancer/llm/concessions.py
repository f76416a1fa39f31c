"""Read a provider's refusal: what it does not take, and what to leave out instead. Pure.

The text of a refusal is only searched for words; it is not stored or shown.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final


class Concession(StrEnum):
    """A change of the request for a provider that refuses it as it is."""

    SCHEMA = "schema in the prompt"
    TEMPERATURE = "no temperature"
    LIMIT_NAME = "other name of the token limit"
    LIMIT = "no token limit"
    SYSTEM = "no system role"
    TOOLS = "no tools"
    STREAM = "the answer at once"


Concessions = frozenset[Concession]

OF_ANSWER: Final[Concessions] = frozenset(Concession) - {Concession.TOOLS, Concession.STREAM}
"""Concessions of a request for an answer with a schema."""
OF_CHAT: Final[Concessions] = frozenset(Concession) - {Concession.SCHEMA}
"""Concessions of a request in a chat."""
SECONDS: Final = 3600.0
"""How long a concession lasts before the whole request is tried again."""

_MAY_CONCERN_REQUEST: Final = frozenset({200, 400, 404, 405, 415, 422, 500, 501})
_MAY_BE_TOO_LONG: Final = frozenset({400, 422, 500})
_TOO_LONG: Final = re.compile(
    r"context.?(?:length|window|size|limit)|n_ctx|maximum context"
    r"|(?:prompt|input|context|message|sequence|conversation|request|content|text|query)s?\b[^.]{0,60}"
    r"(?:too (?:long|large|big|many)|exceed|longer than|larger than|greater than the max|over the)"
    r"|too (?:long|large|big|many)[^.]{0,40}(?:prompt|input|context|token|request|message)"
    r"|exceed\w*[^.]{0,60}(?:tokens?|context|input|prompt|length)\b"
    r"|reduce the (?:length|size|number)|shorten (?:the|your)|string_above_max_length"
    "|\u8d85\u8fc7|\u8d85\u51fa|\u8fc7\u957f|\u8d85\u9650",
    re.IGNORECASE,
)
_HINTS: Final = (
    (Concession.LIMIT_NAME, re.compile(r"max_(?:completion_|output_|new_)?tokens", re.IGNORECASE)),
    (Concession.TEMPERATURE, re.compile(r"temperature", re.IGNORECASE)),
    (
        Concession.SCHEMA,
        re.compile(
            r"response_?format|json_?schema|json_object|structured.?output|grammar", re.IGNORECASE
        ),
    ),
    (
        Concession.SYSTEM,
        re.compile(
            r"\b(?:system|developer)\b[^.]{0,40}(?:role|message|prompt|instruction)"
            r"|roles?\b[^.]{0,60}\b(?:system|developer)\b",
            re.IGNORECASE,
        ),
    ),
    (Concession.TOOLS, re.compile(r"\btools?\b|tool_|function.?call|\bfunctions\b", re.IGNORECASE)),
    (Concession.STREAM, re.compile(r"\bstream(?:ing|_options)?\b", re.IGNORECASE)),
)


def is_too_long(status: int, text: str) -> bool:
    """Say whether a provider refuses a request because it is too long."""
    return status == 413 or (status in _MAY_BE_TOO_LONG and _TOO_LONG.search(text) is not None)


def next_requests(
    status: int, text: str, current: Concessions, possible: Concessions
) -> Sequence[Concessions]:
    """Return the concessions to try after a refusal of a request with the current ones.

    A parameter that the provider names is changed: conceded, or restored if its concession is
    what is refused. Without such a name it may be the schema, or in a chat the tools; a server
    that fails (HTTP 500) is not taken for one that refuses tools.
    """
    if status not in _MAY_CONCERN_REQUEST:
        return []
    named = [concession for concession, words in _HINTS if words.search(text)]
    named = [concession for concession in named if concession in possible]
    following = [current ^ {concession} for concession in named]
    if Concession.LIMIT_NAME in named:
        following.append(current | {Concession.LIMIT})
    unnamed = Concession.SCHEMA if Concession.SCHEMA in possible else Concession.TOOLS
    if unnamed is Concession.TOOLS and status == 500:
        return following
    return following or [current | {unnamed}]
