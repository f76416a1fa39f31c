"""Requests of a client, and the parsing of responses. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request and the type of its result."""

    method: str
    path: str
    answer: Any = None
    """Type of the result; None if there is none."""
    inside: str | None = None
    """The field of the response with the result; by default all of it."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    """Whether a second request changes nothing more."""

    def read(self, body: bytes) -> T_co:
        """Return the result in ``body``; raise ``ValueError`` for an invalid body."""
        if self.answer is None:
            return None  # type: ignore[return-value]
        if body.startswith(b"["):
            # Some published endpoints return a plain array; in the client, lists have items.
            body = b'{"items":%b}' % body
        adapter = _adapter(self.answer)
        if self.inside is None:
            return adapter.validate_json(body)  # type: ignore[no-any-return]
        return adapter.validate_python(_adapter(dict[str, Any]).validate_json(body)[self.inside])  # type: ignore[no-any-return]


@cache
def _adapter(answer: Any) -> TypeAdapter[Any]:
    return TypeAdapter(answer)


def json_of(value: Any) -> Any:
    """Return ``value`` as JSON values, without unset fields."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {name: json_of(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [json_of(item) for item in value]
    return value


def part(value: object) -> str:
    """Return ``value`` quoted as one segment of a path, so that it cannot lead elsewhere."""
    quoted = quote(str(value), safe="", errors="surrogatepass")
    return quoted.replace(".", "%2E") if set(quoted) == {"."} else quoted
