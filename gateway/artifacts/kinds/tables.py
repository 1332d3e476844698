"""Whether a text is a table, rows of separated values, and its first rows."""

import csv
import io
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from gateway.artifacts.content import Measured

_LOOKED_AT = 20  # rows
_MAX_TITLE_LENGTH = 64  # characters


class Table(NamedTuple):
    """The first rows of a table, all of the same width, and what separates their cells."""

    rows: Sequence[Sequence[str]]
    separator: str


def table_of(measured: Measured) -> Table | None:
    """The beginning of a text as a table of two columns or more; None where its rows differ in width."""
    text = head_text(measured)
    for separator in (",", "\t", ";"):
        rows = _rows(text, separator, whole=measured.size <= len(measured.head))
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths.pop() > 1:
            return Table(rows, separator)
    return None


def looks_like_a_table(table: Table) -> bool:
    """Whether a text that was not declared to be a table is one: three rows, under titles that are short and
    follow each other without a blank, as the clauses of a sentence do not."""
    titles = table.rows[0]
    return len(table.rows) >= 3 and all(
        title and title == title.strip() and len(title) <= _MAX_TITLE_LENGTH for title in titles
    )


def head_text(measured: Measured) -> str:
    """The head of a text, without a byte order mark, up to a whole character."""
    return measured.head.decode("utf-8", "ignore").removeprefix("\ufeff")


def _rows(text: str, separator: str, *, whole: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows = list(islice(reader, _LOOKED_AT + 1))
    except csv.Error:
        return []
    if not whole and len(rows) <= _LOOKED_AT:
        rows = rows[:-1]  # the last one may be cut
    return [row for row in rows[:_LOOKED_AT] if row]
