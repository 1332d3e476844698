"""The form of a table: its columns, with an example each, and the number of its rows."""

import re

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, flat, listed
from gateway.artifacts.compact.text import text_form, word_of
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.artifacts.kinds.tables import Table, table_of

_TOKENS = 14  # of a title or an example
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_SEPARATORS = {",": "", "\t": ", separated by tabs", ";": ", separated by semicolons"}


def table_form(content: ArtifactContent, measured: Measured) -> Compact:
    table = table_of(measured)
    if table is None:
        return text_form(content, measured)
    titles = _titles(table)
    width = len(table.rows[0])
    body = table.rows[1:] if titles else table.rows
    rows = max(0, _records(content, measured) - bool(titles))
    columns = (
        f"{flat(title, _TOKENS)}{_example([row[index] for row in body])}"
        for index, title in enumerate(titles or [f"column {number}" for number in range(1, width + 1)])
    )
    named = "" if titles else ", without titles"
    title = f"CSV, {counted(rows, 'row')} of {counted(width, 'column')}{_SEPARATORS[table.separator]}{named}"
    lines = [title, *listed(columns, width, "columns", MAX_TOKENS - 40)]
    word = word_of("\n".join(cell for row in body[:1] for cell in row)) or word_of("\n".join(titles))
    return Compact("\n".join(lines), {"search": word} if word else {})


def _titles(table: Table) -> list[str]:
    """The first row, unless one of its cells is a number or empty."""
    first = table.rows[0]
    return [] if any(not cell.strip() or _NUMBER.fullmatch(cell.strip()) for cell in first) else list(first)


def _example(cells: list[str]) -> str:
    filled = next((cell for cell in cells if cell.strip()), None)
    return "" if filled is None else f": e.g. {flat(filled, _TOKENS)}"


def _records(content: ArtifactContent, measured: Measured) -> int:
    """Line ends outside quotes (RFC 4180): an odd number of quotes before one means that it is inside. When
    they do not pair at all, all lines."""
    ends, inside = 0, False
    for chunk in content.chunks():
        parts = chunk.split(b'"')
        ends += sum(part.count(b"\n") for part in parts[inside::2])
        inside ^= len(parts) % 2 == 0
    return measured.lines or 0 if inside else ends + (not measured.tail.endswith(b"\n"))
