"""The facts about a PDF that need no full parse: its number of pages, and whether it is locked."""

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

MAX_UNPACKED, MAX_OBJECT_STREAMS = 33_554_432, 20_000
"""Bytes that come out of the object streams of a PDF, and how many of these there are: of one with more the
pages are not counted."""

_PAGE = re.compile(rb"/Type\s{0,9}/Page(?![A-Za-z])")
_LINEARIZED = re.compile(rb"/Linearized\b[^>]{0,500}?/N\s{1,9}(\d{1,7})(?!\d)")
_ENCRYPT = re.compile(rb"/Encrypt\s{0,9}(?:\d{1,10}\s{1,9}\d{1,5}\s{1,9}R\b|<<)")
_FIRST = 2048
"""Bytes in which the dictionary of a linearized file stands (ISO 32000-1, Annex F: within the first 1024)."""
_MAX_KEYWORD = 32
"""Bytes, more than the mark of a page has."""
_OBJECT_STREAM, _STREAM = b"/ObjStm", re.compile(rb"stream\r?\n")
_DICTIONARY = 500  # bytes from the one to the other, at most
_BLOCK = 4096  # bytes that are unpacked at a time: those behind the end of a stream are copied


class _TooMuch(Exception):
    pass


def pages_of(pieces: Iterable[bytes]) -> int | None:
    """How many pages the PDF names in the open and in its object streams, those of former versions included;
    None when there are none, or more is packed than is looked into. It may come in pieces of any size."""
    in_open, packed = _Pages(), _Pages()
    try:
        for unpacked in _object_streams(map(in_open.passed, pieces)):
            packed.passed(unpacked)
        named = in_open.count() + packed.count()
    except _TooMuch:
        named = 0
    linearized = _LINEARIZED.search(in_open.beginning)
    return max(named, int(linearized[1]) if linearized is not None else 0) or None


def is_locked(data: bytes) -> bool:
    """Whether it is encrypted: it cannot be read without its password."""
    return _ENCRYPT.search(data) is not None


class _Pages:
    """Counts the marks of pages in what passes by, and keeps its beginning."""

    def __init__(self) -> None:
        self.beginning = self._rest = b""
        self._count = 0

    def passed(self, piece: bytes) -> bytes:
        if len(self.beginning) < _FIRST:
            self.beginning = (self.beginning + piece)[:_FIRST]
        data = self._rest + piece
        edge = max(0, len(data) - _MAX_KEYWORD)
        self._count += sum(match.start() < edge for match in _PAGE.finditer(data))
        self._rest = data[edge:]
        return piece

    def count(self) -> int:
        return self._count + len(_PAGE.findall(self._rest))


def _object_streams(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What is in the object streams (ISO 32000-1, 7.5.7), where most writers put pages today. Those that
    cannot be unpacked are passed over; raises _TooMuch."""
    data, at, unpack = b"", 0, None
    marks, left = MAX_OBJECT_STREAMS, MAX_UNPACKED
    for piece in chain(pieces, [bytes(_DICTIONARY)]):
        data, at = data[at:] + piece, 0
        while at < len(data):
            if unpack is None:
                mark = data.find(_OBJECT_STREAM, at)
                at = mark if mark >= 0 else max(at, len(data) - len(_OBJECT_STREAM) + 1)
                if mark < 0 or len(data) - mark < _DICTIONARY:
                    break  # it may begin, or go on, in the next piece
                marks -= 1
                begin = _STREAM.search(data, mark, mark + _DICTIONARY)
                at = begin.end() if begin else mark + len(_OBJECT_STREAM)
                unpack = zlib.decompressobj() if begin else None
            else:
                block = data[at : at + _BLOCK]
                try:
                    unpacked = unpack.decompress(block, left)
                except zlib.error:
                    unpack = None
                    continue
                at += len(block) - len(unpack.unused_data)
                left -= len(unpacked)
                unpack = None if unpack.eof else unpack
                yield unpacked
            if not marks or not left:
                raise _TooMuch
