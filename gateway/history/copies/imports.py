"""A file that `export` wrote becomes a session again: everything is checked first, then all of it is added in
one transaction, or nothing.

A large session comes in archived, as if it had been archived here: what was said and what happened go from
the file to blobs, while turns write as before, and the transaction is a short one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import BinaryIO, cast

import orjson

from gateway.errors import StorageError
from gateway.history.archive import (
    Line,
    ToWrite,
    archive_paths,
    clear,
    store_lines,
    version_path,
    write_archive,
)
from gateway.history.copies.artifacts import content_of
from gateway.history.copies.checks import Checked, check
from gateway.history.copies.export import EVENT_HEAD, EVENT_TAIL, archived
from gateway.history.copies.lines import ExportLines
from gateway.ids import now_ms
from gateway.messages import Usage
from gateway.storage.archives import Archives
from gateway.storage.artifacts import blob_path
from gateway.storage.blobs import Blobs
from gateway.storage.orphans import Orphans
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.copies import (
    ArtifactCopy,
    Copies,
    EventCopy,
    Incoming,
    MessageCopy,
    TurnCopy,
    VersionArchive,
    session_taken,
)

MAX_ROWS, MAX_ROWS_SIZE = 2_000, 1_048_576
"""Events and messages, and bytes of the file, of a session that becomes rows. So many are inserted in some
20 ms; the database has one writer, for which every running turn waits meanwhile."""

TurnOf = Callable[[str], AbstractAsyncContextManager[object]]
"""Waits until nobody else writes or removes the blob of that path, and keeps others from doing so."""
Resolve = Callable[[str], Awaitable[object]]
"""Resolves whether the blob of that path is an orphan: it is removed unless something names it."""
Begin = Callable[..., Awaitable[None]]
"""Is given the paths of blobs before they are written."""


async def import_session(
    file: BinaryIO,
    owner: str,
    *,
    copies: Copies,
    archives: Archives,
    orphans: Orphans,
    blobs: Blobs,
    turn_of: TurnOf,
    resolve: Resolve,
    quota: int,
    ttl: float,
    most_rows: int = MAX_ROWS,
) -> SessionRow:
    """Adds the session that `file` (seekable, nobody else's) holds, with its artifacts, for `owner`, whoever
    exported it. With more than `most_rows` events and messages it is an archived one. `quota` is what all
    artifacts of the owner may take, in bytes; none stays for longer than `ttl` seconds without a session.

    Must not be cancelled: nobody would know whether the archives it wrote belong to a session.

    Raises:
        errors.BadImport: the file is damaged or no export; `details` has the number of the line.
        errors.Conflict: the session's id or that of one of its turns is taken, or the reference of an
            artifact is, for another content.
        errors.ArtifactsFull: its artifacts exceed the quota.
        errors.StorageError: the database or the blob store failed. In all cases nothing was added.
    """
    checked = await asyncio.to_thread(check, file)
    session = checked.moment.session
    contents = {blob_path(owner, sha256): at for sha256, at in checked.contents.items()}
    async with AsyncExitStack() as stack:
        for path in sorted(contents):  # in one order, so that no two imports wait for each other
            await stack.enter_async_context(turn_of(path))
        stack.enter_context(archives.moving(session.id))
        if await copies.taken(session.id):
            raise session_taken(session.id)
        begun: list[str] = []

        async def begin(*paths: str) -> None:
            begun.extend(paths)
            await orphans.suspect(paths, now_ms())

        try:
            await _write_contents(file, contents, orphans, blobs)
            incoming = await _incoming(file, checked, blobs, begin, most_rows, ttl=ttl)
            return await copies.add(owner, incoming, quota)
        except BaseException:
            await clear(orphans, blobs, begun)
            with suppress(StorageError):  # they stay candidates then
                for path in contents:
                    await resolve(path)
            raise


async def _write_contents(file: BinaryIO, contents: dict[str, int], orphans: Orphans, blobs: Blobs) -> None:
    """Each may be an orphan until the transaction that adds its artifacts: a crash leaves none for ever."""
    for path, at in contents.items():
        await orphans.suspect([path], now_ms())
        await blobs.put(path, content_of(file, at))


async def _incoming(
    file: BinaryIO, checked: Checked, blobs: Blobs, begin: Begin, most_rows: int, *, ttl: float
) -> Incoming:
    """What is to be added, its archives written."""
    session_id = checked.moment.session.id
    stored: dict[int, VersionArchive] = {}
    for version in checked.moment.versions:
        path = version_path(session_id, version.version)
        await begin(path)
        lines = _message_lines(file, checked, version.from_position, version.to_position)
        archive = await store_lines(blobs, path, lines)
        stored[version.version] = VersionArchive(archive.path, archive.size)
    incoming = Incoming(checked.moment, stored, _turns(file, checked), _artifacts(file, checked, ttl))
    rows = checked.counts["message"] + checked.counts["event"]
    if rows <= most_rows and checked.size <= MAX_ROWS_SIZE:
        return incoming._replace(messages=_messages(file, checked), events=_events(file, checked))
    paths = archive_paths(session_id, 1)
    await begin(*paths)
    messages = _message_lines(file, checked, 1, checked.moment.session.last_position)
    to_write = ToWrite(session_id, 1, paths)
    return incoming._replace(
        archived=await write_archive(blobs, to_write, _event_lines(file, checked), messages)
    )


def _message_lines(file: BinaryIO, checked: Checked, first: int, last: int) -> Iterator[Line]:
    """The messages at the positions `first` to `last` as an archive has them. A version begins at `first`, or
    the session does."""
    lines = ExportLines(
        file, checked.starts.get("message", 0) if first == 1 else checked.messages_from[first]
    )
    for position in range(first, last + 1):
        yield position, archived(next(lines))


def _event_lines(file: BinaryIO, checked: Checked) -> Iterator[Line]:
    lines = ExportLines(file, checked.starts.get("event", 0))
    for seq in range(1, checked.counts["event"] + 1):
        yield seq, _body(next(lines))


def _turns(file: BinaryIO, checked: Checked) -> Iterator[TurnCopy]:
    lines = ExportLines(file, checked.starts.get("turn", 0))
    for _ in range(checked.counts["turn"]):
        value = orjson.loads(next(lines))
        yield TurnCopy.model_validate_json(_part({"attachments": None, **value}))


def _artifacts(file: BinaryIO, checked: Checked, ttl: float) -> Iterator[ArtifactCopy]:
    """As they are in the file, but that none is newer, or stays for longer, than one that is made now."""
    now = now_ms()
    latest = now + int(ttl * 1000)
    for at in checked.artifacts_at:
        copy = ArtifactCopy.model_validate_json(_part(orjson.loads(next(ExportLines(file, at)))))
        times = {"created_at": min(copy.created_at, now), "expires_at": min(copy.expires_at, latest)}
        yield copy.model_copy(update=times)


def _part(value: dict[str, object]) -> bytes:
    return orjson.dumps({name: each for name, each in value.items() if name != "kind"})


def _messages(file: BinaryIO, checked: Checked) -> Iterator[MessageCopy]:
    lines = ExportLines(file, checked.starts.get("message", 0))
    for _ in range(checked.counts["message"]):
        value = orjson.loads(next(lines))
        usage = Usage(**value["usage"]).model_dump_json() if value["usage"] is not None else None
        content = orjson.dumps(value["content"]).decode()
        yield MessageCopy(value["position"], value["turn_id"], value["role"], content, usage)


def _events(file: BinaryIO, checked: Checked) -> Iterator[EventCopy]:
    lines = ExportLines(file, checked.starts.get("event", 0))
    for _ in range(checked.counts["event"]):
        body = _body(next(lines))
        value = cast("dict[str, str]", orjson.loads(body))
        yield EventCopy(int(value["seq"]), value["type"], value["turn_id"], body)


def _body(line: bytes) -> bytes:
    return line[len(EVENT_HEAD) : -len(EVENT_TAIL)]
