"""The lines of an archive: an event as it was streamed, or a message with its place."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson

from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.messages import Message, Usage
from gateway.storage.archives.segments import GzipMember, damaged, unpack
from gateway.storage.messages import StoredMessage

Read = TypeVar("Read", StoredEvent, StoredMessage)


def event_line(event: StoredEvent) -> bytes:
    """The event's body: the very bytes that were streamed.

    Raises:
        StorageError: the body does not contain the event's seq, type and turn, so that they would be lost.
    """
    try:
        if event_of(event.body) == event and b"\n" not in event.body:
            return event.body
    except (ValueError, TypeError, KeyError):
        pass
    raise StorageError(
        f"Event {event.seq} of turn {event.turn_id} cannot be archived: its body tells another story.",
        retryable=False,
    )


def event_of(line: bytes) -> StoredEvent:
    """Raises ValueError, TypeError or KeyError when the line is no event."""
    body = orjson.loads(line)
    return StoredEvent(body["seq"], body["type"], body["turn_id"], line)


def message_line(stored: StoredMessage) -> bytes:
    """`{"position", "turn_id", "role", "content", "usage"}`. `content` is the stored text byte for byte: what
    orjson wrote it writes again from what it read."""
    return b'{"position":%d,"turn_id":%b,"role":%b,"content":%b,"usage":%b}' % (
        stored.position,
        orjson.dumps(stored.turn_id),
        orjson.dumps(stored.message.role),
        orjson.dumps(stored.message.content),
        stored.usage.model_dump_json().encode() if stored.usage else b"null",
    )


def message_of(line: bytes) -> StoredMessage:
    """Raises ValueError, TypeError or KeyError when the line is no message."""
    fields = orjson.loads(line)
    usage = Usage(**fields["usage"]) if fields["usage"] else None
    return StoredMessage(
        fields["position"], fields["turn_id"], Message(fields["role"], fields["content"]), usage
    )


def read_lines(
    path: str, member: GzipMember, data: bytes, of: Callable[[bytes], Read], *, first: int, last: int
) -> list[Read]:
    """The contents of the lines with the keys `first` to `last`, as far as `member` has them; `data` is its
    bytes.

    Raises:
        ArchiveDamaged: the member is not sound, or its lines are not those that the index promises.
    """
    lines = unpack(path, data)
    if len(lines) != member.last - member.first + 1:
        raise damaged(path, f"the lines {member.first} to {member.last} are not all there")
    begin = max(first, member.first)
    chosen: Sequence[bytes] = lines[begin - member.first : max(last - member.first + 1, 0)]
    try:
        found = [of(line) for line in chosen]
    except (ValueError, TypeError, KeyError):
        raise damaged(path, f"a line from {member.first} on cannot be read") from None
    for place, each in enumerate(found, begin):
        if (each.seq if isinstance(each, StoredEvent) else each.position) != place:
            raise damaged(path, f"line {place} is another one")
    return found
