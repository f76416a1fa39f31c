"""Metrics for Prometheus: /metrics. Counts and seconds only, no ids and no content."""

import os
import time
from typing import Final

from fastapi import Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Gauge, Histogram, Info, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.version import __version__

DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the directory in which several processes count."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Metrics of one server. Labels have documented routes, never real paths."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Info("remembrancer", "The server.", registry=self.registry).info({"version": __version__})
        self.requests = Histogram(
            "remembrancer_request_seconds",
            "Seconds of requests by route, method and status.",
            ["route", "method", "status"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.jobs = Gauge(
            "remembrancer_jobs",
            "Background jobs by state; queued jobs include retries.",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus: of all processes, if several."""
        if DIRECTORY not in os.environ:
            return generate_latest(self.registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)


class MetricsMiddleware:
    """Times every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._requests = metrics.requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and record its seconds."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            # Unknown paths share one label: each would add a time series.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            seconds = time.perf_counter() - began
            self._requests.labels(route, method, str(status)).observe(seconds)


router = Router(tags=["system"])


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, app: App, actor: Caller) -> PlainTextResponse:
    """Return metrics in the text format of Prometheus. For admins."""
    server_metrics: Metrics = request.app.state.metrics
    counts = await app.jobs.counts(actor)
    for state, count in counts:
        server_metrics.jobs.labels(state).set(count)
    return PlainTextResponse(server_metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
