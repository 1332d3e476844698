"""Limits of what a server may send. A server may be anybody's."""

import re

MESSAGE = 8_388_608
"""Bytes of one message, such as the answer to a call."""
PARTS = 100_000
"""Objects and lists in one message: each takes a hundred times the memory of the characters it is made of."""
TOOLS = 256
"""Tools of one server; those that it lists later are left out."""
LISTED = 1024
"""Entries of a list, on all its pages, that are looked at."""
LIST = 4_194_304
"""Bytes of a list, on all its pages, that are looked at: far more than the schemas that may be offered."""
PAGES = 100
"""Pages of a list of tools that are asked for."""
DESCRIPTION = 2000
"""Characters of a tool's description."""
SCHEMA = 65_536
"""Bytes of a tool's schema."""
SCHEMAS = 524_288
"""Bytes of all schemas of a server: each model call carries them."""
CHECKS = 20_000
"""Subschemas that a schema comes to once every reference is written out."""
STRANGE_LINES = 100
"""Lines in a row on a program's standard output that are no messages."""
STDERR_LINES = 1000
"""Lines of a program's standard error that are logged."""
LINE = 500
"""Characters of such a line, and of anything else from a server that is logged."""

_MARKS = b'"[{\r\n'
_OTHERS = bytes(byte for byte in range(256) if byte not in _MARKS)
_STRING = re.compile(rb'"[^"\r\n]*"?')


class ContainerCounter:
    """Counts the objects and lists of JSON that comes in pieces: brackets, but for those in strings. A string
    ends with its line, so that in a stream of events nothing else than JSON can hide brackets."""

    def __init__(self) -> None:
        self._number = 0
        self._in_string = False
        self._last = b""  # a backslash whose letter is still to come

    def add(self, data: bytes) -> int:
        """How many there are with these."""
        text = (self._last + data).replace(b"\\\\", b"")
        self._last = b"\\" if text.endswith(b"\\") else b""
        marks = text.replace(b'\\"', b"").translate(None, _OTHERS)
        marks = (b'"' * self._in_string + marks).replace(b'""', b"")  # which changes nothing, but is many
        self._in_string = marks.count(b'"', max(marks.rfind(b"\n"), marks.rfind(b"\r")) + 1) % 2 == 1
        rest = _STRING.sub(b"", marks)
        self._number += rest.count(b"{") + rest.count(b"[")
        return self._number
