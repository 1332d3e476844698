"""How a turn looks in a terminal: the answer on stdout, everything around it as dim lines on stderr."""

import sys

from rich.console import Console
from rich.text import Text

from gateway.client.frames import Frame
from gateway.session_pages.words import describe, printable

NOTE_WIDTH = 160  # characters, where there is no terminal to fit
EXIT_CODES = {"completed": 0, "cancelled": 130}


class Transcript:
    """Shows the frames of one turn in order. `exit_code` tells how it ended, 1 until it has."""

    def __init__(self, *, raw: bool) -> None:
        self.exit_code = 1
        self._raw = raw
        self._notes = Console(stderr=True, highlight=False)
        self._mid_line = False

    def show(self, frame: Frame) -> None:
        event = frame.load()
        if frame.event == "done":
            self.exit_code = EXIT_CODES.get(event["data"].get("status"), 1)
        if self._raw:
            sys.stdout.buffer.write(frame.data + b"\n")
            sys.stdout.buffer.flush()
        elif frame.event == "text":
            self._print(printable(event["data"]["text"]))
        else:
            line = describe(frame.event, event["data"])
            if frame.event == "done":
                self._end_line()
            if line:
                self._note(line)

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
        self._mid_line = not text.endswith("\n")

    def _note(self, line: str) -> None:
        self._end_line()
        text = Text(" ".join(printable(line).split()), style="dim")
        text.truncate(self._notes.width if self._notes.is_terminal else NOTE_WIDTH, overflow="ellipsis")
        self._notes.print(text, soft_wrap=True)

    def _end_line(self) -> None:
        if self._mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._mid_line = False
