"""Where telemetry is sent, by the standard OTEL_* variables."""

import os
from typing import Literal

Signal = Literal["traces", "metrics", "logs"]

EVERYTHING = "OTEL_EXPORTER_OTLP_ENDPOINT"


def variable_of(signal: Signal) -> str | None:
    """The variable with the address that the signal is sent to, its own before that of all. None when it is
    sent nowhere, or switched off by OTEL_{signal}_EXPORTER=none."""
    if os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") == "none":
        return None
    for name in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", EVERYTHING):
        if os.environ.get(name):
            return name
    return None


def address_of(signal: Signal, variable: str) -> str:
    """The URL that the variable leads to: the one of all is a base (OpenTelemetry Protocol Exporter
    specification, "Endpoint URLs for OTLP/HTTP")."""
    url = os.environ[variable]
    return f"{url.rstrip('/')}/v1/{signal}" if variable == EVERYTHING else url
