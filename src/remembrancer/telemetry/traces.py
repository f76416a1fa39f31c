"""Spans as traces of OpenTelemetry, with the extra ``otel``.

They go to the provider of the host program, if it has set one. Else to a collector, by the
variables ``OTEL_…`` of the standard; that provider is not set for the rest of the process, so that
other libraries, which may put texts into their spans, send nothing.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from typing import Final, cast

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from remembrancer.telemetry import spans
from remembrancer.telemetry.ids import bind, bound_ids
from remembrancer.telemetry.spans import Span
from remembrancer.version import __version__

SECONDS: Final = 2.0
"""Seconds that a collector gets for the last spans when the process ends."""
_KINDS: Final = {
    "request": SpanKind.SERVER,
    "job": SpanKind.CONSUMER,
    "database.trip": SpanKind.CLIENT,
    "llm": SpanKind.CLIENT,
}
_parents: Final = TraceContextTextMapPropagator()


class Traces:
    """Makes each span one of OpenTelemetry."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def began(self, span: Span) -> tuple[trace.Span, Token[Context] | None]:
        """Start a span, as the child of the one that is open."""
        context = _parents.extract({"traceparent": span.parent}) if span.parent else None
        kind = _KINDS.get(span.name, SpanKind.INTERNAL)
        started = self._tracer.start_span(span.name, context, kind)
        if span.name in {"request", "job"}:
            bind(trace_id=trace.format_trace_id(started.get_span_context().trace_id))
        if span.name == "database.connection":
            # A stream lends it in one task and may give it back in another.
            return started, None
        return started, attach(trace.set_span_in_context(started))

    def ended(self, span: Span, begun: object) -> None:
        """End the span, with the kind of its error alone: a message may quote users."""
        started, token = cast("tuple[trace.Span, Token[Context] | None]", begun)
        started.update_name(span.title)
        started.set_attributes(span.attributes)
        if span.name in {"request", "job"}:
            ids = bound_ids().items()
            started.set_attributes({f"remembrancer.{name}": value for name, value in ids})
        if span.error is not None:
            started.set_attribute("error.type", span.error)
        if span.outcome == "error":
            started.set_status(Status(StatusCode.ERROR))
        started.end()
        if token is not None:
            detach(token)


@contextmanager
def traced() -> Iterator[None]:
    """Trace the spans of this process, once for all stores that it opens."""
    provider = trace.get_tracer_provider()
    own = None if isinstance(provider, TracerProvider) else _exporting_provider()
    traces = Traces((own or provider).get_tracer("remembrancer", __version__))
    spans.observe(traces)
    try:
        yield
    finally:
        spans.ignore(traces)
        if own is not None:
            # A collector that does not answer must not hold up the end.
            last = threading.Thread(target=own.shutdown, daemon=True)
            last.start()
            last.join(SECONDS)


def _exporting_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - a host with a provider needs none
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    name = os.environ.get("OTEL_SERVICE_NAME", "remembrancer")
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
