"""A terminal with a command in it: what it shows, and keys for it."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pyte

from tests.forked import forked
from tests.loopback import TIMEOUT
from tests.running import clean_environment, run_command

COLUMNS, LINES = 80, 24


class Terminal:
    """`shows` waits until a text is on the screen, or was before it scrolled away. `bytes` are all that was
    written to it."""

    def __init__(self, descriptor: int, process: ForkServerProcess, columns: int, lines: int) -> None:
        self.bytes = b""
        self._descriptor = descriptor
        self._process = process
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """Everything that stands on it, with what has scrolled away above."""
        above = [
            "".join(row[column].data for column in range(self._screen.columns)).rstrip()
            for row in self._screen.history.top
        ]
        return "\n".join([*above, *(line.rstrip() for line in self._screen.display)])

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode("utf-8", "surrogateescape"))

    def press(self, key: str) -> None:
        """`c` is Ctrl-C."""
        self.type(chr(ord(key.upper()) - 64))

    def resize(self, columns: int, lines: int) -> None:
        _set_size(self._descriptor, columns, lines)
        self._screen.resize(lines, columns)
        self.send(signal.SIGWINCH)

    def send(self, how: signal.Signals) -> None:
        """Sends the command a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, how)

    def shows(self, text: str, times: int = 1) -> str:
        """What is on the screen as soon as `text` is, so often."""
        return self.until(lambda: self.text.count(text) >= times, text)

    def until(self, condition: Callable[[], bool], what: str = "") -> str:
        end = time.monotonic() + TIMEOUT
        while not condition():
            goes_on = time.monotonic() < end and self._read()
            assert goes_on, f"no {what!r}:\n{self.text}"
        return self.text

    def ended(self) -> int:
        """Its exit code, or minus the signal that ended it."""
        while self._read():
            pass
        self._process.join(TIMEOUT)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode

    def close(self) -> None:
        self._process.kill()
        self._process.join(TIMEOUT)
        self._process.close()
        os.close(self._descriptor)

    def _read(self) -> bool:
        """Takes what has come; False when the command has closed the terminal."""
        if not select.select([self._descriptor], [], [], 0.2)[0]:
            return True
        try:
            chunk = os.read(self._descriptor, 65536)
        except OSError:
            return False
        self.bytes += chunk
        self._stream.feed(chunk)
        if b"\x1b[6n" in chunk:  # the prompt asks where the cursor is
            cursor = self._screen.cursor
            self.type(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")
        return bool(chunk)


@contextmanager
def terminal(
    folder: Path,
    *arguments: str,
    columns: int = COLUMNS,
    lines: int = LINES,
    environment: Mapping[str, str] | None = None,
) -> Generator[Terminal]:
    """The `gateway` command in a terminal of its own, in `folder`."""
    surroundings = clean_environment()
    for name in ("NO_COLOR", "XDG_STATE_HOME", "COLUMNS", "LINES"):
        surroundings.pop(name, None)
    surroundings |= {"TERM": "xterm-256color", "HOME": str(folder), "LANG": "C.UTF-8", **(environment or {})}
    descriptor, inside = pty.openpty()
    _set_size(descriptor, columns, lines)
    device = os.ttyname(inside)
    begun = partial(run_command, begin=partial(_sit_down, device))
    process = forked(begun, folder, arguments, surroundings, Path(device))
    while process.is_alive() and not select.select([descriptor], [], [], 0.05)[0]:
        pass
    os.close(inside)  # the command alone has it: when it ends, so does what is read here
    shown = Terminal(descriptor, process, columns, lines)
    try:
        yield shown
    finally:
        shown.close()


def _sit_down(terminal: str) -> None:
    """Makes that terminal the one of this process, which gets its keys and its Ctrl-C."""
    os.setsid()
    inside = os.open(terminal, os.O_RDWR)
    fcntl.ioctl(inside, termios.TIOCSCTTY, 0)
    for standard in range(3):
        os.dup2(inside, standard)
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    for standard, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, os.fdopen(standard, "w", buffering=1, encoding="utf-8", closefd=False))


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
