"""Telemetry tests start from the log settings of a new process, whatever ran before them."""

import pytest

from gateway.telemetry.logs import configure_logging


@pytest.fixture(autouse=True)
def fresh_logging() -> None:
    configure_logging()
