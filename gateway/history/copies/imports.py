"""A file that `export` wrote becomes a session again: everything is checked first, then all of it is added in
one transaction, or nothing.

A large session comes in archived, as if it had been archived here: what was said and what happened go from
the file to blobs, while turns write as before, and the transaction is a short one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, cast

import orjson

from gateway.errors import Conflict, StorageError
from gateway.history.archive import Line, archive_paths, store_lines, version_path, write_archive
from gateway.history.copies.checks import Checked, check
from gateway.history.copies.export import EVENT_HEAD, EVENT_TAIL, archived
from gateway.history.copies.lines import Lines
from gateway.messages import Usage
from gateway.storage.base import SessionRow
from gateway.storage.blobs import Blobs
from gateway.storage.copies import Copies, EventCopy, Incoming, MessageCopy, Stored, TurnCopy
from gateway.storage.records import ArchiveRow, Archives

MOST_ROWS, MOST_ROWS_SIZE = 2_000, 1_048_576
"""Events and messages, and bytes of the file, of a session that becomes rows. So many are inserted in some
20 ms; the database has one writer, for which every running turn waits meanwhile."""


async def import_session(
    file: BinaryIO,
    owner: str,
    *,
    copies: Copies,
    archives: Archives,
    blobs: Blobs,
    most_rows: int = MOST_ROWS,
) -> SessionRow:
    """Adds the session that `file` (seekable, nobody else's) holds, for `owner`, whoever exported it. With
    more than `most_rows` events and messages it is an archived one.

    Must not be cancelled: nobody would know whether the archives it wrote belong to a session.

    Raises:
        errors.BadImport: the file is damaged or no export; `details` has the number of the line.
        errors.Conflict: the session's id or that of one of its turns is taken.
        errors.StorageError: the database or the blob store failed. In all cases nothing was added.
    """
    checked = await asyncio.to_thread(check, file)
    session = checked.moment.session
    with archives.moving(session.id):
        if await copies.taken(session.id):
            raise Conflict(f"The session id {session.id} is taken.")
        begun: list[str] = []
        try:
            return await copies.add(owner, await _incoming(file, checked, blobs, begun, most_rows))
        except BaseException:
            await _clear(copies, blobs, session.id, begun)
            raise


async def _incoming(
    file: BinaryIO, checked: Checked, blobs: Blobs, begun: list[str], most_rows: int
) -> Incoming:
    """What is to be added, its archives written. `begun` gets the path of each blob before it is written."""
    session_id = checked.moment.session.id
    stored: dict[int, Stored] = {}
    for version in checked.moment.versions:
        begun.append(path := version_path(session_id, version.version))
        lines = _message_lines(file, checked, version.from_position, version.to_position)
        archive = await store_lines(blobs, path, lines)
        stored[version.version] = Stored(archive.path, archive.size)
    incoming = Incoming(checked.moment, stored, _turns(file, checked))
    rows = checked.counts["message"] + checked.counts["event"]
    if rows <= most_rows and checked.size <= MOST_ROWS_SIZE:
        return incoming._replace(messages=_messages(file, checked), events=_events(file, checked))
    begun += archive_paths(session_id, 1)
    return incoming._replace(archived=await _write_archive(file, checked, blobs))


async def _write_archive(file: BinaryIO, checked: Checked, blobs: Blobs) -> ArchiveRow:
    session = checked.moment.session
    messages = _message_lines(file, checked, 1, session.last_position)
    return await write_archive(blobs, session.id, 1, _event_lines(file, checked), messages, after=(0, 0))


async def _clear(copies: Copies, blobs: Blobs, session_id: str, paths: Sequence[str]) -> None:
    """Removes the blobs of an import that came to nothing. Where somebody made a session of that id meanwhile
    they may be that one's by now, and stay: whatever it archives takes their place, and they go with it."""
    with suppress(StorageError):
        if not await copies.taken(session_id):
            for path in paths:
                await blobs.delete(path)


def _message_lines(file: BinaryIO, checked: Checked, first: int, last: int) -> Iterator[Line]:
    """The messages at the positions `first` to `last` as an archive has them. A version begins at `first`, or
    the session does."""
    lines = Lines(file, checked.messages_at if first == 1 else checked.messages_from[first])
    for position in range(first, last + 1):
        yield position, archived(next(lines))


def _event_lines(file: BinaryIO, checked: Checked) -> Iterator[Line]:
    lines = Lines(file, checked.events_at)
    for seq in range(1, checked.counts["event"] + 1):
        yield seq, _body(next(lines))


def _turns(file: BinaryIO, checked: Checked) -> Iterator[TurnCopy]:
    lines = Lines(file, checked.turns_at)
    for _ in range(checked.counts["turn"]):
        value = orjson.loads(next(lines))
        del value["kind"]
        yield TurnCopy(**value)


def _messages(file: BinaryIO, checked: Checked) -> Iterator[MessageCopy]:
    lines = Lines(file, checked.messages_at)
    for _ in range(checked.counts["message"]):
        value = orjson.loads(next(lines))
        usage = Usage(**value["usage"]).model_dump_json() if value["usage"] is not None else None
        content = orjson.dumps(value["content"]).decode()
        yield MessageCopy(value["position"], value["turn_id"], value["role"], content, usage)


def _events(file: BinaryIO, checked: Checked) -> Iterator[EventCopy]:
    lines = Lines(file, checked.events_at)
    for _ in range(checked.counts["event"]):
        body = _body(next(lines))
        value = cast("dict[str, str]", orjson.loads(body))
        yield EventCopy(int(value["seq"]), value["type"], value["turn_id"], body)


def _body(line: bytes) -> bytes:
    return line[len(EVENT_HEAD) : -len(EVENT_TAIL)]
