"""Fit a text into a budget of tokens. Pure."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from remembrancer import tokens

MOST_MISSES: Final = 20
"""Entries in a row that may be too long for what is left, until no shorter one is looked for."""
SHORTEST: Final = 8
"""Tokens that no line can do with fewer of."""


FEW: Final = 50
"""Up to so many entries are rendered all at once before they are counted one by one."""


@dataclass(slots=True)
class Entry:
    """A line of a block, and the heading of its section."""

    line: str
    section: Hashable
    heading: str = ""
    ids: tuple[str, ...] = ()
    worth: float = inf
    """Entries that are worth more are chosen first."""


Chosen = TypeVar("Chosen", bound=Entry)


@dataclass(frozen=True, slots=True)
class FilledText(Generic[Chosen]):
    """A text within its budget, with its entries in the order of choice."""

    text: str
    tokens: int
    entries: Sequence[Chosen]


def line_price(entry: Entry, _chosen: Sequence[Entry]) -> int:
    """Return the tokens of a line. It begins with a mark and ends with a line break, so that the
    counts of lines add up.
    """
    return tokens.count(f"{entry.line}\n")


def fill(
    entries: Iterable[Chosen],
    budget: int,
    render: Callable[[Sequence[Chosen]], str],
    price: Callable[[Chosen, Sequence[Chosen]], int] = line_price,
) -> FilledText[Chosen]:
    """Return the text of as many ``entries``, the first ones first, as ``budget`` tokens hold.

    Entries are read one by one, as far as needed. ``render`` makes the text of the chosen ones,
    and ``price`` counts the tokens that an entry adds to the ones chosen before.
    An entry that is too long is skipped for shorter ones after it. If not even the text without
    entries fits, the result is empty.
    """
    if isinstance(entries, Sequence) and len(entries) <= FEW:
        # Usually all of them fit: one count shows it.
        text = render(entries)
        total = tokens.count(text)
        if total <= budget:
            return FilledText(text, total, entries)
    bare = tokens.count(render([]))
    if bare > budget:
        return FilledText("", 0, [])
    left = budget - bare
    while True:
        chosen = _choose(entries, left, price)
        text = render(chosen)
        total = tokens.count(text)
        if total <= budget:
            return FilledText(text, total, chosen)
        if not chosen:
            return FilledText("", 0, [])
        # A template adds text of its own: choose again with less.
        left -= total - budget
        if not isinstance(entries, Sequence):
            entries = chosen


def _choose(
    entries: Iterable[Chosen], left: int, price: Callable[[Chosen, Sequence[Chosen]], int]
) -> list[Chosen]:
    chosen: list[Chosen] = []
    sections: set[Hashable] = set()
    misses = 0
    for entry in entries:
        cost = price(entry, chosen)
        if entry.section not in sections:
            cost += tokens.count(f"{entry.heading}\n\n")
        if cost <= left:
            chosen.append(entry)
            sections.add(entry.section)
            left -= cost
            misses = 0
        else:
            misses += 1
        if left < SHORTEST or misses > MOST_MISSES:
            break
    return chosen
