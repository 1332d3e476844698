"""Output of all commands: lines beside the result, tables, and a console as plain as it has to be."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gateway.session_pages.words import printable

if TYPE_CHECKING:
    from rich.console import Console

NOTE_WIDTH = 160  # characters, where there is no terminal to fit


def to_stderr(line: str) -> None:
    """A line beside the result, on stderr. Nothing in it steers the terminal."""
    print(printable(line), file=sys.stderr, flush=True)


def is_plain() -> bool:
    """Whether NO_COLOR (https://no-color.org) or the terminal asks for text without styles."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def console(*, stderr: bool = False) -> "Console":
    """A console on stdout or stderr; as wide as the terminal, or NOTE_WIDTH where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else NOTE_WIDTH
    return Console(stderr=stderr, highlight=False, width=width, color_system=None if is_plain() else "auto")


def show_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout. Of the last column is cut what does not fit."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in titles:
        table.add_column(title, no_wrap=title != titles[-1])
    for row in rows:
        cells = (" ".join(printable(cell).split()) for cell in row)
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    console().print(table)
