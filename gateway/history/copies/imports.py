"""A file that `export` wrote becomes a session again: everything is checked first, then all of it is added in
one transaction, or nothing."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast, overload

import orjson

from gateway.errors import Conflict
from gateway.history.archive import version_path, write_version
from gateway.history.copies.checks import Checked, check
from gateway.history.copies.export import EVENT_HEAD, EVENT_TAIL
from gateway.history.copies.lines import Lines
from gateway.messages import Message, Usage
from gateway.storage.base import SessionRow, StoredMessage
from gateway.storage.blobs import Blobs
from gateway.storage.copies import Copies, EventCopy, Incoming, MessageCopy, Stored, TurnCopy


async def import_session(file: BinaryIO, owner: str, *, copies: Copies, blobs: Blobs) -> SessionRow:
    """Adds the session that `file` (seekable, nobody else's) holds, for `owner`, whoever exported it.

    Must not be cancelled: nobody would know whether the archives it wrote belong to a session.

    Raises:
        errors.BadImport: the file is damaged or no export; `details` has the number of the line.
        errors.Conflict: the session's id or that of one of its turns is taken.
    """
    checked = await asyncio.to_thread(check, file)
    session = checked.moment.session
    if await copies.taken(session.id):
        raise Conflict(f"The session id {session.id} is taken.")
    archives: dict[int, Stored] = {}
    begun: list[int] = []
    try:
        for version in checked.moment.versions:
            begun.append(version.version)
            covered = Covered(file, checked, version.from_position, version.to_position)
            path, size, _ = await write_version(blobs, session.id, version.version, covered)
            archives[version.version] = Stored(path, size)
        incoming = Incoming(
            checked.moment,
            archives,
            turns=_turns(file, checked),
            messages=_messages(file, checked),
            events=_events(file, checked),
        )
        return await copies.add(owner, incoming)
    except BaseException:
        for number in begun:
            await blobs.delete(version_path(session.id, number))
        raise


class Covered(Sequence[StoredMessage]):
    """The messages of a file from one position to another, read as they are asked for, in order."""

    def __init__(self, file: BinaryIO, checked: Checked, first: int, last: int) -> None:
        self._file = file
        self._place = checked.messages_from[first]
        self._size = last - first + 1

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[StoredMessage]:
        lines = Lines(self._file, self._place)
        for _ in range(self._size):
            value = orjson.loads(next(lines))
            usage = Usage(**value["usage"]) if value["usage"] is not None else None
            yield StoredMessage(
                value["position"], value["turn_id"], Message(value["role"], value["content"]), usage
            )

    @overload
    def __getitem__(self, index: int) -> StoredMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StoredMessage]: ...
    def __getitem__(self, index: int | slice) -> StoredMessage | Sequence[StoredMessage]:
        return list(self)[index]


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
        body = next(lines)[len(EVENT_HEAD) : -len(EVENT_TAIL)]
        value = cast("dict[str, str]", orjson.loads(body))
        yield EventCopy(int(value["seq"]), value["type"], value["turn_id"], body)
