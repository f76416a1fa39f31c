"""Resources: their addresses, and how much of one is read at a time. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.schemas import MemoryHistory

SCHEME: Final = "remembrancer"
DOCUMENT: Final = f"{SCHEME}://document"
CONTEXT: Final = f"{SCHEME}://context"
PER_PAGE: Final = 50
"""Versions of a memory on one page."""
LARGEST_PAGE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an address asks for."""

    kind: str
    """``document``, ``context`` or ``memories``."""
    id: str = ""
    """Of a memory, or of the conversation whose context it is."""
    page: int = 1
    user_id: UUID | None = None
    agent_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """Addresses of one kind."""

    name: str
    uri: str
    title: str
    description: str
    mime_type: str = "application/json"


def fixed() -> list[Template]:
    """Return the resources that have one address."""
    return [
        Template(
            "memory-document",
            DOCUMENT,
            "Memory document",
            "All that is remembered of the user, with ids: facts, places and counts. In pages.",
        ),
        Template(
            "context",
            CONTEXT,
            "Stable context",
            "What an assistant is told of the user at the start of a conversation.",
            "text/plain",
        ),
    ]


def templates(naming: Collection[str]) -> list[Template]:
    """Return the templates; ``naming`` are the parameters that say for whom."""
    whom = "".join(f",{name}" for name in naming)
    only = f"{{?{whom.removeprefix(',')}}}" if whom else ""
    return [
        Template(
            "memory-document-page",
            f"{DOCUMENT}{{?page{whom}}}",
            "Page of the memory document",
            "Pages count from 1; next_page names the one to ask for next.",
        ),
        Template(
            "memory",
            f"{SCHEME}://memories/{{memory_id}}{{?page{whom}}}",
            "Memory with its history",
            "A memory by its id of 8 characters: every version, latest page first, and mentions.",
        ),
        Template(
            "conversation-context",
            f"{SCHEME}://context/{{conversation_id}}{only}",
            "Stable context of a conversation",
            "The same text, byte by byte, for as long as a conversation of this server lasts.",
            "text/plain",
        ),
    ]


def read(uri: str, naming: Collection[str]) -> Wanted:
    """Return what ``uri`` asks for; ``NotFound`` or ``InvalidInput`` if it is none of ours."""
    try:
        parts = urlsplit(uri)
        given = parse_qs(parts.query, keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise NotFound("no such resource", field="uri") from None
    path = parts.path.removeprefix("/")
    known = {"document": not path, "context": True, "memories": bool(path)}
    if parts.scheme != SCHEME or not known.get(parts.netloc) or parts.fragment:
        raise NotFound("no such resource", field="uri")
    for name in given:
        if name != "page" and name not in naming:
            raise InvalidInput("is not a parameter of this resource", field=_shown(name))
    if parts.netloc == "context" and path:
        _id({"conversation_id": [path]}, "conversation_id")
    return Wanted(
        parts.netloc,
        path,
        _page(given),
        _id(given, "user_id"),
        _id(given, "agent_id"),
    )


def history_page(memory: MemoryHistory, number: int) -> dict[str, Any]:
    """Return a memory with one page of its versions: page 1 has the latest, oldest first."""
    versions = memory.versions
    end = len(versions) - (number - 1) * PER_PAGE
    shown = versions[max(end - PER_PAGE, 0) : max(end, 0)]
    told = memory.model_copy(update={"versions": shown}).model_dump(mode="json")
    return told | {"next_page": number + 1 if end > PER_PAGE else None}


def _page(given: dict[str, list[str]]) -> int:
    [text] = given.get("page", ["1"])[-1:]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= LARGEST_PAGE):
        raise InvalidInput(f"must be a number from 1 to {LARGEST_PAGE:,}", field="page")
    return int(text[:9])


def _id(given: dict[str, list[str]], name: str) -> UUID | None:
    if name not in given:
        return None
    return as_id(given[name][-1], name)


def as_id(value: Any, name: str) -> UUID:
    """Return an id from its text; raise ``InvalidInput`` that names ``name`` if it is none."""
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput("must be an id such as 0199f7a2-…, a UUID", field=name) from None


def _shown(name: str) -> str:
    return name if name.isidentifier() and len(name) <= 40 else "uri"
