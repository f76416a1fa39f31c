"""Fit a text into a budget of tokens. Pure."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
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


Chosen = TypeVar("Chosen", bound=Entry)


@dataclass(frozen=True, slots=True)
class FilledText(Generic[Chosen]):
    """A text within its budget, with its entries in the order of choice."""

    text: str
    tokens: int
    entries: Sequence[Chosen]


def fill(
    entries: Iterable[Chosen], budget: int, render: Callable[[Sequence[Chosen]], str]
) -> FilledText[Chosen]:
    """Return the text of as many ``entries``, the first ones first, as ``budget`` tokens hold.

    Entries are read one by one, as far as needed. ``render`` makes the text of the chosen ones.
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
    chosen = _choose(entries, budget - bare)
    while True:
        text = render(chosen)
        total = tokens.count(text)
        if total <= budget:
            return FilledText(text, total, chosen)
        # A template may add text: drop the last entries until it fits.
        if not chosen:
            return FilledText("", 0, [])
        chosen = chosen[:-1]


def _choose(entries: Iterable[Chosen], left: int) -> list[Chosen]:
    chosen: list[Chosen] = []
    sections: set[Hashable] = set()
    misses = 0
    for entry in entries:
        # Lines begin with a mark and end with a line break: their counts add up.
        price = tokens.count(entry.line + "\n")
        if entry.section not in sections:
            price += tokens.count(f"{entry.heading}\n\n")
        if price <= left:
            chosen.append(entry)
            sections.add(entry.section)
            left -= price
            misses = 0
        else:
            misses += 1
        if left < SHORTEST or misses > MOST_MISSES:
            break
    return chosen
