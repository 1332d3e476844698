"""The command in this process: its imports cost more than what most commands do."""

import io
import sys
from typing import NamedTuple

import pytest

from gateway.cli import main


class Outcome(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


class Command:
    """`command("skills", "list", GATEWAY_PORT="1")` runs it as a shell would, with these variables and with
    `given` on its standard input, which is empty without, unless a test has put a terminal there."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *arguments: str, given: bytes | None = None, **environment: str) -> Outcome:
        self._captured.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["gateway", *arguments])
            for name, value in environment.items():
                patch.setenv(name, value)
            if given is not None or not isinstance(sys.stdin, io.TextIOWrapper):
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given or b"")))
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = self._captured.readouterr()
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, out, err)
