"""A file that `export` wrote becomes a session again: everything is checked first, then all of it is added in
one transaction, or nothing.

A large session is imported as an archived one: its messages and events go from the file to blobs while turns
write as before, and the transaction is short.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import BinaryIO, cast

import orjson

from gateway.errors import SessionIdTaken
from gateway.history.archive import (
    Line,
    ToWrite,
    archive_paths,
    clear,
    store_lines,
    version_path,
    write_archive,
)
from gateway.history.copies.artifact_checks import content_of
from gateway.history.copies.branch_checks import branch_in
from gateway.history.copies.checked_file import Checked, check
from gateway.history.copies.checks import LATER_FIELDS
from gateway.history.copies.export import EVENT_HEAD, EVENT_TAIL, archived
from gateway.history.copies.line_reader import ExportLines
from gateway.ids import now_ms
from gateway.messages import Usage
from gateway.storage.artifacts import blob_path
from gateway.storage.blobs import Blobs
from gateway.storage.orphans import Orphans
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.copies import (
    ArtifactCopy,
    EventCopy,
    Incoming,
    InstructionsCopy,
    MessageCopy,
    SessionCopy,
    TurnCopy,
    VersionArchive,
)
from gateway.storage.sessions.copying import Copies

MAX_ROWS, MAX_ROWS_SIZE = 2_000, 1_048_576
"""Events and messages, and bytes of the file, of a session that becomes rows. So many are inserted in some
20 ms; the database has one writer, for which every running turn waits meanwhile."""

_NAMES = b'"session_id":"%s"'
OLDER_TURN = {name: then for _, name, then in LATER_FIELDS["turn"]}

Begin = Callable[..., Awaitable[None]]
"""Is given the paths of blobs before they are written."""


async def import_session(
    file: BinaryIO,
    owner: str,
    *,
    new_id: Callable[[str], Awaitable[str]],
    copies: Copies,
    orphans: Orphans,
    blobs: Blobs,
    quota: int,
    tenant_quota: int | None = None,
    session_quota: int | None = None,
    ttl: float,
    most_rows: int = MAX_ROWS,
) -> SessionRow:
    """Adds the session in `file` (seekable, used by nothing else), with its artifacts, for `owner`, who need
    not have exported it; `new_id` says which id it gets in the place of its own. With more than `most_rows`
    events and messages it is an archived one. `quota` is what all artifacts of the owner may take, in bytes,
    `tenant_quota` what those of all users of their tenant may; none stays for longer than `ttl` seconds
    without a session. `session_quota` is what all sessions of the owner may count.

    Must not be cancelled: it would be unknown whether the archives it wrote belong to a session.

    Raises:
        errors.BadImport: the file is damaged or no export; `details` has the number of the line.
        errors.Conflict, errors.ArtifactsFull, errors.SessionsFull: see `Copies.add`.
        errors.StorageError: the database or the blob store failed. In all cases nothing was added.
    """
    checked = await asyncio.to_thread(check, file)
    moment = checked.moment
    session = moment.session.model_copy(update={"id": await new_id(moment.session.id)})
    if await copies.taken(session.id):
        raise SessionIdTaken(moment.session.id)
    begun: list[str] = []

    async def begin(*paths: str) -> None:
        begun.extend(paths)
        await orphans.suspect(paths, now_ms())

    try:
        contents = {sha256: blob_path(owner, sha256) for sha256 in checked.contents}
        for sha256, path in contents.items():
            await begin(path)
            await blobs.put(path, content_of(file, checked.contents[sha256]))
        incoming = await _incoming(file, checked, blobs, begin, most_rows, session=session, ttl=ttl)
        incoming = incoming._replace(contents=contents, session_quota=session_quota)
        return await copies.add(owner, incoming, quota, tenant_quota)
    finally:  # of what came to nothing, and contents of which every artifact was there already
        await clear(orphans, blobs, begun)


async def _incoming(
    file: BinaryIO,
    checked: Checked,
    blobs: Blobs,
    begin: Begin,
    most_rows: int,
    *,
    session: SessionCopy,
    ttl: float,
) -> Incoming:
    """The copy that is to be added as `session`; its archives are written by then."""
    session_id = session.id
    stored: dict[int, VersionArchive] = {}
    for version in checked.moment.versions:
        path = version_path(session_id, version.version)
        await begin(path)
        found = _message_lines(file, checked, version.from_position, version.to_position)
        branch = branch_in(checked.moment, version)
        lines = (line for line in found if branch is None or branch.has(line[0]))
        archive = await store_lines(blobs, path, lines)
        stored[version.version] = VersionArchive(archive.path, archive.size)
    incoming = Incoming(
        checked.moment._replace(session=session),
        stored,
        _turns(file, checked),
        _instructions(file, checked),
        _artifacts(file, checked, session_id, ttl),
        began=checked.began,
        feedback=checked.feedback,
        said=checked.said,
    )
    rows = checked.counts["message"] + checked.counts["event"]
    if rows <= most_rows and checked.size <= MAX_ROWS_SIZE:
        return incoming._replace(messages=_messages(file, checked), events=_events(file, checked, session_id))
    paths = archive_paths(session_id, 1)
    await begin(*paths)
    messages = _message_lines(file, checked, 1, checked.moment.session.last_position)
    to_write = ToWrite(session_id, 1, paths)
    return incoming._replace(
        archived=await write_archive(blobs, to_write, _event_lines(file, checked, session_id), messages)
    )


def _message_lines(file: BinaryIO, checked: Checked, first: int, last: int) -> Iterator[Line]:
    """The messages at the positions `first` to `last` as an archive has them. A version begins at `first`, or
    the session does."""
    lines = ExportLines(
        file, checked.starts.get("message", 0) if first == 1 else checked.messages_from[first]
    )
    for position in range(first, last + 1):
        yield position, archived(next(lines))


def _event_lines(file: BinaryIO, checked: Checked, session_id: str) -> Iterator[Line]:
    lines = ExportLines(file, checked.starts.get("event", 0))
    for _ in range(checked.counts["event"]):
        body = _body(next(lines), checked, session_id)
        yield orjson.loads(body)["seq"], body


def _instructions(file: BinaryIO, checked: Checked) -> Iterator[InstructionsCopy]:
    lines = ExportLines(file, checked.starts.get("instructions", 0))
    for _ in range(checked.counts["instructions"]):
        yield InstructionsCopy.model_validate_json(_part(orjson.loads(next(lines))))


def _turns(file: BinaryIO, checked: Checked) -> Iterator[TurnCopy]:
    lines = ExportLines(file, checked.starts.get("turn", 0))
    for _ in range(checked.counts["turn"]):
        value = orjson.loads(next(lines))
        yield TurnCopy.model_validate_json(_part(OLDER_TURN | value))


def _artifacts(file: BinaryIO, checked: Checked, session_id: str, ttl: float) -> Iterator[ArtifactCopy]:
    """As they are in the file, but that none is newer, or stays for longer, than one that is made now."""
    now = now_ms()
    latest = now + int(ttl * 1000)
    for at in checked.artifacts_at:
        copy = ArtifactCopy.model_validate_json(_part(orjson.loads(next(ExportLines(file, at)))))
        here = {"created_at": min(copy.created_at, now), "expires_at": min(copy.expires_at, latest)}
        made_in = {"session_id": session_id} if copy.session_id is not None else {}
        yield copy.model_copy(update=here | made_in)


def _part(value: dict[str, object]) -> bytes:
    return orjson.dumps({name: each for name, each in value.items() if name != "kind"})


def _messages(file: BinaryIO, checked: Checked) -> Iterator[MessageCopy]:
    lines = ExportLines(file, checked.starts.get("message", 0))
    for _ in range(checked.counts["message"]):
        value = orjson.loads(next(lines))
        usage = Usage(**value["usage"]).model_dump_json() if value["usage"] is not None else None
        content = orjson.dumps(value["content"]).decode()
        yield MessageCopy(value["position"], value["turn_id"], value["role"], content, usage)


def _events(file: BinaryIO, checked: Checked, session_id: str) -> Iterator[EventCopy]:
    lines = ExportLines(file, checked.starts.get("event", 0))
    for _ in range(checked.counts["event"]):
        body = _body(next(lines), checked, session_id)
        value = cast("dict[str, str]", orjson.loads(body))
        yield EventCopy(int(value["seq"]), value["type"], value["turn_id"], body)


def _body(line: bytes, checked: Checked, session_id: str) -> bytes:
    """An event byte for byte but for the session, which it names before all that could look alike."""
    body, before = line[len(EVENT_HEAD) : -len(EVENT_TAIL)], checked.moment.session.id
    return body.replace(_NAMES % before.encode(), _NAMES % session_id.encode(), 1)
