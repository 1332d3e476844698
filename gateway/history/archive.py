"""Moves messages and events to files that zcat can read, and reads them back.

Rows are removed only after their copy has been read back and found to be the same; after any failure they
stay.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TypeVar

from gateway.cancellation_shield import finish
from gateway.errors import BlobMissing, Conflict, StorageError
from gateway.events.envelope import StoredEvent
from gateway.history.sequence_gaps import SequenceGaps
from gateway.ids import now_ms
from gateway.storage.archives import ArchiveRow, CompressionRow
from gateway.storage.archives.lines import event_line, message_line
from gateway.storage.archives.segments import Packer, damaged, unpacked
from gateway.storage.archives.store import Archives
from gateway.storage.blobs import Blobs
from gateway.storage.exclusive import Exclusive
from gateway.storage.log.event_log import EventLog
from gateway.storage.messages import StoredMessage
from gateway.storage.orphans import Orphans
from gateway.storage.sessions.transcripts import Transcripts

EVENT_BATCH = 1000
MESSAGE_BATCH = 64
"""How many are read from the tables at a time: what an archiving holds in memory."""

FOLDER = "sessions"
"""The folder in the blob store below which archives lie."""

T = TypeVar("T")
Line = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob of lines that was read back and found to be right. `last` is the key of its last line, None when
    it has none; the rest as in `ArchiveRow`."""

    path: str
    size: int
    sha256: str
    index: Sequence[tuple[int, int]]
    last: int | None


def folder_of(session_id: str) -> str:
    """The folder in the blob store of everything that belongs to a session. Ids that differ in case alone are
    two sessions, and must not share one on a file system that ignores case."""
    return f"{FOLDER}/{hashlib.sha256(f'session {session_id}'.encode()).hexdigest()[:32]}"


def version_path(session_id: str, version: int) -> str:
    """The path for the archive of the messages that a version covers: another one with each call, so that two
    writers of the same version do not write the same blob. The version's row has it."""
    return f"{folder_of(session_id)}/archive/{version}-{token_hex(8)}.jsonl.gz"


def archive_paths(session_id: str, number: int) -> tuple[str, str]:
    """The paths for the events and the messages of a session's archive; see `version_path`."""
    place, nonce = f"{folder_of(session_id)}/archive", token_hex(8)
    return f"{place}/events-{number}-{nonce}.jsonl.gz", f"{place}/messages-{number}-{nonce}.jsonl.gz"


async def archive_session(
    session_id: str,
    *,
    log: EventLog,
    sessions: Transcripts,
    archives: Archives,
    orphans: Orphans,
    blobs: Blobs,
    exclusive: Exclusive,
) -> ArchiveRow | None:
    """Moves all events and messages of a session that are not archived yet to two blobs and frees their rows.
    The session's owner was checked before. Returns what was moved, None when there was nothing.

    Raises:
        errors.TurnInProgress, errors.Conflict, errors.NotFound: see `Archives.add`. errors.Conflict (code
            archive_conflict) comes at once while another task archives the session.
        errors.StorageError: the database or the blob store failed; errors.ArchiveDamaged: what was written
            cannot be read back. In all cases nothing was moved and nothing is lost.
    """
    busy = Conflict(f"Session {session_id} is being archived already.", code="archive_conflict")
    async with exclusive.hold(f"archive {session_id}", refusal=busy):
        former = await archives.list(session_id)
        number, seq, position = 1, 0, 0
        if former:
            number, seq, position = former[-1].number + 1, former[-1].to_seq, former[-1].to_position
        if not await _has_more(log, sessions, session_id, seq, position):
            return None
        paths = archive_paths(session_id, number)
        to_write = ToWrite(session_id, number, paths, seq, position)
        events = _events(log, session_id, seq)
        messages = _messages(sessions, session_id, position)
        try:
            await orphans.suspect(paths, now_ms())
            # Its pages come through the event loop, slowly: other blobs must not wait behind them.
            row = await write_archive(blobs, to_write, events, messages, bulk=True)
            await finish(archives.add(row))
        except BaseException:
            await finish(clear(orphans, blobs, paths))
            raise
        return row


@dataclass(frozen=True, slots=True)
class ToWrite:
    """An archive that is to be written: its number, the `archive_paths` of its blobs, and the seq and the
    position after which its events and messages come."""

    session_id: str
    number: int
    paths: tuple[str, str]
    seq: int = 0
    position: int = 0


async def write_archive(
    blobs: Blobs, to_write: ToWrite, events: Iterable[Line], messages: Iterable[Line], *, bulk: bool = False
) -> ArchiveRow:
    """Stores the lines of a session's events and messages, which are iterated off the event loop; `bulk`:
    they come slowly. Returns the row of the archive.

    Raises:
        errors.StorageError: the blob store failed; errors.ArchiveDamaged: what was written cannot be read
            back. The blobs may be there all the same.
    """
    (events_path, messages_path), seq, position = to_write.paths, to_write.seq, to_write.position
    happened = await store_lines(blobs, events_path, events, bulk=bulk)
    stored = await store_lines(blobs, messages_path, messages, bulk=bulk)
    return ArchiveRow(
        session_id=to_write.session_id,
        number=to_write.number,
        from_seq=seq + 1,
        to_seq=happened.last or seq,
        events_path=happened.path,
        events_sha256=happened.sha256,
        events_index=happened.index,
        from_position=position + 1,
        to_position=stored.last or position,
        messages_path=stored.path,
        messages_sha256=stored.sha256,
        messages_index=stored.index,
        created_at=now_ms(),
    )


