"""The progress of a command that takes long."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.storage.moving import MoveProgress


class ProgressLine:
    """One line for each step: written over on a terminal, elsewhere when the step is done."""

    def __init__(self) -> None:
        self._step = ""

    def show(self, progress: "MoveProgress") -> None:
        over = sys.stderr.isatty()
        if not progress.total or (not over and progress.done < progress.total):
            return
        begins = "" if not self._step or self._step == progress.step else "\n"
        self._step = progress.step
        line = f"{progress.step}: {progress.done:,} of {progress.total:,}"
        print(
            f"{begins}\r{line}\x1b[K" if over else line, end="" if over else "\n", file=sys.stderr, flush=True
        )

    def end(self) -> None:
        """Goes on in a line of its own."""
        if self._step and sys.stderr.isatty():
            print(file=sys.stderr, flush=True)
