"""Where telemetry is sent, by the standard OTEL_* variables."""

import os
from typing import Literal, get_args

Signal = Literal["traces", "metrics", "logs"]

EVERYTHING = "OTEL_EXPORTER_OTLP_ENDPOINT"
SPOKEN = "http/protobuf"
"""The one protocol of OTLP that is sent in (OTEL_EXPORTER_OTLP_PROTOCOL)."""


def variable_of(signal: Signal) -> str | None:
    """The variable with the address that the signal is sent to, its own before that of all. None when it is
    sent nowhere, or switched off by OTEL_{signal}_EXPORTER=none."""
    if os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") == "none":
        return None
    for name in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", EVERYTHING):
        if os.environ.get(name):
            return name
    return None


def faults() -> list[str]:
    """What of the variables keeps telemetry from its collector, a sentence for each."""
    found: dict[str, None] = {}
    for signal in get_args(Signal):
        variable = variable_of(signal)
        if variable is None or (variable == EVERYTHING and signal == "logs"):  # which are not sent
            continue
        own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL"
        named = own if os.environ.get(own) else "OTEL_EXPORTER_OTLP_PROTOCOL"
        if (protocol := os.environ.get(named) or SPOKEN) != SPOKEN:
            found[
                f"{named}={protocol} is not spoken here: {SPOKEN} is what goes to {variable}, and collectors "
                "take that at port 4318, not at 4317."
            ] = None
        if not os.environ[variable].lower().startswith(("http://", "https://")):
            shown = os.environ[variable].rpartition("@")[2]
            found[
                f"{variable} must begin with http:// or https://, as in http://{shown}: nothing is sent."
            ] = None
    return [*found]


def address_of(signal: Signal, variable: str) -> str:
    """The URL that the variable leads to: the one of all is a base (OpenTelemetry Protocol Exporter
    specification, "Endpoint URLs for OTLP/HTTP")."""
    url = os.environ[variable]
    return f"{url.rstrip('/')}/v1/{signal}" if variable == EVERYTHING else url
