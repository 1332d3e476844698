"""The command in this process: its imports cost more than what most commands do."""

import io
import sys
from typing import NamedTuple

import pytest

from gateway.cli import main


class Said(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


class Command:
    """`command("skills", "list")` runs it as a shell would, with `given` on its standard input."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._captured = captured

    def __call__(self, *arguments: str, given: bytes | None = None) -> Said:
        self._patch.setattr(sys, "argv", ["gateway", *arguments])
        if given is not None:
            self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        self._captured.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._captured.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, out, err)
