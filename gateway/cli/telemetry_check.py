"""Checks of `gateway doctor` on traces, metrics and logs: one of each is sent."""

from gateway.cli.findings import Finding
from gateway.telemetry.endpoints import faults
from gateway.telemetry.probe import Probe, send_probes

NOT_SENT = (
    "nothing is sent: OTEL_EXPORTER_OTLP_ENDPOINT is not set. Metrics are at /metrics all the same, "
    "and log lines on the standard output"
)
ADVICE = {
    "traces": "Turns go on without it, their traces are lost",
    "metrics": "Metrics stay at /metrics; OTEL_METRICS_EXPORTER=none stops the attempts",
    "logs": "The gateway writes its log lines to the standard output and sends none",
}


def check_telemetry() -> list[Finding]:
    """Sends a test span, metric and log record to wherever the OTEL_* variables lead."""
    told = [Finding("warning", "telemetry", fault) for fault in faults()]
    return [*told, *map(_finding, send_probes())] or [Finding("good", "telemetry", NOT_SENT)]


def _finding(probe: Probe) -> Finding:
    place = f"{probe.signal} to {probe.endpoint} ({probe.variable})"
    if probe.outcome == "accepted":
        note = f". It says: {probe.reason}" if probe.reason else ""
        return Finding("good", "telemetry", f"{place}: accepted{note}")
    # A backend for traces that takes no logs is no trouble: none will come.
    state = "warning" if probe.signal == "logs" else "bad"
    says = f"{place}: {probe.outcome}, {probe.reason}. {ADVICE[probe.signal]}"
    return Finding(state, "telemetry", says)
