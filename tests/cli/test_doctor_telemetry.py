"""What the doctor says about collectors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import run
from tests.telemetry.collector import Collector, plain, running_collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


def test_a_collector_that_takes_everything_passes(collector: Collector, tmp_path: Path) -> None:
    """One span, one metric and one log record arrive, under the service's name, and each gets its line."""
    seen = run(tmp_path, "doctor", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="support")

    assert seen.returncode == 0, seen.stdout + seen.stderr
    for signal in ("traces", "metrics", "logs"):
        line = f"✓ telemetry: {signal} to {collector.url}/v1/{signal} (OTEL_EXPORTER_OTLP_ENDPOINT): accepted"
        assert line in seen.stdout
    assert [span.name for span in collector.spans] == ["gateway.doctor"]
    assert b"gateway.doctor" in b"".join(request.SerializeToString() for request in collector.metrics)
    resource = collector.traces[0].resource_spans[0].resource
    assert plain(resource.attributes)["service.name"] == "support"
    assert seen.stderr == ""


def test_a_collector_that_refuses_is_quoted(collector: Collector, tmp_path: Path) -> None:
    """The status is told. Traces that nobody takes are a ✗; log records are none, since none will be sent."""
    collector.status = 405
    seen = run(tmp_path, "doctor", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)

    assert seen.returncode == 1
    assert f"✗ telemetry: traces to {collector.url}/v1/traces" in seen.stdout
    assert "✗ telemetry: metrics" in seen.stdout
    assert "! telemetry: logs" in seen.stdout
    assert seen.stdout.count("refused, 405 Method Not Allowed") == 3


def test_a_collector_that_is_not_there_is_found(tmp_path: Path) -> None:
    """Only what has an endpoint is sent, and the variable that leads nowhere is named."""
    seen = run(tmp_path, "doctor", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://ann:hush@127.0.0.1:9/v1/traces")

    assert seen.returncode == 1
    assert "127.0.0.1:9/v1/traces (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT): unreachable, " in seen.stdout
    assert "metrics to" not in seen.stdout
    assert "hush" not in seen.stdout + seen.stderr


def test_without_a_collector_the_doctor_says_where_telemetry_is(tmp_path: Path) -> None:
    """No endpoint is no trouble."""
    seen = run(tmp_path, "doctor")

    assert seen.returncode == 0
    assert "✓ telemetry: nothing is sent" in seen.stdout
