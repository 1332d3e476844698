"""How a turn looks in a terminal: the answer on stdout, everything around it as dim lines on stderr."""

import os
import sys
from time import monotonic
from typing import Any

from rich.text import Text

from gateway.cli.terminal import NOTE_WIDTH, console
from gateway.client import Frame
from gateway.session_pages.words import cost_words, describe, printable

EXIT_CODES = {"completed": 0, "cancelled": 130}
QUIET = 1.0
"""Seconds without a piece after which a drawn answer says that work goes on."""


class TurnView:
    """Shows the frames of one turn in order: `raw` as they are, or the answer as Markdown on a terminal that
    can move its cursor, or as it comes. `exit_code` tells how it ended, 1 until it has."""

    def __init__(self, *, raw: bool, tells_cost: bool = False) -> None:
        self.exit_code = 1
        self._raw = raw
        self._tells_cost = tells_cost
        self._notes = console(stderr=True)
        self._mid_line = False
        self._began = self._last = monotonic()
        self._drawn, self.pace = None, None
        """Seconds after which `tick` wants to be called, if it does."""
        if not raw and is_drawn():
            from gateway.cli.chat.drawn_answer import PACE, DrawnAnswer

            self._drawn, self.pace = DrawnAnswer(), PACE

    def show(self, frame: Frame) -> None:
        event: dict[str, Any] = frame.load()
        if frame.event == "done":
            self.exit_code = EXIT_CODES.get(event["data"].get("status"), 1)
        if self._raw:
            sys.stdout.buffer.write(frame.data + b"\n")
            sys.stdout.buffer.flush()
        elif frame.event == "text":
            self._last = monotonic()
            self._write(printable(event["data"]["text"]))
        else:
            if frame.event in {"iteration_end", "done"}:
                self.end_answer()
            if line := describe(frame.event, event["data"]):
                self.note(line)
            if frame.event == "done" and self._tells_cost:
                self.note(_took(event["data"]))

    def tick(self) -> None:
        """Draws what has come; says that work goes on where nothing has for a while."""
        if self._drawn is not None:
            now = monotonic()
            waits = now - self._last > QUIET
            self._drawn.tick(f"… {now - self._began:.0f} s, Ctrl-C stops" if waits else "")

    def note(self, line: str) -> None:
        """A line beside the answer."""
        self.end_answer()
        text = Text(" ".join(printable(line).split()), style="dim")
        text.truncate(self._notes.width if self._notes.is_terminal else NOTE_WIDTH, overflow="ellipsis")
        self._notes.print(text, soft_wrap=True)

    def end_answer(self) -> None:
        """The next output begins on a line of its own."""
        if self._drawn is not None:
            self._drawn.end()
        elif self._mid_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        if self._drawn is not None:
            self._drawn.write(text)
            return
        sys.stdout.write(text)
        sys.stdout.flush()
        self._mid_line = not text.endswith("\n")


def is_drawn() -> bool:
    """Whether stdout is a terminal on which lines can be written over."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def show_markdown(text: str) -> None:
    """A text of somebody's on stdout, drawn where it can be."""
    text = printable(text)
    if is_drawn():
        from gateway.cli.chat.drawn_answer import rendered

        text = "\n".join(rendered(text, os.get_terminal_size(sys.stdout.fileno()).columns - 1))
    print(text)


def _took(done: dict[str, Any]) -> str:
    """Seconds, all tokens that were sent and made, and what they cost."""
    usage = done.get("usage")
    tokens = f"{sum(usage.values()):,} tokens" if usage else "tokens unknown"
    return f"{done['duration_ms'] / 1000:.1f} s, {tokens}, {cost_words(done.get('cost'))}"
