"""One gateway for the tests that only talk to it, and the command for those that need none."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.calling import Command
from tests.running import Running, gateway_process


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in an empty folder, without settings."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("GATEWAY_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    return Command(capsys)
