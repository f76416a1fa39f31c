"""Requests of a client, the parsing of responses, and their errors. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from remembrancer import errors
from remembrancer.errors import RemembrancerError, Unavailable

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
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: json_of(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [json_of(item) for item in value]
    return value


def part(value: object) -> str:
    """Return ``value`` quoted as one segment of a path, so that it cannot lead elsewhere."""
    quoted = quote(str(value), safe="", errors="surrogatepass")
    return quoted.replace(".", "%2E") if set(quoted) == {"."} else quoted


_STANDARD: Final = {"type", "title", "status", "detail", "errors", "request_id"}


def _family(parent: type[RemembrancerError]) -> Iterator[type[RemembrancerError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _family(child)


_BY_SLUG: Final = {kind("").slug: kind for kind in _family(RemembrancerError)}
_BY_STATUS: Final[dict[int, type[RemembrancerError]]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    412: errors.PreconditionFailed,
    429: errors.TooManyRequests,
}


def refusal(status: int, document: Any, retry_after: str | None = None) -> RemembrancerError:
    """Return the error of a problem document.

    Other documents, such as the page of a proxy, give an error by status alone.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("type"), str):
        return _by_status(status, f"the server answered {status} and no reason")
    kind = _BY_SLUG.get(document["type"].removeprefix("urn:remembrancer:"))
    field_errors = [error for error in document.get("errors") or [] if isinstance(error, Mapping)]
    detail = str(document.get("detail") or document.get("title") or status)
    field, reason = None, detail
    if field_errors:
        field, reason = (str(field_errors[0].get(name)) for name in ("field", "reason"))
    extra = {str(name): value for name, value in document.items() if name not in _STANDARD}
    if len(field_errors) > 1:
        extra["errors"] = field_errors
    if status == 429 and retry_after is not None and retry_after.isdigit():
        extra.setdefault("retry_after", int(retry_after))
    error = _by_status(status, reason) if kind is None else kind(reason, field=field)
    error.field, error.extra = field, extra
    error.request_id = document.get("request_id")
    return error


def _by_status(status: int, reason: str) -> RemembrancerError:
    if status in _BY_STATUS:
        return _BY_STATUS[status](reason)
    return Unavailable(reason) if status >= 500 else errors.InvalidInput(reason)
