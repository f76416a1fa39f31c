"""Find keys and tokens by their shape.

The shapes come from detect-secrets; newer ones and private keys are added here. ``phrases``
finds secrets without a shape of their own, such as passwords.
"""

import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from remembrancer.guard import lines_of, phrases
from remembrancer.guard.schemas import SensitiveKind, Span

# The detectors that match a shape in linear time. The entropy and keyword detectors are made for
# source code. Verification, which uses the network, is never called.
_DETECTORS: Final = (
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)

_MORE: Final = tuple(
    # Matching inside a word would try every letter of a long one.
    re.compile(r"(?<![\w/+-])" + shape)
    for shape in lines_of("secret_shapes.txt")
)

_PRIVATE_KEY: Final = re.compile(
    # From its first line to its last, or to the end of the text without one.
    r"(?<=[-\u2013\u2014]{2})\s?BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY"
    r".*?(?:END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?\s?[-\u2013\u2014]*|\Z)"
    r"|PuTTY-User-Key-File-\d.*\Z",
    re.DOTALL,
)

_MOST_DASHES: Final = 20

_IN_ADDRESS: Final = re.compile(r"://[^\s/@:]{0,100}:(?P<value>[^\s/@]{1,200})@")
"""A password before the host."""

_LONG_WORD: Final = re.compile(r"\S{16,}")
"""Every shape contains one; few messages do."""
_BEFORE: Final = 60
"""Characters before a long word that a shape may begin with."""
_WORD: Final = frozenset("+/=.~%-_")


@cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    detectors = (
        getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)
        for module, name in _DETECTORS
    )
    return (*(shape for detector in detectors for shape in detector.denylist), *_MORE)


def find(text: str) -> Iterator[Span]:
    for match in _PRIVATE_KEY.finditer(text):
        dashes = text[max(0, match.start() - _MOST_DASHES) : match.start()]
        start = match.start() - len(dashes) + len(dashes.rstrip("-\u2013\u2014"))
        yield Span(start, match.end(), SensitiveKind.SECRET)
    for match in _IN_ADDRESS.finditer(text):
        if not phrases.stands_for_one(match["value"]):
            yield _whole_word(text, *match.span())
    for first, last in _regions(text):
        for shape in _shapes():
            after = 0
            for match in shape.finditer(text, first, last):
                if match.start() >= after:
                    span = _whole_word(text, *match.span())
                    after = span.end
                    yield span


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield where long words are, each with what is before it."""
    first = last = 0
    for word in _LONG_WORD.finditer(text):
        start = max(0, word.start() - _BEFORE)
        if start > last:
            if last:
                yield first, last
            first = start
        last = word.end()
    if last:
        yield first, last


def _whole_word(text: str, start: int, end: int) -> Span:
    """Widen a match to the whole word: newer keys are longer than the known shapes."""
    while start and _in_word(text[start - 1]):
        start -= 1
    while end < len(text) and _in_word(text[end]):
        end += 1
    while end > start and text[end - 1] == ".":
        end -= 1
    return Span(start, end, SensitiveKind.SECRET)


def _in_word(character: str) -> bool:
    return character.isalnum() or character in _WORD
