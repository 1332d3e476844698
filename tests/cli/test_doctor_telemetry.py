"""What the doctor says about collectors."""

from collections.abc import Iterator

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from tests.cli.calling import Command
from tests.telemetry.collector import Collector, plain, running_collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


def test_a_collector_that_takes_everything_passes(command: Command, collector: Collector) -> None:
    """One span, one metric and one log record arrive, under the service's name, and each gets its line."""
    seen = command("doctor", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="support")

    assert seen.code == 0, seen.out + seen.err
    for signal in ("traces", "metrics", "logs"):
        line = f"✓ telemetry: {signal} to {collector.url}/v1/{signal} (OTEL_EXPORTER_OTLP_ENDPOINT): accepted"
        assert line in seen.out
    assert [span.name for span in collector.spans] == ["gateway.doctor"]
    assert b"gateway.doctor" in b"".join(request.SerializeToString() for request in collector.metrics)
    resource = collector.traces[0].resource_spans[0].resource
    assert plain(resource.attributes)["service.name"] == "support"
    assert seen.err == ""


def test_a_collector_that_refuses_is_quoted(command: Command, collector: Collector) -> None:
    """The status is told. Traces that nobody takes are a ✗; log records are none, since none will be sent."""
    collector.status = 405
    seen = command("doctor", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)

    assert seen.code == 1
    assert f"✗ telemetry: traces to {collector.url}/v1/traces" in seen.out
    assert "✗ telemetry: metrics" in seen.out
    assert "! telemetry: logs" in seen.out
    assert seen.out.count("refused, 405 Method Not Allowed") == 3


def test_the_first_words_of_a_refusal_are_shown_without_secrets(
    command: Command, collector: Collector
) -> None:
    """Whatever form they have: words as they are, a page without its markup, the status message of OTLP."""
    collector.status = 401
    long = "no " * 1000
    for content_type, body, words in (
        (
            "text/plain",
            b"unknown project\n token=hush",
            "401 Unauthorized: unknown project token=[redacted].",
        ),
        ("text/html", b"<style>p {}</style><p>Sign <b>in</b></p>", "401 Unauthorized: Sign in."),
        ("application/x-protobuf", Status(code=16, message="no key").SerializeToString(), ": no key."),
        ("text/plain", long.encode(), f"401 Unauthorized: {long[:200]}…."),
    ):
        collector.body = (content_type, body)
        seen = command("doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url)

        assert seen.code == 1
        assert "refused, 401 Unauthorized" in seen.out
        assert words in seen.out
        assert "hush" not in seen.out


def test_a_success_that_took_nothing_is_a_refusal(command: Command, collector: Collector) -> None:
    """A partial success tells how many were rejected and why, in protobuf as in JSON."""
    answer = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message="too old")
    )
    text = b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}}'
    for body in (("application/x-protobuf", answer.SerializeToString()), ("application/json", text)):
        collector.body = body
        seen = command("doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url)

        assert seen.code == 1
        assert "refused, 200 OK, but it was rejected: too old." in seen.out


def test_a_warning_of_a_collector_that_takes_everything_is_passed_on(
    command: Command, collector: Collector
) -> None:
    """A partial success that rejects nothing is a success with a remark."""
    answer = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(error_message="old version")
    )
    collector.body = ("application/x-protobuf", answer.SerializeToString())

    seen = command("doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url)

    assert seen.code == 0
    assert ": accepted. It says: old version" in seen.out


def test_a_page_to_log_in_is_no_collector(command: Command, collector: Collector) -> None:
    """A 200 in other words than OTLP means that nobody took the span."""
    collector.body = ("text/html; charset=utf-8", b"<html><title>Please log in</title></html>")

    seen = command("doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url)

    assert seen.code == 1
    assert "not understood, 200 OK with text/html: Please log in." in seen.out


def test_a_collector_that_is_not_there_is_found(command: Command) -> None:
    """Only what has an endpoint is sent, and the variable that leads nowhere is named."""
    seen = command("doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://ann:hush@127.0.0.1:9/v1/traces")

    assert seen.code == 1
    assert "127.0.0.1:9/v1/traces (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT): unreachable, " in seen.out
    assert "metrics to" not in seen.out
    assert "hush" not in seen.out + seen.err


def test_without_a_collector_the_doctor_says_where_telemetry_is(command: Command) -> None:
    """No endpoint is no trouble."""
    seen = command("doctor")

    assert seen.code == 0
    assert "✓ telemetry: nothing is sent" in seen.out
