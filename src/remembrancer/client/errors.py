"""Errors of the library from problem documents of a server. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from remembrancer import errors
from remembrancer.errors import RemembrancerError, Unavailable

_STANDARD: Final = {"type", "title", "status", "detail", "errors"}


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
    return error


def _by_status(status: int, reason: str) -> RemembrancerError:
    if status in _BY_STATUS:
        return _BY_STATUS[status](reason)
    return Unavailable(reason) if status >= 500 else errors.InvalidInput(reason)
