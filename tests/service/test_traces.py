"""Does a trace lead from a request to the run in another process, with nothing secret in it?"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from palladion.errors import UsageError
from palladion.service import tracing

from tests.service.conftest import Linear, Running


class Collector:
    """What listens where OpenTelemetry sends spans to."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        """Part of the service, and span."""
        self.bytes = b""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.bytes += body
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    names = {each.key: each.value.string_value
                             for each in resource.resource.attributes}  # fmt: skip
                    for scope in resource.scope_spans:
                        collector.spans += [(names["palladion.part"], span) for span in scope.spans]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector of spans."""
    own = Collector()
    yield own
    own.server.shutdown()
    own.server.server_close()


def test_a_run_is_part_of_the_trace_of_its_request(
    collector: Collector, small: Linear, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    models = tmp_path / "models"
    models.mkdir()
    (models / "linear.program").write_bytes(small.program.read_bytes())
    service = Running(tmp_path / "data", models)
    service.start()
    with service.connect(tmp_path / "home") as client:
        client.predict(small.x[:1])
    assert service.stop() == 0

    ((_, run),) = [each for each in collector.spans if each[1].name == "run"]
    requests = [span for part, span in collector.spans if part == "front"]
    submitted = [span for span in requests if span.name.startswith("POST") and "jobs" in span.name]
    assert [span.span_id for span in submitted] == [run.parent_span_id]
    assert submitted[0].trace_id == run.trace_id
    assert next(part for part, span in collector.spans if span.name == "run") == "worker"
    assert run.events, "the layers of the run"
    attributes = {each.key: each.value.string_value for each in run.attributes}
    assert attributes["palladion.model"] == "linear"
    assert service.token.encode() not in collector.bytes
    assert b"authorization" not in collector.bytes.lower()
    assert not any("health" in span.name for _, span in collector.spans)


def test_without_the_packages_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'palladion\[telemetry\]'"):
        tracing.start_tracing("front")


def test_nothing_is_traced_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_TRACES_EXPORTER", *tracing.ENDPOINTS):
        monkeypatch.delenv(name, raising=False)
    assert not tracing.is_on()
    assert tracing.context_of_request() is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    assert tracing.is_on()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not tracing.is_on()
