"""From what somebody types to a command. Pure, and never fails on any text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from remembrancer.memories.schemas import Category


@dataclass(frozen=True, slots=True)
class Command:
    """What is wanted, in words of :data:`USAGE`, and what of."""

    name: str
    id: str = ""
    """Of a memory."""
    text: str = ""
    """What to look for, to store, or to set."""
    page: int = 1
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class ParseError:
    """Something that is no command: what is wrong with it, and what could be meant."""

    reason: str
    nearest: str


USAGE: Final[Mapping[str, tuple[str, str, str]]] = {
    "list": ("list [category] [page]", "what is remembered, by category", "list person 2"),
    "search": ("search <words>", "look for something", "search Alec"),
    "show": ("show <id>", "one memory with its history", "show a1b2c3d4"),
    "add": ("add [category:] <text>", "remember something", "add person: Alec is my boss"),
    "edit": ("edit <id> <text>", "say it anew; the old words stay in its history",
             "edit a1b2c3d4 Alec was my boss"),
    "delete": ("delete <id>", "forget one memory", "delete a1b2c3d4"),
    "delete all": ("delete all [code]", "erase everything, for good, once confirmed", "delete all"),
    "scope": ("scope [agent|global|reset]", "what this agent shares with your others",
              "scope agent"),
    "places": ("places [page]", "places, and how often they came up", "places"),
    "pause": ("pause", "remember nothing that is said here, until resumed", "pause"),
    "resume": ("resume", "remember again what is said here", "resume"),
    "export": ("export", "a file with everything that is yours", "export"),
    "help": ("help", "this list", "help"),
}  # fmt: skip
"""Every command: how it is written, what it does, and an example that works."""

SCOPES: Final = frozenset({"agent", "global", "reset"})
LONGEST_PAGE: Final = 10_000
_CALL: Final = re.compile(r"\s*/memory(?:@\w+)?(?=\s|$)", re.IGNORECASE)
_ID: Final = re.compile(r"\[?(?:id:)?([0-9A-Za-z]{1,64})\]?")
_ALIASES: Final = {
    "ls": "list", "find": "search", "get": "show", "remember": "add", "new": "add",
    "update": "edit", "change": "edit", "forget": "delete", "remove": "delete", "rm": "delete",
    "place": "places", "stop": "pause", "continue": "resume", "start": "resume", "?": "help",
}  # fmt: skip
_CATEGORIES: Final = {category.value: category for category in Category}


def parse(text: str) -> Command | ParseError | None:
    """Return the command that ``text`` is; None unless it begins with ``/memory``."""
    call = _CALL.match(text)
    if call is None:
        return None
    word, rest = _first(text[call.end() :])
    name = word.lower()
    name = _ALIASES.get(name, name) or "list"
    if name not in USAGE:
        return ParseError("There is no such command.", _nearest(word))
    return _READ.get(name, _bare)(name, rest)


def _first(text: str) -> tuple[str, str]:
    parts = text.strip().split(maxsplit=1)
    return (parts[0] if parts else "", parts[1].strip() if len(parts) > 1 else "")


def _nearest(word: str) -> str:
    close = get_close_matches(word.lower()[:40], [*USAGE, *_ALIASES], n=1, cutoff=0.3)
    name = _ALIASES.get(close[0], close[0]) if close else "help"
    return f"/memory {USAGE[name][0]}"


def _wrong(name: str, reason: str) -> ParseError:
    return ParseError(reason, f"/memory {USAGE[name][0]}")


def _bare(name: str, rest: str) -> Command | ParseError:
    return _wrong(name, "Nothing more is needed there.") if rest else Command(name)


def _page(name: str, rest: str) -> Command | ParseError:
    page, category = 1, None
    for word in rest.lower().split():
        if word.isascii() and word.isdigit() and 0 < int(word[:9]) <= LONGEST_PAGE:
            page = int(word[:9])
        elif name == "list" and word in _CATEGORIES:
            category = _CATEGORIES[word]
        else:
            close = get_close_matches(word[:40], _CATEGORIES, n=1) if name == "list" else []
            hint = f" Do you mean {close[0]}?" if close else ""
            return _wrong(name, f"That is no page{' or category' * (name == 'list')}.{hint}")
    return Command(name, page=page, category=category)


def _words(name: str, rest: str) -> Command | ParseError:
    return Command(name, text=rest) if rest else _wrong(name, "Say what to look for.")


def _one(name: str, rest: str) -> Command | ParseError:
    found = _ID.fullmatch(rest)
    return Command(name, id=found[1]) if found else _wrong(name, "Say which one, by its id.")


def _add(name: str, rest: str) -> Command | ParseError:
    before, colon, after = rest.partition(":")
    category = _CATEGORIES.get(before.strip().lower()) if colon else None
    text = after.strip() if category else rest
    return (
        Command(name, text=text, category=category)
        if text
        else _wrong(name, "Say what to remember.")
    )


def _edit(name: str, rest: str) -> Command | ParseError:
    which, text = _first(rest)
    found = _ID.fullmatch(which)
    if found is None or not text:
        return _wrong(name, "Say which one, by its id, and its new words.")
    return Command(name, id=found[1], text=text)


def _delete(name: str, rest: str) -> Command | ParseError:
    word, code = _first(rest)
    if word.lower() == "all":
        return Command("delete all", text=code.upper())
    return _one(name, rest)


def _scope(name: str, rest: str) -> Command | ParseError:
    wanted = rest.lower()
    if wanted and wanted not in SCOPES:
        return _wrong(name, "That is no scope.")
    return Command(name, text=wanted)


_READ: Final = {
    "list": _page,
    "places": _page,
    "search": _words,
    "show": _one,
    "add": _add,
    "edit": _edit,
    "delete": _delete,
    "scope": _scope,
}
