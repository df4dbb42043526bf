"""Traces of requests and of runs, for OpenTelemetry.

The standard variables of the environment turn them on: ``OTEL_EXPORTER_OTLP_ENDPOINT``, or
``OTEL_TRACES_EXPORTER=console``. A job keeps the context of the request that submitted it, so that
its run in another process is part of the same trace. Spans name models, jobs and layers, and have
nothing of tokens, queries and answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from palladion.support.extras import missing

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.trace import Span

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

EXPORTER: Final = "OTEL_TRACES_EXPORTER"


def is_on() -> bool:
    """Whether the environment asks for traces."""
    exporter = os.environ.get(EXPORTER, "")
    off = exporter == "none" or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and bool(exporter or any(map(os.environ.get, ENDPOINTS)))


def start_tracing(part: str) -> None:
    """Export the spans of this process, if the environment asks for it. ``part`` is ``front`` or
    ``worker``.

    Raises
    ------
    UsageError
        If the packages are not installed.
    """
    if not is_on():
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    except ImportError as error:
        raise missing(error, "traces of a service", "telemetry") from error

    name = os.environ.get("OTEL_SERVICE_NAME", "palladion")
    provider = TracerProvider(resource=Resource.create({
        "service.name": name, "palladion.part": part,
    }))  # fmt: skip
    console = os.environ.get(EXPORTER) == "console"
    exporter = ConsoleSpanExporter() if console else OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def end_tracing() -> None:
    """Export the spans that wait."""
    if is_on():
        from opentelemetry import trace

        provider = trace.get_tracer_provider()
        getattr(provider, "shutdown", lambda: None)()


def trace_requests(app: FastAPI) -> None:
    """Make a span of each request of an application."""
    if is_on():
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

        FastAPIInstrumentor.instrument_app(
            app, excluded_urls="/metrics,/v2/health", exclude_spans=["receive", "send"]
        )


def context_of_request() -> str | None:
    """The trace context of the current request, as W3C's ``traceparent``."""
    if not is_on():
        return None
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


class Run:
    """The span of a run. It notes the layers that the run comes to."""

    def __init__(self, span: Span | None) -> None:
        self._span = span
        self._layer = ""

    def enter_layer(self, name: str) -> None:
        """Note that the run has come to a layer."""
        if self._span is not None and name != self._layer:
            self._span.add_event(name)
            self._layer = name


@contextmanager
def run_of(job: str, model: str, version: str, traceparent: str | None) -> Iterator[Run]:
    """A span of a run, as a part of the trace in which its job was submitted."""
    if not is_on():
        yield Run(None)
        return
    from opentelemetry import propagate, trace

    parent = propagate.extract({"traceparent": traceparent} if traceparent else {})
    attributes = {"palladion.job": job, "palladion.model": model, "palladion.version": version}
    tracer = trace.get_tracer("palladion.service")
    # The text of an error may quote an input, so the span has its kind alone.
    with tracer.start_as_current_span(
        "run", parent, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield Run(span)
        except BaseException as error:
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise
