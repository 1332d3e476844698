"""A content: bytes that can be read more than once, and their measures from one pass."""

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import BinaryIO

from gateway.errors import TooLarge
from gateway.files.text_check import TextCheck
from gateway.messages import clean_text
from gateway.storage.artifacts import CHUNK, Chunk

HEAD = 65_536
"""Bytes from the beginning of a content that `Measured` has."""
TAIL = 16_384
"""Bytes from its end."""
MAX_NAME_LENGTH = 100
"""Characters of a name for a file."""
NAME_BYTES = 200
"""Bytes of it in UTF-8: file systems take 255, and a copy may get a longer name."""

_BATCH = 65_536  # bytes (or characters) that are taken at a time: a text of them takes four times as many
_MARKED = {  # UTF-32 first: as UTF-16 its mark would be one with a NUL behind it
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_JOINERS = "\u200c\u200d"  # emoji are made of several with them, and Persian and Hindi words are written so
_MAX_SUFFIX_LENGTH = 12  # characters, with the dot, that a long name keeps of its end


@dataclass(frozen=True, slots=True)
class ArtifactContent:
    """A content: each call of `chunks` gives the same bytes, in pieces of at most CHUNK; it may block. `name`
    and `mime` are as its source declares them."""

    chunks: Callable[[], Iterator[bytes]]
    name: str | None = None
    mime: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of a content: its size in bytes, the hashes of the whole and of its parts, its lines (the
    last may have no end; None where it is no text, see `TextCheck`), its first HEAD and its last TAIL bytes,
    and how many characters of a text are `damaged`."""

    size: int
    sha256: str
    chunks: tuple[Chunk, ...]
    lines: int | None
    head: bytes
    tail: bytes
    damaged: int = 0


def text_content(text: str, name: str | None = None, mime: str | None = None) -> ArtifactContent:
    """A text, as UTF-8; without NUL and lone surrogates, which would make it none."""
    clean = clean_text(text)

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(clean), _BATCH):
            yield clean[start : start + _BATCH].encode()

    return ArtifactContent(chunks, name, mime)


def bytes_content(data: bytes, name: str | None = None, mime: str | None = None) -> ArtifactContent:
    def chunks() -> Iterator[bytes]:
        for start in range(0, len(data), _BATCH):
            yield data[start : start + _BATCH]

    return ArtifactContent(chunks, name, mime)


def file_content(file: BinaryIO, name: str | None = None, mime: str | None = None) -> ArtifactContent:
    """The bytes of a file that can be read from any place; it must not be used elsewhere meanwhile."""

    def chunks() -> Iterator[bytes]:
        start = 0
        while True:
            file.seek(start)  # each time: another pass may be under way
            if not (data := file.read(_BATCH)):
                return
            yield data
            start += len(data)

    return ArtifactContent(chunks, name, mime)


def measure_as_kept(content: ArtifactContent, most: int | None = None) -> tuple[ArtifactContent, Measured]:
    """The content as it is kept, and its measures. A text in UTF-16 or UTF-32 with a byte order mark, as of
    Excel and Notepad, is kept in UTF-8 with its mark, from which the same bytes can be had again; any other
    content is kept as it is. Blocks, and raises, as `measure`."""
    measured = measure(content, most)
    encoding = next((name for mark, name in _MARKED.items() if measured.head.startswith(mark)), None)
    if encoding is None or measured.lines is not None:
        return content, measured

    def chunks() -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        yield codecs.BOM_UTF8
        for chunk in content.chunks():
            for start in range(0, len(chunk), _BATCH):
                yield decoder.decode(chunk[start : start + _BATCH]).encode()
        decoder.decode(b"", final=True)

    converted = replace(content, chunks=chunks)
    try:
        as_text = measure(converted, most)
    except UnicodeError:
        return content, measured
    return (converted, as_text) if as_text.lines is not None and not as_text.damaged else (content, measured)


def measure(content: ArtifactContent, most: int | None = None) -> Measured:
    """One pass over the content. Blocks: run it in a thread.

    Raises:
        errors.TooLarge: it has more than `most` bytes; no more of them were read.
    """
    whole, parts, text = hashlib.sha256(), _Parts(), TextCheck()
    size, head, tail = 0, bytearray(), b""
    for chunk in content.chunks():
        size += len(chunk)
        if most is not None and size > most:
            raise TooLarge(
                f"An artifact has at most {most} bytes. Keep it in parts.",
                details={"artifact_max_size": most},
            )
        whole.update(chunk)
        parts.take(chunk)
        text.take(chunk)
        if len(head) < HEAD:
            head += chunk[: HEAD - len(head)]
        tail = chunk[-TAIL:] if len(chunk) >= TAIL else (tail + chunk)[-TAIL:]
    chunks = parts.all()
    lines = None
    if text.is_text():
        ends = sum(each.line_ends for each in chunks)
        lines = ends + (size > 0 and not tail.endswith(b"\n"))
    return Measured(size, whole.hexdigest(), chunks, lines, bytes(head), tail, text.damaged)


def plain_name(name: str | None) -> str | None:
    """The last part of a path as a name for a file: what can be seen of it, at most
    MAX_NAME_LENGTH characters and NAME_BYTES bytes with its suffix. None when nothing is left."""
    if name is None:
        return None
    last = name[-4 * MAX_NAME_LENGTH :].replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(each for each in clean_text(last) if each.isprintable() or each in _JOINERS).strip()
    suffix = PurePosixPath(seen).suffix
    if len(suffix) > _MAX_SUFFIX_LENGTH:
        suffix = ""
    stem = seen.removesuffix(suffix)[: MAX_NAME_LENGTH - len(suffix)].encode()[
        : NAME_BYTES - len(suffix.encode())
    ]
    fitting = f"{stem.decode(errors='ignore')}{suffix}".rstrip()
    return fitting if fitting.strip(".") else None


class _Parts:
    """The parts of CHUNK bytes, independent of the sizes in which the data come."""

    def __init__(self) -> None:
        self._done: list[Chunk] = []
        self._begin()

    def take(self, data: bytes) -> None:
        start = 0
        while start < len(data):
            taken = data[start : start + CHUNK - self._size]
            self._hash.update(taken)
            self._ends += taken.count(b"\n")
            self._size += len(taken)
            start += len(taken)
            if self._size == CHUNK:
                self._end()

    def all(self) -> tuple[Chunk, ...]:
        if self._size:
            self._end()
        return tuple(self._done)

    def _end(self) -> None:
        self._done.append(Chunk(self._hash.hexdigest(), self._ends))
        self._begin()

    def _begin(self) -> None:
        self._hash, self._size, self._ends = hashlib.sha256(), 0, 0
