"""Sessions as tests export and import them."""

import io
from pathlib import Path

from gateway.history.copies.export import Export
from gateway.history.copies.imports import MOST_ROWS, import_session
from gateway.wiring import Storage
from tests.storage.writing import OWNER


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


def blobs_in(folder: Path) -> list[str]:
    """The names of the archives in a folder, and of what is left of unfinished ones."""
    return sorted(path.name for path in folder.rglob("*.jsonl.gz*"))
