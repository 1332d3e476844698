"""Telemetry as the process opens it, with a real collector on the other side."""

import asyncio
import os
import subprocess
import sys

import pytest
from opentelemetry import metrics, trace

from gateway.ids import trace_id_of
from gateway.telemetry.endpoints import faults
from gateway.telemetry.setup import open_telemetry
from tests.loopback import TIMEOUT
from tests.product import load_settings
from tests.telemetry.collector import Collector, plain
from tests.telemetry.remembered import changed, learned
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, with_tools

pytestmark = pytest.mark.anyio


async def test_a_turn_arrives_at_the_collector(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one endpoint set, spans and metrics are sent, at the latest at shutdown, without any content."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "support-chat")
    telemetry = open_telemetry(load_settings(agent_name="support"))

    telemetry.observe("s_1", with_tools().events)
    await telemetry.shutdown(30)

    sent = [resource for request in collector.traces for resource in request.resource_spans]
    assert {str(plain(resource.resource.attributes)["service.name"]) for resource in sent} == {"support-chat"}
    spans = [span for resource in sent for scope in resource.scope_spans for span in scope.spans]
    assert {span.trace_id.hex() for span in spans} == {TRACE_ID}
    assert sorted(span.name for span in spans) == [
        f"chat {MODEL}",
        f"chat {MODEL}",
        "execute_tool calculate",
        "execute_tool search_docs",
        "invoke_agent support",
        "retrieval docs",
    ]
    root = next(span for span in spans if not span.parent_span_id)
    assert plain(root.attributes)["gateway.turn.input_tokens"] == 1550
    names = {
        metric.name
        for request in collector.metrics
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"gen_ai.client.inference.duration", "gateway.turns"} <= names
    assert CANARY.encode() not in collector.bytes


async def test_a_line_carries_the_span_of_its_turn(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tracing on, one can go from a log line to the span of what it is about."""
    from structlog.testing import capture_logs

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
    telemetry = open_telemetry(load_settings())

    with capture_logs() as lines:
        telemetry.observe("s_1", with_tools().events)
    await telemetry.shutdown(30)

    spans = {(span.trace_id.hex(), span.span_id.hex()): span.name for span in collector.spans}
    assert {(line["event"], spans[line["trace_id"], line["span_id"]]) for line in lines} == {
        ("turn started", "invoke_agent gateway"),
        ("model call done", f"chat {MODEL}"),
        ("tool call not ok", "execute_tool calculate"),
        ("retrieval done", "execute_tool search_docs"),
        ("tool call done", "execute_tool search_docs"),
        ("turn done", "invoke_agent gateway"),
    }
    assert not collector.metrics


@pytest.mark.parametrize("exporter", [None, "none"])
async def test_without_an_endpoint_there_are_metrics_but_no_spans(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, exporter: str | None
) -> None:
    """No provider, no span, nothing sent: but /metrics counts all the same."""
    if exporter is not None:  # an endpoint is set, and the signal switched off
        monkeypatch.setenv("OTEL_TRACES_EXPORTER", exporter)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
    telemetry = open_telemetry(load_settings())

    telemetry.observe("s_1", with_tools().events)
    stream = telemetry.metrics.streams.opened("live")
    body, _ = await telemetry.render_metrics()
    stream.closed("done")
    await telemetry.shutdown()

    assert telemetry.tracing is None
    assert b'gateway_turns_total{gateway_turn_outcome="completed",gen_ai_agent_name="gateway"} 1.0' in body
    assert b'gateway_stream_active{gateway_stream_kind="live"} 1.0' in body
    assert b"process_resident_memory_bytes" in body
    assert collector.bytes == b""


async def test_shutdown_ends_though_the_collector_does_not_answer(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be sent in time is left: a stuck collector must not keep the process."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    telemetry = open_telemetry(load_settings())
    telemetry.observe("s_1", with_tools().events)
    collector.answers.clear()

    await asyncio.wait_for(telemetry.shutdown(0.05), TIMEOUT)

    assert not collector.traces


async def test_nothing_is_made_global(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several gateways in one process count apart, and other instrumentation is left alone."""
    before = trace.get_tracer_provider(), metrics.get_meter_provider()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    one, other = open_telemetry(load_settings()), open_telemetry(load_settings())

    one.observe("s_1", with_tools().events)

    assert b"gateway_turns_total" in (await one.render_metrics())[0]
    assert b"gateway_turns_total" not in (await other.render_metrics())[0]
    assert (trace.get_tracer_provider(), metrics.get_meter_provider()) == before
    await one.shutdown(30)
    await other.shutdown(30)


def test_the_exporters_are_imported_only_when_they_are_used() -> None:
    """Without an endpoint their import time is not paid."""
    code = (
        "import sys; from gateway.settings import load_settings;"
        "from gateway.telemetry.setup import open_telemetry;"
        "open_telemetry(load_settings());"
        "print([name for name in sys.modules if 'otlp' in name or name == 'anthropic'])"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


async def test_changes_of_memories_are_told_by_their_ids_alone(collecting: Collector) -> None:
    """Each has a line: what happened to which, by whom as a kind, in which turn. A run of the keeper has a
    span."""
    from structlog.testing import capture_logs

    telemetry = open_telemetry(load_settings())

    with capture_logs() as lines:
        telemetry.memory_changed(changed("remembered", "model", turn_id="t_1"))
        telemetry.memory_changed(changed("deleted", "鲁迅"))
        telemetry.learned(learned())
    await telemetry.shutdown(30)

    saved, forgotten = lines
    assert (saved["event"], saved["op"], saved["by"]) == ("memory changed", "remembered", "model")
    assert (saved["memory_id"], saved["kind"], saved["version"]) == ("m_1", "fact", 1)
    assert (saved["turn_id"], saved["trace_id"]) == ("t_1", trace_id_of("t_1"))
    assert (forgotten["op"], forgotten["by"]) == ("forgotten", "user")
    assert "turn_id" not in forgotten
    assert CANARY not in str(lines)
    assert "鲁迅" not in str(lines)
    assert [span.name for span in collecting.spans] == ["gateway.memory.learn"]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, []),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, []),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            [],
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            ["OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken here"],
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
            ["OTEL_EXPORTER_OTLP_PROTOCOL=http/json is not spoken here"],
        ),
        (
            {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
            },
            ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc is not spoken here"],
        ),
        (
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "c:4318"},
            ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT must begin with"],
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "user:secret@c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            ["OTEL_EXPORTER_OTLP_PROTOCOL=grpc is", "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or"],
        ),
    ],
)
def test_what_keeps_telemetry_from_its_collector_is_told(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: list[str]
) -> None:
    """A protocol that is not spoken, and an address without a scheme, in a sentence that names the variable;
    once for all signals, and without secrets. Nothing where nothing is sent."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    found = faults()

    assert len(found) == len(told)
    assert all(each.startswith(begin) for each, begin in zip(found, told, strict=True))
    assert "secret" not in str(found)
