"""`python -m bench.without_telemetry serve …`: the gateway with its telemetry taken out, to see its cost."""

from typing import Any

from gateway.cli import main
from gateway.telemetry.metrics.process_metrics import LogMetrics, LoopMetrics
from gateway.telemetry.metrics.request_metrics import Requests
from gateway.telemetry.metrics.stream_metrics import StreamMetrics
from gateway.telemetry.setup import Telemetry


def nothing(*_: Any, **__: Any) -> None:
    """In place of whatever would be counted, timed or told."""


for door, name in (
    (Telemetry, "observe"),
    (StreamMetrics, "sending"),
    (LogMetrics, "flushed"),
    (Requests, "ended"),
    (LoopMetrics, "__enter__"),
):
    setattr(door, name, nothing)

if __name__ == "__main__":
    main()
