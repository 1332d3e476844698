"""The demo's faults as docs/demo.md has them: what happens, and what a client must make of it."""

import re
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).parents[2] / "docs" / "demo.md"
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([a-z_]+) \| (yes)? *\|$", re.MULTILINE)


class Fault(NamedTuple):
    """`expected` is the in-stream code a client must report (docs/events.md), or "ok" when it must cope and
    complete; `retryable` says whether another attempt may help."""

    name: str
    description: str
    expected: str
    retryable: bool


CATALOGUE = {
    row[1]: Fault(row[1], row[2], row[3], row[4] == "yes")
    for row in _ROW.finditer(DOCUMENT.read_text(encoding="utf-8"))
}
"""Every documented fault by its name."""
