"""A terminal with a command in it: what it shows, and keys for it."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

from tests.loopback import TIMEOUT
from tests.running import clean_environment, command

COLUMNS, LINES = 80, 24


class Terminal:
    """`shows` waits until a text is on the screen, or was before it scrolled away. `bytes` are all that was
    written to it."""

    def __init__(self, descriptor: int, pid: int, columns: int, lines: int) -> None:
        self.pid = pid
        self.bytes = b""
        self._descriptor = descriptor
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self._ended: int | None = None

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
        os.kill(self.pid, signal.SIGWINCH)

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
        if self._ended is None:
            _, status = os.waitpid(self.pid, 0)
            self._ended = os.waitstatus_to_exitcode(status)
        return self._ended

    def close(self) -> None:
        if self._ended is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
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
    words = command(*arguments)
    pid, descriptor = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execve(words[0], words, surroundings)
        finally:
            os._exit(127)
    _set_size(descriptor, columns, lines)
    shown = Terminal(descriptor, pid, columns, lines)
    try:
        yield shown
    finally:
        shown.close()


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
