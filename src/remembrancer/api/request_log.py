"""Gives each request an id; counts, traces and logs it."""

import logging
import time
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remembrancer.api.metrics import Metrics
from remembrancer.ids import new_uuid
from remembrancer.telemetry.ids import bound
from remembrancer.telemetry.logs import REQUESTS
from remembrancer.telemetry.spans import Span, span

log = logging.getLogger(REQUESTS)

HEADER: Final = "X-Request-ID"
_LONGEST_ID: Final = 64
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """The outermost layer: nobody gets an answer past it, not even that to an unexpected error."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._requests = metrics.requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get(HEADER))
        began, status = time.perf_counter(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        parent = headers.get("traceparent")
        with bound(request_id=request_id), span("request", parent=parent) as watched:
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                self._note(scope, watched, status, time.perf_counter() - began)

    def _note(self, scope: Scope, watched: Span, status: int, seconds: float) -> None:
        # Unknown paths share one label: each would add a time series.
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(route, method, str(status)).observe(seconds)
        watched.title = f"{method} {route}"
        watched.note(http_request_method=method, http_route=route)
        watched.attributes["http.response.status_code"] = status
        if status >= 500:
            watched.error = str(status)
        if log.isEnabledFor(logging.INFO):
            fields = {"method": method, "route": route, "status": status}
            log.info(
                "%s %s: %s in %.0f ms",
                method,
                route,
                status,
                1000 * seconds,
                extra={**fields, "seconds": round(seconds, 4)},
            )


def _request_id(sent: str | None) -> str:
    """Return the id that a client or a proxy has sent, if it can be one; else a new one."""
    letters = (sent or "").replace("-", "").replace("_", "").replace(".", "")
    if sent and len(sent) <= _LONGEST_ID and letters.isascii() and letters.isalnum():
        return sent
    return str(new_uuid())
