"""Reading what was moved to blobs."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from gateway.errors import ArchiveDamaged, BlobMissing
from gateway.events.envelope import StoredEvent
from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.lines import event_of, message_of, read_lines
from gateway.storage.archives.segments import damaged, members
from gateway.storage.blobs import Blobs
from gateway.storage.messages import StoredMessage


class ArchiveReader:
    """Reads what archives hold. Raises errors.ArchiveDamaged when one is missing or not what was written,
    errors.StorageError when the blob store cannot do its work."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def events(
        self,
        row: ArchiveRow,
        *,
        after: int,
        limit: int,
        until: int | None = None,
        types: Sequence[str] = (),
    ) -> list[StoredEvent]:
        """Events of `row` with seq > `after` (and <= `until`), in order, at most `limit`, only of `types` if
        given. Fewer come when a member of the archive ends; none only when it has no more."""
        last = row.to_seq if until is None else min(until, row.to_seq)
        path = row.events_path
        for member in members(row.events_index, row.to_seq, after + 1, last):
            data = await self._bytes(path, member.offset, member.size)
            found = await asyncio.to_thread(
                read_lines, path, member, data, event_of, first=after + 1, last=last
            )
            if types:
                found = [event for event in found if event.type in types]
            if found:
                return found[:limit]
        return []

    async def messages(
        self, row: ArchiveRow, *, after: int = 0, until: int | None = None
    ) -> list[StoredMessage]:
        """Messages of `row` with position > `after` (and <= `until`), in order."""
        last = row.to_position if until is None else min(until, row.to_position)
        path = row.messages_path
        found: list[StoredMessage] = []
        for member in members(row.messages_index, row.to_position, after + 1, last):
            data = await self._bytes(path, member.offset, member.size)
            found += await asyncio.to_thread(
                read_lines, path, member, data, message_of, first=after + 1, last=last
            )
        return found

    async def _bytes(self, path: str, start: int, length: int | None) -> bytes:
        try:
            return await self._blobs.read(path, start=start, length=length)
        except BlobMissing:
            raise damaged(path, "there is no such blob") from None


class ReadArchivedEvents(Protocol):
    """Reads events out of an archive: see `ArchiveReader.events`."""

    async def __call__(
        self, row: ArchiveRow, *, after: int, limit: int, until: int, types: Sequence[str]
    ) -> list[StoredEvent]: ...


async def no_archives(
    row: ArchiveRow, *, after: int, limit: int, until: int, types: Sequence[str]
) -> list[StoredEvent]:
    """Of a log that was opened without a blob store."""
    raise ArchiveDamaged(f"The archive {row.events_path} cannot be read without a blob store.")
