"""The number of parts of JSON that comes in pieces, before it is parsed. By it go the memory and time that
parsing takes: each is a hundred times as large as the characters it is made of."""

import re

_CONTAINERS = b"[{"
_ALL = _CONTAINERS + b","
_OTHERS = {counted: bytes({*range(256)}.difference(b'"\r\n' + counted)) for counted in (_CONTAINERS, _ALL)}
"""What is passed over where these are counted."""
_STRING = re.compile(rb'"[^"\r\n]*"?')


class PartCounter:
    """Counts the objects and lists of JSON that comes in pieces, `with_values` also what else they hold:
    brackets and commas, but for those in strings. A string ends with its line, so that in a stream of events
    nothing else than JSON can hide brackets."""

    def __init__(self, *, with_values: bool = False) -> None:
        self._counted = _ALL if with_values else _CONTAINERS
        self._number = 0
        self._in_string = False
        self._last = b""  # a backslash whose letter is still to come

    def add(self, data: bytes | bytearray) -> int:
        """Counts the parts of a further piece. Returns how many all pieces have so far."""
        text = (self._last + data).replace(b"\\\\", b"")
        self._last = b"\\" if text.endswith(b"\\") else b""
        marks = text.replace(b'\\"', b"").translate(None, _OTHERS[self._counted])
        marks = (b'"' * self._in_string + marks).replace(b'""', b"")  # which changes nothing, but is many
        self._in_string = marks.count(b'"', max(marks.rfind(b"\n"), marks.rfind(b"\r")) + 1) % 2 == 1
        rest = _STRING.sub(b"", marks)
        self._number += sum(map(rest.count, self._counted))
        return self._number