async def write_version(blobs: Blobs, path: str, messages: Sequence[StoredMessage]) -> tuple[int, str]:
    """Stores the messages that a version covers at a `version_path`, one a line: `{"position", "turn_id",
    "role", "content", "usage"}`, the content byte for byte as it is stored. Returns size in bytes and sha256
    of the lines before they were zipped, as `CompressionRow` wants them.

    Raises:
        errors.StorageError: the blob store failed; errors.ArchiveDamaged: what was written cannot be read
            back. The blob may be there all the same.
    """
    stored = await store_lines(blobs, path, ((each.position, message_line(each)) for each in messages))
    return stored.size, stored.sha256


async def read_version(blobs: Blobs, row: CompressionRow) -> AsyncIterator[bytes]:
    """The lines that `write_version` stored, without line ends, in flat memory.

    Raises:
        errors.ArchiveDamaged: the archive is missing or not what was written. If only its sha256 is wrong,
            the lines have been yielded by then.
    """
    rest = b""
    async for data in _lines_of(blobs, row.archive_path, row.sha256):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line


async def _has_more(log: EventLog, sessions: Transcripts, session_id: str, seq: int, position: int) -> bool:
    if await log.read(session_id, after=seq, limit=1):
        return True
    return bool(await sessions.messages(session_id, after=position, until=position + 1))


def _events(log: EventLog, session_id: str, after: int) -> Iterator[Line]:
    """The lines of all events after a seq, for another thread than the event loop's."""

    async def page(seq: int) -> Sequence[StoredEvent]:
        return await log.read(session_id, after=seq, limit=EVENT_BATCH)

    found = _drawn(page, lambda event: event.seq, after)

    def lines() -> Iterator[Line]:
        gaps = SequenceGaps(after)
        for event in found:
            gaps.take(event)
            yield event.seq, event_line(event)
        if (gap := gaps.unnamed) is not None:
            raise StorageError(f"The events {gap[0]} to {gap[1]} are missing.", retryable=False)

    return lines()


def _messages(sessions: Transcripts, session_id: str, after: int) -> Iterator[Line]:
    """The lines of all messages after a position, for another thread than the event loop's."""

    async def page(position: int) -> Sequence[StoredMessage]:
        return await sessions.messages(session_id, after=position, until=position + MESSAGE_BATCH)

    found = _drawn(page, lambda stored: stored.position, after)

    def lines() -> Iterator[Line]:
        last = after
        for stored in found:
            last += 1
            if stored.position != last:
                raise StorageError(f"There is a gap before {stored.position}.", retryable=False)
            yield last, message_line(stored)

    return lines()


def _drawn(
    page: Callable[[int], Awaitable[Sequence[T]]], key_of: Callable[[T], int], after: int
) -> Iterator[T]:
    """Everything after a key, page by page. Made on the event loop, which reads the pages, and iterated in a
    thread beside it."""
    loop = asyncio.get_running_loop()

    async def following(key: int) -> Sequence[T]:
        return await page(key)

    def drawn() -> Iterator[T]:
        key = after
        while found := asyncio.run_coroutine_threadsafe(following(key), loop).result():
            yield from found
            key = key_of(found[-1])

    return drawn()


async def store_lines(blobs: Blobs, path: str, lines: Iterable[Line], *, bulk: bool = False) -> StoredBlob:
    """Stores lines, each with its key, as a blob and reads it back. `lines` is iterated off the event loop.
    Raises as `write_archive`."""
    packer = Packer()
    size = await blobs.put(path, packer.pack(lines), bulk=bulk)
    async for _ in _lines_of(blobs, path, packer.sha256):
        pass
    return StoredBlob(path, size, packer.sha256, packer.index, packer.last_key)


async def _lines_of(blobs: Blobs, path: str, sha256: str) -> AsyncIterator[bytes]:
    """The unzipped content, in pieces. Raises errors.ArchiveDamaged when it is missing, or at its end when
    its digest is another one."""
    digest = hashlib.sha256()
    try:
        async for data in unpacked(path, blobs.stream(path)):
            digest.update(data)
            yield data
    except BlobMissing:
        raise damaged(path, "there is no such blob") from None
    if digest.hexdigest() != sha256:
        raise damaged(path, f"its sha256 is {digest.hexdigest()} and should be {sha256}")


async def clear(orphans: Orphans, blobs: Blobs, paths: Iterable[str]) -> None:
    """Removes those of these orphan candidates that no row names, after work that failed. The tables decide,
    not the error: a caller may be cancelled at its commit. If the tables cannot be read now the blobs stay
    candidates for a later sweep."""
    with suppress(StorageError):
        for path in paths:
            await orphans.remove(blobs, path, now_ms())
