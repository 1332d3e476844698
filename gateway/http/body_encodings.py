"""Bodies that come compressed, or in another encoding of text than UTF-8: decoded as they come in.

A step makes at most MAX_STEP bytes of what is compressed, whoever reads counts them and stops, and what is
large is decoded in a thread.
"""

import asyncio
import codecs
import encodings.aliases
import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any

from gateway.errors import InvalidRequest, UnsupportedBody

MAX_STEP = 65_536
"""Bytes that one step decodes to, or from."""
MAX_INLINE = 65_536
"""Bytes of a body that are decoded on the event loop."""
MAX_MEMBERS = 100
"""Compressed parts that a gzip body may be made of (RFC 1952, 2.2): each takes memory of its own."""
CODINGS = "gzip, deflate"
"""The content codings that are read, as the field Accept-Encoding of a refusal names them."""
_GZIP, _ZLIB, _BARE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "ascii": "utf_8", "utf_8_sig": "utf_8"}
"""What is read where these are named: an encoding that has all of it, and more."""
_UNFIT = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7", "mbcs", "oem"}
)
_NAMES = {*encodings.aliases.aliases, *encodings.aliases.aliases.values(), "utf_8_sig"} - _UNFIT
"""Python looks any other name up among its modules, and remembers each that it did not find."""

Step = Callable[[bytes], Iterator[bytes]]
"""Decodes a further piece; b"" is the end. Raises errors.InvalidRequest."""


def inflater(fields: list[str]) -> Step | None:
    """How a body is decoded whose Content-Encoding has these values; None: it is as it is.

    Raises:
        errors.UnsupportedBody: the coding is another one, or there are several.
    """
    named = [name for field in fields for each in field.split(",") if (name := each.strip().lower())]
    codings = [name for name in named if name != "identity"]
    if not codings:
        return None
    if codings not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise UnsupportedBody(
            f"Content-Encoding {', '.join(codings)[:100]} is not read: send the body as it is, "
            "or with gzip or deflate."
        )
    return _Inflater(codings[0]).step


class _Inflater:
    """Reads gzip (RFC 1952), and deflate in both forms that go by the name (RFC 9110, 8.4.1.2)."""

    def __init__(self, coding: str) -> None:
        self._coding = coding.removeprefix("x-")
        self._stream: Any = None
        self._members = 0

    def step(self, piece: bytes) -> Iterator[bytes]:
        try:
            yield from self._decoded(piece)
        except zlib.error:
            raise InvalidRequest(f"The body is not {self._coding}, as its Content-Encoding says.") from None

    def _decoded(self, piece: bytes) -> Iterator[bytes]:
        if not piece and self._stream is not None and not self._stream.eof:
            raise InvalidRequest(f"The body, in {self._coding}, ends before its end.")
        while piece:
            if self._stream is None or self._stream.eof:
                self._stream = self._next(piece)
            yield self._stream.decompress(piece, MAX_STEP)
            piece = self._stream.unconsumed_tail or self._stream.unused_data
            while not piece and not self._stream.eof and (more := self._stream.decompress(b"", MAX_STEP)):
                yield more

    def _next(self, piece: bytes) -> Any:
        self._members += 1
        if self._members > (MAX_MEMBERS if self._coding == "gzip" else 1):
            raise InvalidRequest(f"Behind the end of the {self._coding} body there is more.")
        if self._coding == "gzip":
            return zlib.decompressobj(_GZIP)
        return zlib.decompressobj(_ZLIB if piece[0] & 0x0F == zlib.DEFLATED else _BARE)


def charset_named(content_type: str) -> str | None:
    """The codec of the charset that a Content-Type names; None: UTF-8, or none is named.

    Raises:
        errors.UnsupportedBody: no encoding of text that is known.
    """
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and (charset := value.strip().strip("\"'").lower()):
            codec = charset.replace("-", "_").replace(" ", "_").replace(".", "_")
            if codec not in _NAMES or not (found := codecs.lookup(codec))._is_text_encoding:
                raise UnsupportedBody(f"The charset {charset[:100]!r} is not known: send the body in UTF-8.")
            codec = found.name.replace("-", "_")
            codec = _WIDER.get(codec, codec)
            return None if codec == "utf_8" else codec
    return None


def recoder(codec: str) -> Step:
    """How a text in `codec` becomes UTF-8."""
    decoder = codecs.getincrementaldecoder(codec)()

    def step(piece: bytes) -> Iterator[bytes]:
        try:
            for at in range(0, len(piece) or 1, MAX_STEP):
                text = decoder.decode(piece[at : at + MAX_STEP], final=not piece)
                yield text.encode()
        except UnicodeError:
            raise InvalidRequest(f"The body is not in {codec}, as its charset says.") from None

    return step


async def in_utf_8(chunks: AsyncGenerator[bytes], codec: str | None) -> AsyncGenerator[bytes]:
    """A text in UTF-8 without a byte order mark (RFC 8259, 8.1), from one in `codec`; None: in UTF-8, or in
    the UTF-16 or UTF-32 that its first bytes show. Closes `chunks`. Raises errors.InvalidRequest."""
    async with aclosing(chunks):
        if codec is None:
            first = b""
            async for chunk in chunks:
                first += chunk
                if len(first) >= 4:
                    break
            found = json.detect_encoding(first) if len(first) >= 4 else "utf-8"  # {} in UTF-16 has four
            if found in {"utf-8", "utf-8-sig"}:
                if first := first.removeprefix(codecs.BOM_UTF8):
                    yield first
                async for chunk in chunks:
                    yield chunk
                return
            chunks, codec = _behind(first, chunks), found
        marked = True
        async for chunk in stepwise(chunks, recoder(codec)):
            if piece := chunk.removeprefix(codecs.BOM_UTF8) if marked else chunk:
                marked = False
                yield piece


async def stepwise(chunks: AsyncGenerator[bytes], step: Step) -> AsyncGenerator[bytes]:
    """What `step` makes of each chunk, and of the end. Closes `chunks`. Raises errors.InvalidRequest."""
    size = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            size += len(chunk)  # blocks of deflate that have nothing in them take their time too
            pieces = step(chunk)
            while (
                piece := next(pieces, None)
                if size <= MAX_INLINE
                else await asyncio.to_thread(next, pieces, None)
            ) is not None:
                if piece:
                    size += len(piece)
                    yield piece
        for piece in step(b""):
            if piece:
                yield piece


async def _behind(first: bytes, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(chunks):
        yield first
        async for chunk in chunks:
            yield chunk
