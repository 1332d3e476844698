"""Blobs with their contents encrypted, in any store.

    magic, id of the operator's key, key of this blob encrypted with that one   76 bytes
    pieces of 65,536 bytes and a tag each; the last one may be shorter          encryption/piecewise_cipher.py

The key of a blob is bound to its path: under another one it does not open. Rotation writes another beginning
of the same length and leaves the pieces as they are.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing
from itertools import chain

from gateway.encryption.keyring import KEY_SIZE, NONCE_SIZE, TAG_SIZE, Keyring, changed
from gateway.encryption.piecewise_cipher import PIECE, STORED_PIECE, Pieces
from gateway.storage.blobs import Blobs

MAGIC = b"\0gwenc1\0"
STREAMED = 16
"""Pieces that a stream reads at a time: one megabyte, as unencrypted blobs come."""

_KEY_ID_SIZE = 8
_SEALED_SIZE = NONCE_SIZE + KEY_SIZE + TAG_SIZE
HEADER = len(MAGIC) + _KEY_ID_SIZE + _SEALED_SIZE
_MAX_INLINE = 2 * STORED_PIECE
"""Bytes that are decrypted on the event loop: 0.1 ms."""


class EncryptedBlobs:
    """The `Blobs` protocol over another store: what is put is encrypted if `encrypts`; what is read may be
    either. It raises errors.DecryptionFailed besides."""

    def __init__(self, blobs: Blobs, keyring: Keyring, *, encrypts: bool) -> None:
        self._blobs = blobs
        self._keyring = keyring
        self._encrypts = encrypts

    async def put(self, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        """Returns the size of the content."""
        size = 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                size += len(chunk)
                yield chunk

        stored = _Chunks(lambda: self._as_stored(path, counted()))
        await self._blobs.put(path, stored, bulk=bulk)
        return size

    async def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        """At most `length` bytes of the content from `start` on."""
        if length == 0:
            return b""
        header = await self._blobs.read(path, length=HEADER)
        if not header.startswith(MAGIC):
            return await self._blobs.read(path, start=start, length=length)
        pieces = self._pieces(path, header)
        first, skipped = divmod(start, PIECE)
        count = None if length is None else -(-(skipped + length) // PIECE)
        content = await self._opened(path, pieces, first, count)
        if not content and first:
            await self._opened(path, pieces, first - 1, 1)  # which has to be the last one, or is not there
        return content[skipped : skipped + length if length is not None else None]

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """The content in chunks."""
        header = await self._blobs.read(path, length=HEADER)
        is_plain = not header.startswith(MAGIC)
        chunks = _passed_on(self._blobs.stream(path)) if is_plain else self._streamed(path, header)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def delete(self, path: str) -> None:
        await self._blobs.delete(path)

    async def sweep(self, before: int) -> int:
        return await self._blobs.sweep(before)

    async def rotate(self, path: str) -> bool:
        """Has the blob under the first of the operator's keys, and encrypts a plain one if contents are to
        be; whether anything was to do. Raises errors.BlobMissing, errors.DecryptionFailed."""
        header = await self._blobs.read(path, length=HEADER)
        if header.startswith(MAGIC):
            if _key_id(header) == self._keyring.first:
                return False
            anew = self._header(path, self._pieces(path, header))
            await self._blobs.put(path, _behind(anew, _from_loop(self._blobs.stream(path))), bulk=True)
            return True
        if self._encrypts:
            await self.put(path, _from_loop(self._blobs.stream(path)), bulk=True)
        return self._encrypts

    def _as_stored(self, path: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Encrypted, if it is to be; also where it looks as if it were, and would be taken for it."""
        start = b""
        for chunk in chunks:
            start += chunk
            if len(start) >= len(MAGIC):
                break
            yield b""
        every = chain([start] if start else [], chunks)
        yield from self._encrypted(path, every) if self._encrypts or start.startswith(MAGIC) else every

    def _encrypted(self, path: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yields after each of `chunks`, if only nothing: the store looks then whether it is to go on."""
        pieces, number, left = Pieces(), 0, bytearray()
        yield self._header(path, pieces)
        for chunk in chunks:
            left += chunk
            yield b""
            while len(left) > PIECE:
                yield pieces.close(number, bytes(left[:PIECE]), is_last=False)
                del left[:PIECE]
                number += 1
        yield pieces.close(number, bytes(left), is_last=True)

    def _header(self, path: str, pieces: Pieces) -> bytes:
        key_id, sealed = self._keyring.seal(pieces.key, path.encode())
        return MAGIC + bytes.fromhex(key_id) + sealed

    def _pieces(self, path: str, header: bytes) -> Pieces:
        if len(header) < HEADER:
            raise changed()
        return Pieces(self._keyring.open(_key_id(header), header[-_SEALED_SIZE:], path.encode()))

    async def _opened(self, path: str, pieces: Pieces, first: int, count: int | None) -> bytes:
        """The content of `count` pieces, or all, from number `first` on; less where the blob ends before."""
        # A byte more shows whether a piece is the last one.
        length = None if count is None else count * STORED_PIECE + 1
        stored = await self._blobs.read(path, start=HEADER + first * STORED_PIECE, length=length)
        if not stored:
            if first == 0:
                raise changed()
            return b""
        more = length is not None and len(stored) == length
        if more:
            stored = stored[:-1]
        if len(stored) <= _MAX_INLINE:
            return b"".join(pieces.open(first, stored, more=more))
        return await asyncio.to_thread(lambda: b"".join(pieces.open(first, stored, more=more)))

    async def _streamed(self, path: str, header: bytes) -> AsyncGenerator[bytes]:
        pieces, number = self._pieces(path, header), 0
        while content := await self._opened(path, pieces, number, STREAMED):
            yield content
            number += STREAMED
            if len(content) < STREAMED * PIECE:
                return
        if number:  # the last ones were full: one of them has to be the last
            await self._opened(path, pieces, number - 1, 1)


class _Chunks:
    """Chunks whose source is let go with whoever iterates, not with whoever was given them."""

    def __init__(self, begin: Callable[[], Iterator[bytes]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[bytes]:
        return self._begin()


async def _passed_on(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    async for chunk in chunks:
        yield chunk


def _from_loop(source: AsyncIterator[bytes]) -> Iterator[bytes]:
    """What this event loop's `source` gives, on the thread of a writer."""
    loop = asyncio.get_running_loop()

    async def following() -> bytes | None:
        return await anext(source, None)

    def taken() -> Iterator[bytes]:
        while (chunk := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
            yield chunk

    return taken()


def _behind(header: bytes, stored: Iterator[bytes]) -> Iterator[bytes]:
    yield header + next(stored)[HEADER:]
    yield from stored


def _key_id(header: bytes) -> str:
    return header[len(MAGIC) : len(MAGIC) + _KEY_ID_SIZE].hex()
