"""Lines in gzip members with an index: a file that `zcat` reads whole and a reader can enter in the middle.

    member      member      member          each of some MEMBER_SIZE bytes before it is zipped
    lines 1-9 | lines 10-14 | lines 15-20
    index: [1, 0], [10, 5120], [15, 9216]   key of the first line, offset in the file

Keys may be left out. A member ends before a gap, which has a place of its own in the index, without bytes.

The same lines always make the same bytes: members carry no time and no name (RFC 1952, 2.3).
"""

import asyncio
import hashlib
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import NamedTuple

from gateway.errors import ArchiveDamaged

MEMBER_SIZE = 262_144
"""Bytes of lines in one member: small enough to unzip for a page in about a millisecond, large enough to zip
as well as the whole does."""

LEVEL = 6
GZIP = 31
"""zlib's window bits for a gzip member with the largest window (zlib.h, deflateInit2)."""

NOT_SOUND = "a part of it is no longer what was zipped"

Index = Sequence[tuple[int, int]]


class Packer:
    """Packs lines, once. After `pack` has been drained the other attributes describe what came out."""

    def __init__(self, member_size: int = MEMBER_SIZE) -> None:
        self.index: list[tuple[int, int]] = []
        self.size = 0
        """Bytes that came out."""
        self.last_key: int | None = None
        self._member_size = member_size
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of all lines with their line ends, before they were zipped; in hex."""
        return self._digest.hexdigest()

    def pack(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        """Yields the members of `lines`, each with its key (growing) and without a line end. A line that is
        larger than a member gets one of its own. Nothing comes out when there are no lines.

        Raises:
            ValueError: a line holds a line end.
        """
        member: list[bytes] = []
        size = 0
        for key, line in lines:
            if b"\n" in line:
                raise ValueError(f"line {key} holds a line end")
            follows = self.last_key is None or key == self.last_key + 1
            if member and (not follows or size + len(line) >= self._member_size):
                yield self._close(member)
                member, size = [], 0
            if self.last_key is not None and not follows:
                self.index.append((self.last_key + 1, self.size))
            if not member:
                self.index.append((key, self.size))
            member.append(line)
            size += len(line) + 1
            self.last_key = key
        if member:
            yield self._close(member)

    def _close(self, member: list[bytes]) -> bytes:
        raw = b"\n".join([*member, b""])
        self._digest.update(raw)
        zipper = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        data = zipper.compress(raw) + zipper.flush()
        self.size += len(data)
        return data


class GzipMember(NamedTuple):
    """A member and where it lies: the keys of its first and last line, which have no gap between, its offset,
    and its size in bytes, None when it ends the file."""

    first: int
    last: int
    offset: int
    size: int | None


def members(index: Index, end: int, first: int, last: int) -> list[GzipMember]:
    """The members that hold the lines `first` to `last`, in order. `end` is the key of the last line of the
    file."""
    found: list[GzipMember] = []
    for number, (key, offset) in enumerate(index):
        following = index[number + 1] if number + 1 < len(index) else None
        member = GzipMember(
            key,
            following[0] - 1 if following else end,
            offset,
            following[1] - offset if following else None,
        )
        if member.size != 0 and member.first <= last and member.last >= first:
            found.append(member)
    return found


def unpack(path: str, member: bytes) -> list[bytes]:
    """The lines of one member of `path`, without line ends.

    Raises:
        ArchiveDamaged: it is not one whole, sound member.
    """
    unzipper = zlib.decompressobj(GZIP)
    try:
        raw = unzipper.decompress(member)
    except zlib.error:
        raise damaged(path, NOT_SOUND) from None
    if not unzipper.eof or unzipper.unused_data or not raw.endswith(b"\n"):
        raise damaged(path, "a part of it is cut off or does not end where it should")
    return raw[:-1].split(b"\n")


async def unpacked(path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What was zipped into the members of `path`, in pieces of bounded size, wherever `chunks` are cut.

    Raises:
        ArchiveDamaged: a member is not sound, or the last one is cut off.
    """
    unzipper = zlib.decompressobj(GZIP)
    started = False
    async for chunk in chunks:
        data = chunk
        while data:
            try:
                piece = await asyncio.to_thread(unzipper.decompress, data, MEMBER_SIZE)
            except zlib.error:
                raise damaged(path, NOT_SOUND) from None
            started = True
            if piece:
                yield piece
            data = unzipper.unconsumed_tail
            if unzipper.eof:
                data, unzipper, started = unzipper.unused_data, zlib.decompressobj(GZIP), False
    if started:
        raise damaged(path, "its end is cut off")


def damaged(path: str, why: str) -> ArchiveDamaged:
    """The failure that names the archive; `details.path` does so for machines."""
    return ArchiveDamaged(f"The archive {path} is damaged: {why}.", details={"path": path})
