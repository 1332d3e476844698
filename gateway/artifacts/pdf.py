"""What can be seen of a PDF without reading it: how many pages it has, and whether it is locked."""

import re
from collections.abc import Iterable

_PAGE = re.compile(rb"/Type\s{0,9}/Page(?![A-Za-z])")
_LINEARIZED = re.compile(rb"/Linearized\b[^>]{0,500}?/N\s{1,9}(\d{1,7})(?!\d)")
_ENCRYPT = re.compile(rb"/Encrypt\s{0,9}(?:\d{1,10}\s{1,9}\d{1,5}\s{1,9}R\b|<<)")
_FIRST = 2048
"""Bytes in which the dictionary of a linearized file stands (ISO 32000-1, Annex F: within the first 1024)."""
_LONGEST = 32
"""Bytes, more than the mark of a page has."""


def pages_of(pieces: Iterable[bytes]) -> int | None:
    """How many pages the PDF names in the open; None when they are all in compressed objects, which are not
    unpacked. It may come in pieces of any size."""
    named, beginning, rest = 0, b"", b""
    for piece in pieces:
        if len(beginning) < _FIRST:
            beginning += piece[:_FIRST]
        data = rest + piece
        edge = max(0, len(data) - _LONGEST)
        named += sum(match.start() < edge for match in _PAGE.finditer(data))
        rest = data[edge:]
    named += len(_PAGE.findall(rest))
    linearized = _LINEARIZED.search(beginning[:_FIRST])
    return max(named, int(linearized[1]) if linearized is not None else 0) or None


def is_locked(data: bytes) -> bool:
    """Whether it is encrypted: nobody can look into it without its password."""
    return _ENCRYPT.search(data) is not None
