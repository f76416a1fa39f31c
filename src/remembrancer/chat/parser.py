"""Parses ``/memory`` commands. Pure; never raises, whatever the text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from remembrancer.memories.schemas import Category


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command. ``name`` is a key of :data:`USAGE`."""

    name: str
    id: str = ""
    """The id of a memory or an invitation."""
    text: str = ""
    """The query, the statement, or the value to set."""
    page: int = 1
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class ParseError:
    reason: str
    nearest: str


USAGE: Final[Mapping[str, tuple[str, str, str]]] = {
    "list": ("list [category] [page]", "list your memories, by category", "list person 2"),
    "search": ("search <words>", "search your memories", "search Alec"),
    "show": ("show <id>", "show a memory with its history", "show a1b2c3d4"),
    "add": ("add [category:] <text>", "add a memory", "add person: Alec is my boss"),
    "edit": ("edit <id> <text>", "change a memory; its history keeps the old text",
             "edit a1b2c3d4 Alec was my boss"),
    "delete": ("delete <id>", "forget a memory", "delete a1b2c3d4"),
    "restore": ("restore <id>", "bring a forgotten memory back", "restore a1b2c3d4"),
    "delete all": ("delete all [code]", "erase all memories permanently, once confirmed",
                   "delete all"),
    "scope": ("scope [agent|global|reset]", "show or set what this agent shares with your others",
              "scope agent"),
    "places": ("places [page]", "list your places, with their mentions", "places"),
    "invitations": ("invitations", "list the spaces that you are invited to", "invitations"),
    "accept": ("accept <id>", "join a space that you are invited to", "accept a1b2c3d4"),
    "decline": ("decline <id>", "decline an invitation; nobody is told", "decline a1b2c3d4"),
    "pause": ("pause", "stop remembering this conversation", "pause"),
    "resume": ("resume", "remember this conversation again", "resume"),
    "export": ("export", "get a file with all your data", "export"),
    "help": ("help", "show this list", "help"),
}  # fmt: skip
"""Every command: its syntax, its description, and a working example."""

SCOPES: Final = frozenset({"agent", "global", "reset"})
MAX_PAGE: Final = 10_000
_CALL: Final = re.compile(r"\s*/memory(?:@\w+)?(?=\s|$)", re.IGNORECASE)
_ID: Final = re.compile(r"\[?(?:id:)?([0-9A-Za-z]{1,64})\]?")
_ALIASES: Final = {
    "ls": "list", "find": "search", "get": "show", "remember": "add", "new": "add",
    "update": "edit", "change": "edit", "forget": "delete", "remove": "delete", "rm": "delete",
    "place": "places", "stop": "pause", "continue": "resume", "start": "resume", "?": "help",
}  # fmt: skip
_CATEGORIES: Final = {category.value: category for category in Category}


def parse(text: str) -> Command | ParseError | None:
    """Return the command in ``text``; None unless it begins with ``/memory``."""
    call = _CALL.match(text)
    if call is None:
        return None
    word, rest = _split_word(text[call.end() :])
    name = word.lower()
    name = _ALIASES.get(name, name) or "list"
    if name not in USAGE:
        return ParseError("Unknown command.", _nearest(word))
    return _PARSERS.get(name, _without_arguments)(name, rest)


def _split_word(text: str) -> tuple[str, str]:
    parts = text.strip().split(maxsplit=1)
    return (parts[0] if parts else "", parts[1].strip() if len(parts) > 1 else "")


def _nearest(word: str) -> str:
    close = get_close_matches(word.lower()[:40], [*USAGE, *_ALIASES], n=1, cutoff=0.3)
    name = _ALIASES.get(close[0], close[0]) if close else "help"
    return f"/memory {USAGE[name][0]}"


def _error(name: str, reason: str) -> ParseError:
    return ParseError(reason, f"/memory {USAGE[name][0]}")


def _without_arguments(name: str, rest: str) -> Command | ParseError:
    return _error(name, "This command takes no arguments.") if rest else Command(name)


def _page(name: str, rest: str) -> Command | ParseError:
    page, category = 1, None
    for word in rest.lower().split():
        if word.isascii() and word.isdigit() and 0 < int(word[:9]) <= MAX_PAGE:
            page = int(word[:9])
        elif name == "list" and word in _CATEGORIES:
            category = _CATEGORIES[word]
        else:
            close = get_close_matches(word[:40], _CATEGORIES, n=1) if name == "list" else []
            hint = f" Did you mean {close[0]}?" if close else ""
            return _error(name, f"Unknown page{' or category' * (name == 'list')}.{hint}")
    return Command(name, page=page, category=category)


def _query(name: str, rest: str) -> Command | ParseError:
    return Command(name, text=rest) if rest else _error(name, "Give the words to search for.")


def _one_id(name: str, rest: str) -> Command | ParseError:
    match = _ID.fullmatch(rest)
    noun = "an invitation" if name in {"accept", "decline"} else "a memory"
    return Command(name, id=match[1]) if match else _error(name, f"Give the id of {noun}.")


def _add(name: str, rest: str) -> Command | ParseError:
    before, colon, after = rest.partition(":")
    category = _CATEGORIES.get(before.strip().lower()) if colon else None
    text = after.strip() if category else rest
    return (
        Command(name, text=text, category=category)
        if text
        else _error(name, "Give the text to remember.")
    )


def _edit(name: str, rest: str) -> Command | ParseError:
    memory_id, text = _split_word(rest)
    match = _ID.fullmatch(memory_id)
    if match is None or not text:
        return _error(name, "Give the id of a memory and the new text.")
    return Command(name, id=match[1], text=text)


def _delete(name: str, rest: str) -> Command | ParseError:
    word, code = _split_word(rest)
    if word.lower() == "all":
        return Command("delete all", text=code.upper())
    return _one_id(name, rest)


def _scope(name: str, rest: str) -> Command | ParseError:
    scope = rest.lower()
    if scope and scope not in SCOPES:
        return _error(name, "Unknown scope.")
    return Command(name, text=scope)


_PARSERS: Final = {
    "list": _page,
    "places": _page,
    "search": _query,
    "show": _one_id,
    "accept": _one_id,
    "decline": _one_id,
    "add": _add,
    "edit": _edit,
    "delete": _delete,
    "restore": _one_id,
    "scope": _scope,
}
