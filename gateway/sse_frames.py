"""Events to SSE bytes. Pure: the same event gives the same bytes live, resumed and replayed.

Frames end their lines with LF alone: clients that split on a blank line break on CRLF.
"""

from collections.abc import Sequence

import orjson

from gateway.errors import GatewayError
from gateway.events.envelope import VERSION, StoredEvent

RETRY_MS = 2000
"""How long an EventSource waits before it reconnects."""


def encode_frames(events: Sequence[StoredEvent]) -> bytes:
    """The frames of `events`, ready to send in one piece."""
    return b"".join(
        [b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, kind.encode(), body) for seq, kind, _, body in events]
    )


def encode_open(session_id: str, cursor: int, head: int, turn_id: str | None, open_turn: str | None) -> bytes:
    """The first frame of a stream, a control frame outside the log: it gives the client a cursor before any
    event, and `head` tells where what is replayed ends and what is live begins."""
    data: dict[str, object] = {"v": VERSION, "type": "stream_open", "session_id": session_id}
    if turn_id is not None:
        data["turn_id"] = turn_id
    data |= {"cursor": cursor, "head": head}
    if open_turn is not None:
        data["open_turn"] = open_turn
    return b"retry: %d\nid: %d\nevent: stream_open\ndata: %b\n\n" % (RETRY_MS, cursor, orjson.dumps(data))


def encode_trouble(error: GatewayError) -> bytes:
    """The last frame of a stream that cannot go on now: a control frame without id, so that the client's
    cursor stays where it is and a reconnect resumes."""
    data = {
        "v": VERSION,
        "type": "stream_error",
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
    }
    return b"event: stream_error\ndata: %b\n\n" % orjson.dumps(data)
