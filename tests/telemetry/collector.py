"""A collector on loopback: it takes OTLP over HTTP, as any backend would, and decodes what it gets."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """Keeps what it is sent. Clear `answers` and it does not answer; `status` and `body` (with its content
    type) are what it answers with."""

    def __init__(self) -> None:
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.bytes = b""
        self.status = 200
        self.body: tuple[str, bytes] = ("application/x-protobuf", b"")
        self.answers = Event()
        self.answers.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.answers.wait()
                if collector.status == 200:
                    collector.take(self.path, body)
                content_type, answer = collector.body
                self.send_response(collector.status)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def take(self, path: str, body: bytes) -> None:
        self.bytes += body
        if path == "/v1/traces":
            self.traces.append(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))

    @property
    def spans(self) -> list[Span]:
        """Every span that came, in no particular order."""
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, prefix: str) -> list[Span]:
        """The spans whose names begin so, the earliest first."""
        found = [span for span in self.spans if span.name.startswith(prefix)]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    def one(self, prefix: str) -> Span:
        (span,) = self.named(prefix)
        return span


@contextmanager
def running_collector() -> Generator[Collector]:
    collector = Collector()
    thread = Thread(target=collector.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield collector
    finally:
        collector.answers.set()
        collector.server.shutdown()
        collector.server.server_close()
        thread.join()


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as Python values."""
    pairs: list[KeyValue] = list(attributes)
    return {pair.key: _value(pair.value) for pair in pairs}


def about(span: Span) -> dict[str, Any]:
    return plain(span.attributes)


def links_of(span: Span) -> list[tuple[str, str, str]]:
    """Trace, span and kind of what the span is linked to."""
    return [
        (link.trace_id.hex(), link.span_id.hex(), plain(link.attributes)["gateway.link"])
        for link in span.links
    ]


def place(span: Span) -> tuple[str, str]:
    return span.trace_id.hex(), span.span_id.hex()


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind is not None else None
