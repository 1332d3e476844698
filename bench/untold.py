"""`python -m bench.untold serve …`: the gateway with its telemetry taken out, to see what that costs."""

from typing import Any

from gateway.cli import main
from gateway.telemetry.process import LogMeter, LoopMeter
from gateway.telemetry.requests import Requests
from gateway.telemetry.setup import Telemetry
from gateway.telemetry.streams import StreamMeter


def nothing(*_: Any, **__: Any) -> None:
    """In place of whatever would be counted, timed or told."""


for door, name in (
    (Telemetry, "observe"),
    (StreamMeter, "sending"),
    (LogMeter, "flushed"),
    (Requests, "ended"),
    (LoopMeter, "__enter__"),
):
    setattr(door, name, nothing)

if __name__ == "__main__":
    main()
