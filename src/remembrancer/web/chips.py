"""Filters of a list as chips: each choice is a link, so that the address has every filter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import URL


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter. ``value`` is its choice in words; null for the one that filters nothing."""

    name: str
    label: str
    value: str | None
    choices: list[Choice]

    @property
    def without(self) -> str:
        """The address of the list without this filter."""
        return self.choices[0].address


def chip(
    url: URL, query: Mapping[str, str], name: str, label: str, choices: Iterable[tuple[str, str]]
) -> Chip:
    """Return the chip of a filter. The first of ``choices``, value and label, filters nothing."""
    options = [(str(value), words) for value, words in choices]
    chosen = query.get(name) or options[0][0]
    others = {key: value for key, value in query.items() if value and key not in {name, "cursor"}}

    def address(value: str) -> str:
        fields = others if value == options[0][0] else others | {name: value}
        return f"{url.path}?{urlencode(fields)}".rstrip("?")

    return Chip(
        name,
        label,
        dict(options).get(chosen) if chosen != options[0][0] else None,
        [Choice(words, address(value), value == chosen) for value, words in options],
    )
