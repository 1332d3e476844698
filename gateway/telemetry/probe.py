"""One span, one metric and one log record, sent to see what becomes of them."""

import logging
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Protocol, get_args

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    InMemoryLogRecordExporter,
    LogRecordExportResult,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.telemetry.collector_replies import verdict_on
from gateway.telemetry.endpoints import Signal, address_of, variable_of
from gateway.telemetry.redaction import redact
from gateway.telemetry.setup import resource_of_process

NAME = "gateway.doctor"
"""Of the span, the log record and (as a counter) the metric."""

_TRANSIENT = re.compile(r"Transient error (.*) encountered")


class Probe(NamedTuple):
    """The outcome of a signal that was sent to `endpoint`, which `variable` names. `reason` is in the words
    of the server or of the network; empty when it was accepted without a word. `not understood` is a
    success in words that are no OTLP: a page to log in, most often."""

    signal: Signal
    variable: str
    endpoint: str
    outcome: Literal["accepted", "refused", "not understood", "unreachable"]
    reason: str = ""


class _Answer(Protocol):
    """What a transport of the exporters returns; without a status when the network failed."""

    status_code: int | None
    reason: str | None

    def content(self) -> bytes: ...
    def headers(self) -> Mapping[str, str]: ...


def send_probes(seconds: float = 3) -> list[Probe]:
    """Sends every signal that has an endpoint, with the exporters, headers and certificates that the gateway
    uses, and waits at most so long for each."""
    resource = resource_of_process()
    return [
        _send(signal, variable, resource, seconds)
        for signal in get_args(Signal)
        if (variable := variable_of(signal)) is not None
    ]


def _send(signal: Signal, variable: str, resource: Resource, seconds: float) -> Probe:
    endpoint = str(redact(address_of(signal, variable)))
    answers: list[_Answer] = []
    with _exporters_words() as messages:
        accepted = _SENDERS[signal](resource, seconds, answers)
    if answers and (status := answers[-1].status_code) is not None:
        last = answers[-1]
        content_type = last.headers().get("content-type", "").lower()
        verdict = verdict_on(signal, status, last.reason or "", content_type, last.content())
        return Probe(signal, variable, endpoint, *verdict)
    if accepted:
        return Probe(signal, variable, endpoint, "accepted")
    transient = [found[1] for line in messages if (found := _TRANSIENT.search(line))]
    reason = str(redact((transient or messages or ["no answer"])[-1]))
    return Probe(signal, variable, endpoint, "unreachable", reason)


def _keep_answers(exporter: object, answers: list[_Answer]) -> None:
    """Keeps the server's answers, which exporters do not read. Their transport has no public access; where it
    is not found, the exporter's word is all there is."""
    client = getattr(exporter, "_client", None)
    transport: Any = getattr(client, "_transport", None)
    if transport is None:
        return
    send = transport.request

    def send_and_keep(*arguments: Any, **options: Any) -> _Answer:
        answer: _Answer = send(*arguments, **options)
        answers.append(answer)
        return answer

    transport.request = send_and_keep


@contextmanager
def _exporters_words() -> Generator[list[str]]:
    """The log records of the exporters, the only place with the reasons of their failures."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("opentelemetry.exporter.otlp")
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


def _send_span(resource: Resource, seconds: float, answers: list[_Answer]) -> bool:
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    provider.get_tracer("gateway").start_span(NAME).end()
    exporter = OTLPSpanExporter(timeout=seconds)
    _keep_answers(exporter, answers)
    return exporter.export(kept.get_finished_spans()) is SpanExportResult.SUCCESS


def _send_metric(resource: Resource, seconds: float, answers: list[_Answer]) -> bool:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    provider.get_meter("gateway").create_counter(NAME, "{run}", "Runs of gateway doctor.").add(1)
    data = reader.get_metrics_data()
    assert data is not None
    exporter = OTLPMetricExporter(timeout=seconds)
    _keep_answers(exporter, answers)
    return exporter.export(data) is MetricExportResult.SUCCESS


def _send_log(resource: Resource, seconds: float, answers: list[_Answer]) -> bool:
    kept = InMemoryLogRecordExporter()
    provider = LoggerProvider(resource, shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    provider.get_logger("gateway").emit(body=NAME)
    exporter = OTLPLogExporter(timeout=seconds)
    _keep_answers(exporter, answers)
    return exporter.export(kept.get_finished_logs()) is LogRecordExportResult.SUCCESS


_SENDERS: Mapping[Signal, Callable[[Resource, float, list[_Answer]], bool]] = {
    "traces": _send_span,
    "metrics": _send_metric,
    "logs": _send_log,
}
