"""An answer as Markdown in a terminal, drawn while it comes.

Blocks that are complete are printed and scroll away as all output does. The one that is being written is a
region at the end of the screen, of which a redraw writes only the lines that have changed.
"""

import io
import os
import sys
from time import monotonic

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from gateway.cli.terminal import is_plain

PACE = 0.08
"""Seconds between two redraws at least."""
SHARE = 8
"""A redraw that took a second is followed by so many without one: the rest is for reading the stream."""

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class DrawnAnswer:
    """Pieces of Markdown are written to it; `end` prints what is still in the region."""

    def __init__(self) -> None:
        self._text = ""
        self._status = ""
        self._region: list[str] = []
        self._columns = 0
        self._has_printed = False
        self._next = 0.0

    def write(self, text: str) -> None:
        """The next piece, without control characters."""
        self._text += text
        self.tick(self._status)

    def tick(self, status: str) -> None:
        """Draws what has come since, if it is time to, with `status` below it."""
        if (now := monotonic()) < self._next:
            return
        self._status = status
        done, self._text = complete_blocks(self._text)
        printed, live = self._lines(done), self._lines(self._text, follows=bool(done))
        below = [f"\x1b[2m{status}\x1b[0m" if status and not is_plain() else status] if status else []
        rows = os.get_terminal_size(sys.stdout.fileno()).lines
        self._replace(printed, [*live[-max(rows - 3, 1) :], *below])
        self._has_printed = self._has_printed or bool(printed)
        cost = monotonic() - now
        self._next = now + cost + max(PACE, SHARE * cost)

    def end(self) -> None:
        """Prints the rest: what comes next on the screen stands below it."""
        self._replace(self._lines(self._text), [])
        self._text, self._status, self._has_printed, self._next = "", "", False, 0.0

    def _lines(self, markup: str, *, follows: bool = False) -> list[str]:
        if not markup.strip():
            return []
        lines = rendered(markup, os.get_terminal_size(sys.stdout.fileno()).columns - 1)
        return ["", *lines] if self._has_printed or follows else lines

    def _replace(self, printed: list[str], live: list[str]) -> None:
        """Writes `printed` for good and `live` below it over what is in the region."""
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
        old = self._region if columns == self._columns else []
        height = len(old) or sum(-(-max(_width(line), 1) // columns) for line in self._region)
        out = [f"\x1b[{height}A" if height else "", "" if old or not height else "\r\x1b[J"]
        new = [*printed, *live]
        out += [
            "\n" if number < len(old) and old[number] == line else f"\r\x1b[2K{line}\n"
            for number, line in enumerate(new)
        ]
        out += ["\x1b[J" if len(new) < len(old) else ""]
        self._region, self._columns = live, columns
        sys.stdout.write("".join(out))
        sys.stdout.flush()


def complete_blocks(text: str) -> tuple[str, str]:
    """The blocks that nothing that follows can change, and the rest: the last one."""
    starts = [
        each.map[0] for each in _PARSER.parse(text) if each.level == 0 and each.map and each.nesting >= 0
    ]
    if len(starts) < 2:
        return "", text
    lines = text.split("\n")  # never splitlines(): text may hold other line separators
    return "".join(f"{line}\n" for line in lines[: starts[-1]]), "\n".join(lines[starts[-1] :])


def rendered(markup: str, width: int) -> list[str]:
    """Lines of a terminal that wide. HTML stands there as it was written, and so does every line break."""
    document = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    document.parsed = _with_breaks(_PARSER.parse(markup))
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        width=max(width, 10),
        color_system=None if is_plain() else "auto",
    )
    with console.capture() as captured:
        console.print(document)
    return [line.rstrip(" ") for line in captured.get().strip("\n").split("\n")]


def _with_breaks(tokens: list[Token]) -> list[Token]:
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        _with_breaks(token.children or [])
    return tokens


def _width(line: str) -> int:
    return cell_len(Text.from_ansi(line).plain)
