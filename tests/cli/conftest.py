"""One gateway for the tests that only talk to it."""

from collections.abc import Generator

import pytest

from tests.running import Running, gateway_process


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway
