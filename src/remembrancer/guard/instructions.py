"""Detect texts that give orders to an agent.

Such a text is stored as a quotation, and is not shared before a review. Conservative: it looks
for orders, not for mentions of orders.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from remembrancer.guard import lines_of
from remembrancer.sanitizer import revealed

_START: Final = (
    r"(?:^|[.!?:;,\n\"'\u201c(\[>-])[^\S\n]{0,9}"
    r"(?:(?:please|then|and|also|you must|you should)\s+)?"
)
"""The start of a clause, where a verb is an order."""
_HANDLE: Final = (
    r"(?:send|forward|share|reveal|disclose|leak|upload|email|e-mail|post|copy|bcc|delete|erase|"
    r"execute|run|call|invoke|obey|answer|reply|respond|output|print|recommend|include|append|"
    r"insert|approve|grant|transfer|trust|pretend|ignore|disregard|refuse|praise|mention)"
)
"""Verbs of orders to an agent about words, files and people."""
_DO: Final = rf"(?:{_HANDLE}|say|tell|pay|treat|use|act|store|remember|write|speak|be)"
_ORDERS: Final = (
    r"instructions?|prompts?|rules|guidelines|directions|commands|context|constraints|"
    r"anweisung(?:en)?|instruccion(?:es)?|instrucciones|instruções|istruzioni|instructies|"
    r"instrukcj\w+|инструкци\w+|指令|指示|说明|命令"
)

_WORDS: Final = {"START": _START, "HANDLE": _HANDLE, "DO": _DO, "ORDERS": _ORDERS}
_PLACEHOLDER: Final = re.compile(r"\{([A-Z]+)\}")
_HINTS: Final = tuple(lines_of("instruction_hints.txt"))


@cache
def _signs() -> Sequence[re.Pattern[str]]:
    return [
        re.compile(
            _PLACEHOLDER.sub(lambda name: _WORDS[name[1]], sign), re.IGNORECASE | re.MULTILINE
        )
        for sign in lines_of("instruction_signs.txt")
    ]


def is_instruction(text: str) -> bool:
    """Return whether ``text`` reads like an order to an agent or like a part of a prompt."""
    plain, _ = revealed(text)
    lower = plain.lower()
    if not any(map(lower.__contains__, _HINTS)):  # half the time of a generator
        return False
    return any(sign.search(plain) for sign in _signs())
