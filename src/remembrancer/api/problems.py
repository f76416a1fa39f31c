"""Errors as problem documents (RFC 9457): fields and reasons, never values."""

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from remembrancer.errors import (
    InvalidInput,
    RemembrancerError,
    TooManyRequests,
    Unavailable,
)
from remembrancer.reasons import wrong_field
from remembrancer.telemetry.ids import bound_ids
from remembrancer.web.sessions import wants_page

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
HUNG_UP = 499
"""The status of a request whose client hung up. Nobody gets it, but the metrics count it."""
_OF_BODY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
_BUSY_SECONDS = 2
"""Seconds until a refused client should try again."""
_ANONYMOUS = {"body", "query", "path", "header", "cookie"}


class FieldError(BaseModel):
    """A wrong field and the reason."""

    field: str = Field(examples=["content"])
    reason: str = Field(examples=["must have at most 2,000 characters"])


class Problem(BaseModel):
    """The response to a refused request."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:remembrancer:invalid-input"])
    title: str = Field(examples=["Invalid input"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["content: must have at most 2,000 characters"])
    errors: list[FieldError] = []
    request_id: str | None = Field(
        None, description="The header X-Request-ID; lines of the server's log have it too."
    )


def problem(
    status: int,
    title: str,
    detail: str,
    *,
    slug: str,
    errors: list[FieldError] | None = None,
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem document as a response."""
    document = Problem(
        type=f"urn:remembrancer:{slug}",
        title=title,
        status=status,
        detail=detail,
        errors=errors or [],
        request_id=bound_ids().get("request_id"),
        **(extra or {}),
    )
    return JSONResponse(
        document.model_dump(mode="json"), status, dict(headers or {}), media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` with a problem document; on pages, with an error page."""
    app.add_exception_handler(RemembrancerError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _error_page(request: Request, status: int, title: str, detail: str) -> Response:
    from remembrancer.web.error_pages import error_page  # noqa: PLC0415 - templates, for browsers only

    return await error_page(request, status, title, detail)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, RemembrancerError)
    request.app.state.metrics.refusals.labels(error.slug).inc()
    if wants_page(request):
        text = str(error) if isinstance(error, InvalidInput) else error.reason
        return await _error_page(request, error.status, error.title, text)
    errors = [FieldError(field=error.field, reason=error.reason)] if error.field else []
    return problem(
        error.status,
        error.title,
        str(error),
        slug=error.slug,
        errors=errors,
        extra=error.extra,
        headers=_headers(error),
    )


def _headers(error: RemembrancerError) -> dict[str, str]:
    if error.challenge is not None:
        return {"WWW-Authenticate": error.challenge}
    if isinstance(error, TooManyRequests):
        return {"Retry-After": str(error.extra["retry_after"])}
    return {}


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_field_error(e) for e in error.errors()]
    detail = "; ".join(f"{e.field}: {e.reason}" for e in errors[:5])
    if wants_page(request):
        # Links of our pages are valid: the address was edited by hand.
        wrong_path = any(e["loc"][0] == "path" for e in error.errors())
        status, title = (404, "Not found") if wrong_path else (422, "Invalid input")
        return await _error_page(request, status, title, detail)
    return problem(422, "Invalid input", detail, slug="invalid-input", errors=errors[:100])


def _field_error(error: ErrorDetails) -> FieldError:
    if error["type"] == "json_invalid":
        return FieldError(field="body", reason="is not valid JSON")
    path, reason = wrong_field(error)
    field = path[1:] if path[0] in _ANONYMOUS else path
    return FieldError(field=".".join(field) or path[0], reason=reason)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HUNG_UP:
        return Response(status_code=HUNG_UP)
    if error.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        return busy()
    title = HTTPStatus(error.status_code).phrase
    if wants_page(request):
        detail = error.detail if error.status_code in _OF_BODY else ""
        return await _error_page(request, error.status_code, title, detail)
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return problem(413, "Content too large", error.detail, slug="content-too-large")
    if error.status_code == HTTPStatus.BAD_REQUEST:
        # FastAPI answers 400 for a body that it cannot decode.
        return unreadable_body()
    slug = title.lower().replace(" ", "-")
    return problem(error.status_code, title, str(error.detail), slug=slug, headers=error.headers)


def busy() -> JSONResponse:
    """Return the response to a request over the limit of those in work. Nothing was done."""
    return problem(
        503,
        Unavailable.title,
        "the server has too much to do; try again later",
        slug="unavailable",
        headers={"Retry-After": str(_BUSY_SECONDS)},
    )


def unreadable_body() -> JSONResponse:
    """Return the response to an unreadable body: no text, too deep, or endless numbers."""
    error = FieldError(field="body", reason="cannot be read as JSON")
    return problem(
        422, "Invalid input", f"body: {error.reason}", slug="invalid-input", errors=[error]
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    # Only place and type: the message of an error may quote user data.
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error("unexpected %s\n%s", type(error).__name__, trace)
    detail = "an unexpected error occurred; see the server's log"
    if wants_page(request):
        return await _error_page(request, 500, "Internal error", detail)
    return problem(500, "Internal error", detail, slug="internal-error")
