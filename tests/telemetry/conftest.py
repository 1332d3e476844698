"""Telemetry tests start from the log settings of a new process, whatever ran before them, and without any
collector but their own."""

import os
from collections.abc import Iterator

import pytest

from gateway.telemetry.lines.logs import configure_logging
from tests.telemetry.collector import Collector, running_collector


@pytest.fixture(autouse=True)
def fresh_logging() -> None:
    configure_logging()


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that nobody sends to yet."""
    with running_collector() as collector:
        yield collector


@pytest.fixture
def collecting(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Collector:
    """A collector that gateways of this process send their spans to."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    return collector
