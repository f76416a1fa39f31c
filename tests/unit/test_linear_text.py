"""Text of users, models, exports and forms takes time in proportion to its length.

Each function gets texts that a careless pattern goes over again and again. A text eight times as
long may take 2.5 times the time for each doubling, and no more: a linear function needs 8 times
its time, a quadratic one 64, the limit is 15.6. So the noise of a busy machine decides nothing.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from foreign_text import FUNCTIONS, PARTS, REFUSALS

import remembrancer

SMALL: Final = 1_000
LARGE: Final = 8 * SMALL
"""Characters."""
LIMIT: Final = 2.5**3
TRIES: Final = 60
"""A busy machine disturbs a function for a while, never for all of them."""
ENOUGH: Final = 0.0005
"""Seconds. What takes less for the long text is not measurable, and has done no 8,000 squared."""

COVERED: Final = frozenset(
    """
    adapters/paths.py analysis/questions.py analysis/segments.py analysis/speech.py
    associations/rules.py chat/discord.py chat/parser.py cli/output.py cli/recall.py
    context/lines.py extraction/date_words.py extraction/dates.py extraction/transcript.py
    guard/guard.py guard/instructions.py guard/national.py guard/numbers.py guard/phrases.py
    guard/secrets.py importers/address_book.py importers/formats/contacts.py
    importers/formats/discord.py importers/formats/gemini_html.py importers/formats/mail.py
    importers/formats/mcp_memory.py
    importers/formats/notes.py importers/formats/slack.py importers/formats/whatsapp.py
    importers/formats/whatsapp_heads.py llm/concessions.py llm/json_output.py memories/sameness.py
    recall/candidates.py sanitizer.py text.py tools/arguments.py web/diff.py web/marks.py
    """.split()  # noqa: SIM905
)
"""Modules with patterns, all of whose functions for foreign text are in the table."""
OWN: Final = {
    "api/dependencies.py": "a header; the pattern has no repetition without a bound",
    "api/endpoints.py": "names of our own types",
    "cli/temporary_server.py": "the output of our own server",
    "cli/explanations.py": "a message of our own command line",
    "client/operations.py": "our own paths",
    "db/sql.py": "our own statements",
    "importers/formats/locomo.py": "names of keys, one run of digits",
    "reasons.py": "the words of a library, at their beginning",
    "settings_file.py": "variables of our own process",
    "web/documentation.py": "a page of a library",
}


def test_case_47_every_module_with_patterns_is_looked_at() -> None:
    """A new one has its functions in `foreign_text.py`, or a reason to be left out."""
    source = Path(remembrancer.__file__).parent
    found = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if "import re\n" in file.read_text("utf-8")
    }
    assert found == COVERED | OWN.keys()


def _texts(length: int) -> Iterator[tuple[str, str]]:
    for part in PARTS:
        yield part, part * (length // len(part))
    for around in ("\n", " ", "-", "1"):
        # What follows the repeated part makes a pattern that got to the end turn back.
        yield f"x{around}system", f"x{around * length}system"


def _seconds(function: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    with suppress(*REFUSALS):
        function(text)
    return time.thread_time() - begun


def _growth(function: Callable[[str], object], small: str, large: str) -> float:
    """Return how many times the processor time of a short text a long one needs; 0 for no time.

    The least of several tries is nearest to the work itself; one try is enough for most.
    """
    short = long = float("inf")
    for _ in range(TRIES):
        long = min(long, _seconds(function, large))
        if long < ENOUGH:
            return 0
        short = min(short, _seconds(function, small))
        if long < LIMIT * short:
            break
    return long / short


def growths(function: Callable[[str], object]) -> dict[str, float]:
    """Return by how much the time grows with each doubling, for each text that takes any."""
    _seconds(function, "Ada's password is 1.")  # what is read and compiled at first use
    pairs = zip(_texts(SMALL), _texts(LARGE), strict=True)
    found = {name: _growth(function, small, large) for (name, small), (_, large) in pairs}
    return {name: growth ** (1 / 3) for name, growth in found.items() if growth}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_case_47_the_time_grows_with_the_text(name: str) -> None:
    """By at most 2.5 for each doubling. With `-s` it says by how much."""
    found = growths(FUNCTIONS[name])
    print(f"{name}: {max(found.values(), default=0):.1f}")
    assert {text: growth for text, growth in found.items() if growth >= 2.5} == {}


def test_a_quadratic_function_is_noticed() -> None:
    """A pattern that reads a run to its end from each of its characters."""
    assert _growth(re.compile(r"x+\d").search, "x" * 500, "x" * 4000) > LIMIT
