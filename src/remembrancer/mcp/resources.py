"""Resources: addresses and pages. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from remembrancer.access import as_user
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.memories.schemas import Category, MemoryHistory
from remembrancer.user_names import UserName
from remembrancer.validation import as_id

SCHEME: Final = "remembrancer"
DOCUMENT: Final = f"{SCHEME}://document"
CONTEXT: Final = f"{SCHEME}://context"
_NAMED: Final = ("memories", "facts", "places")
PER_PAGE: Final = 50
"""Versions of a memory on one page."""
MAX_PAGE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Principal:
    """The user and agent that a request names; null means those of the source."""

    user_id: UUID | UserName | None = None
    agent_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    kind: str
    """``document``, ``context``, ``memories``, ``facts`` or ``places``."""
    id: str = ""
    """The id of a memory, a place, or the conversation of a context; the category of facts."""
    page: int = 1
    principal: Principal = Principal()


@dataclass(frozen=True, slots=True)
class Resource:
    name: str
    uri: str
    title: str
    description: str
    mime_type: str = "application/json"


def fixed() -> list[Resource]:
    return [
        Resource(
            "memory-document",
            DOCUMENT,
            "Memory document",
            "All memories of the user, with ids: facts, places and counts. In pages.",
        ),
        Resource(
            "context",
            CONTEXT,
            "Stable context",
            "Memories of the user for the start of a conversation.",
            "text/plain",
        ),
    ]


def templates(id_arguments: Collection[str]) -> list[Resource]:
    extra = "".join(f",{name}" for name in id_arguments)
    only = f"{{?{extra.removeprefix(',')}}}" if extra else ""
    return [
        Resource(
            "memory-document-page",
            f"{DOCUMENT}{{?page{extra}}}",
            "Page of the memory document",
            "Pages count from 1; next_page is the number of the next one.",
        ),
        Resource(
            "memory",
            f"{SCHEME}://memories/{{memory_id}}{{?page{extra}}}",
            "Memory with its history",
            "A memory by its id of 8 characters, with versions (latest page first) and mentions.",
        ),
        Resource(
            "facts-of-category",
            f"{SCHEME}://facts/{{category}}{only}",
            "Memories of a category",
            "The newest 200 memories of a category, such as hobby, and how many there are.",
        ),
        Resource(
            "place",
            f"{SCHEME}://places/{{place_id}}{only}",
            "Place",
            "A place of the user by its place id.",
        ),
        Resource(
            "conversation-context",
            f"{SCHEME}://context/{{conversation_id}}{only}",
            "Stable context of a conversation",
            "The text is the same, byte by byte, during a conversation of this server.",
            "text/plain",
        ),
    ]


def arguments(template: str) -> Collection[str]:
    """Return the names of the arguments in the address of a template."""
    parts = template.replace("{", "}").split("}")[1::2]
    return [name for part in parts for name in part.removeprefix("?").split(",")]


def parse(uri: str, id_arguments: Collection[str]) -> ResourceRequest:
    try:
        parts = urlsplit(uri)
        query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise NotFound("no such resource", field="uri") from None
    path = parts.path.removeprefix("/")
    valid = {"document": not path, "context": True} | dict.fromkeys(_NAMED, bool(path))
    if parts.netloc == "places":
        path = unquote(path)
    is_text = uri.isprintable() and path.isprintable()
    if parts.scheme != SCHEME or not valid.get(parts.netloc) or parts.fragment or not is_text:
        raise NotFound("no such resource", field="uri")
    for name in query:
        if name != "page" and name not in id_arguments:
            raise InvalidInput(
                "is not a parameter of this resource", field=argument_name(name, "uri")
            )
    if parts.netloc == "context" and path:
        as_id(path, field="conversation_id")
    if parts.netloc == "facts" and path not in list(Category):
        raise InvalidInput(f"must be one of {', '.join(Category)}", field="category")
    return ResourceRequest(
        parts.netloc,
        path,
        _page(query),
        principal({name: values[-1] for name, values in query.items()}),
    )


def history_page(memory: MemoryHistory, number: int) -> dict[str, Any]:
    """Return a memory with one page of its versions: page 1 has the latest, oldest first."""
    versions = memory.versions
    end = len(versions) - (number - 1) * PER_PAGE
    shown = versions[max(end - PER_PAGE, 0) : max(end, 0)]
    page = memory.model_copy(update={"versions": shown}).model_dump(mode="json")
    return page | {"next_page": number + 1 if end > PER_PAGE else None}


def _page(query: dict[str, list[str]]) -> int:
    [text] = query.get("page", ["1"])[-1:]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_PAGE):
        raise InvalidInput(f"must be a number from 1 to {MAX_PAGE:,}", field="page")
    return int(text[:9])


def principal(ids: Mapping[str, Any]) -> Principal:
    """Return the user and agent of a request; raise ``InvalidInput`` for what can be neither."""
    user, agent = ids.get("user_id"), ids.get("agent_id")
    return Principal(
        None if user is None else as_user(user),
        None if agent is None else as_id(agent, field="agent_id"),
    )


def argument_name(name: str, default: str) -> str:
    """Return a client's argument name for an error text, or ``default`` if it is no plain name."""
    return name if name.isidentifier() and len(name) <= 40 else default
