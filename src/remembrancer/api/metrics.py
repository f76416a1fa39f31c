"""Metrics for Prometheus: /metrics. Counts and seconds only, no ids and no content."""

import os
from functools import cache
from typing import Final

from fastapi import Request
from fastapi.responses import PlainTextResponse
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.errors import Forbidden
from remembrancer.telemetry import spans
from remembrancer.telemetry.spans import Name, Outcome, Span
from remembrancer.version import __version__

DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the directory in which several processes count."""
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SPAN_SECONDS: Final = (0.0005, 0.001, 0.0025, *_SECONDS, 30, 120)


class Metrics:
    """Metrics of one server. Labels have documented routes and fixed names, never real paths."""

    def __init__(self, pool_size: int) -> None:
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
        self.refusals = Counter(
            "remembrancer_refusals",
            "Refused requests by the kind of problem; too-many-requests are over a rate limit.",
            ["problem"],
            registry=self.registry,
        )
        self.jobs = Gauge(
            "remembrancer_jobs",
            "Background jobs by state; queued jobs include retries.",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self.oldest_job = Gauge(
            "remembrancer_oldest_job_seconds",
            "Seconds since the oldest queued job was queued; 0 without one.",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        Gauge(
            "remembrancer_pool_size",
            "Connections to the database that requests may use at once.",
            registry=self.registry,
            multiprocess_mode="livesum",
        ).set(pool_size)
        self.spans = span_metrics()
        spans.observe(self.spans)

    def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus: of all processes, if several."""
        if DIRECTORY not in os.environ:
            return generate_latest(self.registry) + generate_latest(self.spans.registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)


class SpanMetrics:
    """Durations of spans, and how many are open."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        seconds = Histogram(
            "remembrancer_span_seconds",
            "Seconds of parts of the work by outcome: ok, refused, cancelled or error.",
            ["span", "outcome"],
            buckets=_SPAN_SECONDS,
            registry=self.registry,
        )
        running = Gauge(
            "remembrancer_spans_open",
            "Parts of the work that are not over; database.connection are lent connections.",
            ["span"],
            registry=self.registry,
            multiprocess_mode="livesum",
        )

        # The library looks a child up under a lock, which takes as long as the rest.
        @cache
        def seconds_of(name: Name, outcome: Outcome) -> Histogram:
            return seconds.labels(name, outcome)

        @cache
        def running_of(name: Name) -> Gauge:
            return running.labels(name)

        self._seconds_of, self._running_of = seconds_of, running_of

    def began(self, span: Span) -> None:
        """Count an open span."""
        self._running_of(span.name).inc()

    def ended(self, span: Span, _begun: object) -> None:
        """Count a span that is over."""
        self._running_of(span.name).dec()
        self._seconds_of(span.name, span.outcome).observe(span.seconds)


@cache
def span_metrics() -> SpanMetrics:
    """Return the metrics of the spans of this process, whatever number of servers it has."""
    return SpanMetrics()


router = Router(tags=["system"])


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, app: App, actor: Caller) -> PlainTextResponse:
    """Return metrics in the text format of Prometheus. For admins of the workspace `default`."""
    if not app.is_default:
        raise Forbidden("metrics are read with an admin key of the workspace default")
    server_metrics: Metrics = request.app.state.metrics
    counts = await app.jobs.counts(actor)
    for state, count in counts:
        if state != "oldest_seconds":
            server_metrics.jobs.labels(state).set(count)
    server_metrics.oldest_job.set(counts.oldest_seconds)
    return PlainTextResponse(server_metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
