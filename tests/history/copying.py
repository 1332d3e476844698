"""Sessions as tests export, import and archive them."""

import io

from gateway.events.envelope import StoredEvent
from gateway.history.archive import archive_session
from gateway.history.copies.export import Export
from gateway.history.copies.imports import MOST_ROWS, import_session
from gateway.storage.records import ArchiveRow
from gateway.wiring import Storage
from tests.history.past import OWNER


async def exported(storage: Storage, session_id: str = "s", owner: str = OWNER) -> bytes:
    moment = await storage.copies.moment(session_id, owner)
    export = Export(moment, log=storage.log, sessions=storage.sessions, copies=storage.copies)
    return b"".join([chunk async for chunk in export.chunks()])


async def imported(storage: Storage, file: bytes, owner: str = OWNER, *, most_rows: int = MOST_ROWS) -> None:
    await import_session(
        io.BytesIO(file),
        owner,
        copies=storage.copies,
        archives=storage.archives,
        blobs=storage.blobs,
        most_rows=most_rows,
    )


async def archived(storage: Storage) -> ArchiveRow | None:
    return await archive_session(
        "s", log=storage.log, sessions=storage.sessions, archives=storage.archives, blobs=storage.blobs
    )


async def all_events(storage: Storage) -> list[StoredEvent]:
    """Everything that happened in `s`, page by page."""
    found: list[StoredEvent] = []
    while page := await storage.log.read("s", after=len(found), limit=1000):
        found += page
    return found
