"""Faults of the connection: resets, ends, stalls and trickles, at every place of a response."""

from collections.abc import Callable, Sequence

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act, Ending, head
from gateway.demo.faults.case import Case, Fault
from gateway.demo.wire import Event

LONGEST = 60.0
"""Seconds after which every stall ends by itself: nothing runs for ever."""
_ARRIVED = 0.05
"""Seconds for what was sent to be read before a reset throws it away."""
_HEAD = head(200, wire.SSE_HEADERS)
_EMPTY_DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}\n\n'
)
_CLOSING_HEAD = head(200, {"content-type": "text/event-stream; charset=utf-8", "connection": "close"})


def half(case: Case) -> list[Event]:
    """The events of the right reply up to the middle of its pieces."""
    events = wire.events(case.reply)
    return events[: (len(events) + 1) // 2 + 1]


def joined(events: Sequence[Event]) -> bytes:
    """The bytes of a stream's body, without chunks."""
    return b"".join(part for part in map(wire.frame, events) if isinstance(part, bytes))


def _begun(case: Case) -> list[Act]:
    return [_HEAD, *wire.acts(half(case), case.reply.pace)]


def _stall(case: Case) -> list[Act]:
    return [min(LONGEST, case.number(LONGEST)), Ending.CLOSE]


def _repeat(event: bytes, *before: Event) -> Callable[[Case], list[Act]]:
    """A start, what comes `before`, and then `event` every 100 ms and nothing else."""

    def play(case: Case) -> list[Act]:
        seconds = min(LONGEST, case.number(LONGEST))
        sign: list[Act] = [b"%x\r\n%b\r\n" % (len(event), event), 0.1]
        return [_HEAD, *wire.acts([wire.start(case.reply), *before]), *sign * int(seconds * 10), Ending.CLOSE]

    return play


def _trickle(case: Case) -> list[Act]:
    """One byte at a time, `argument` milliseconds apart."""
    wait = case.number(200) / 1000
    body = joined(wire.events(case.reply))
    in_time = int(LONGEST / wait) if wait else len(body)
    acts: list[Act] = [_HEAD]
    for byte in body[:in_time]:
        acts += [b"1\r\n%c\r\n" % byte, wait]
    return [*acts, Ending.CLOSE if in_time < len(body) else LAST_CHUNK]


def _without_end(case: Case) -> list[Event]:
    return wire.events(case.reply)[:-2]


def _fin_mid_chunk(case: Case) -> list[Act]:
    rest = joined(wire.events(case.reply)[len(half(case)) :])
    return [*_begun(case), b"%x\r\n%b" % (len(rest), rest[: len(rest) // 2]), Ending.CLOSE]


def _mid_event(case: Case) -> list[Act]:
    frame = joined(wire.text_deltas(0, "never to be finished"))
    return [*_begun(case), b"%x\r\n%b\r\n" % (70, frame[:70]), LAST_CHUNK]


def _short_body(case: Case) -> list[Act]:
    body = joined(wire.events(case.reply))
    headers = {"content-type": "text/event-stream", "content-length": str(len(body))}
    return [head(200, headers), body[: len(body) // 2], Ending.CLOSE]


def _fault(
    name: str,
    description: str,
    expected: str,
    play: Callable[[Case], Sequence[Act]],
    *,
    streams_only: bool = True,
) -> Fault:
    """Another attempt may help against whatever happens to a connection."""
    return Fault(name, description, expected, expected != "ok", play, streams_only)


FAULTS = (
    _fault(
        "reset_before_headers",
        "RST before any byte of the response",
        "upstream_error",
        lambda _: [Ending.RESET],
        streams_only=False,
    ),
    _fault(
        "close_before_headers",
        "FIN before any byte of the response",
        "upstream_error",
        lambda _: [Ending.CLOSE],
        streams_only=False,
    ),
    _fault(
        "headers_cut",
        "FIN inside the response's headers",
        "upstream_error",
        lambda _: [_HEAD[:40], Ending.CLOSE],
        streams_only=False,
    ),
    _fault(
        "not_http",
        "bytes of another protocol instead of a response",
        "upstream_error",
        lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n", Ending.CLOSE],
        streams_only=False,
    ),
    _fault(
        "headers_stall",
        "no byte of the response (argument: seconds, 60)",
        "upstream_timeout",
        _stall,
        streams_only=False,
    ),
    _fault(
        "first_event_stall",
        "headers, and then nothing (argument: seconds, 60)",
        "upstream_timeout",
        lambda case: [_HEAD, *_stall(case)],
    ),
    _fault(
        "reset_mid_stream",
        "RST in the middle of the text",
        "upstream_truncated",
        lambda case: [*_begun(case), _ARRIVED, Ending.RESET],
    ),
    _fault("fin_mid_chunk", "FIN inside a chunk", "upstream_truncated", _fin_mid_chunk),
    _fault(
        "stall_mid_stream",
        "silence in the middle of the text (argument: seconds, 60)",
        "upstream_timeout",
        lambda case: [*_begun(case), *_stall(case)],
    ),
    _fault(
        "stall_before_stop",
        "silence between message_delta and message_stop (argument: seconds, 60)",
        "upstream_timeout",
        lambda case: [_HEAD, *wire.acts(wire.events(case.reply)[:-1], case.reply.pace), *_stall(case)],
    ),
    _fault(
        "stall_after_stop",
        "message_stop, but the response does not end (argument: seconds, 60)",
        "ok",
        lambda case: [_HEAD, *wire.acts(wire.events(case.reply), case.reply.pace), *_stall(case)],
    ),
    _fault(
        "ping_forever",
        "pings and nothing else (argument: seconds, 60)",
        "upstream_timeout",
        _repeat(b'event: ping\ndata: {"type":"ping"}\n\n'),
    ),
    _fault(
        "comments_forever",
        "SSE comments and nothing else (argument: seconds, 60)",
        "upstream_timeout",
        _repeat(b": still here\n\n"),
    ),
    _fault(
        "empty_deltas_forever",
        "empty pieces of text and nothing else (argument: seconds, 60)",
        "upstream_timeout",
        _repeat(_EMPTY_DELTA, wire.block_start(0, wire.text_block(""))),
    ),
    _fault(
        "unknown_events_forever",
        "events of a type of the future and nothing else (argument: seconds, 60)",
        "upstream_timeout",
        _repeat(b'event: demo_event\ndata: {"type":"demo_event"}\n\n'),
    ),
    _fault(
        "slow_loris",
        "one byte every 200 ms (argument: milliseconds), cut after 60 s",
        "upstream_timeout",
        _trickle,
    ),
    _fault(
        "clean_truncation",
        "a clean end of the response after half of the text",
        "upstream_truncated",
        lambda case: [*_begun(case), LAST_CHUNK],
    ),
    _fault(
        "before_message_delta",
        "a clean end after the last block",
        "upstream_truncated",
        lambda case: [_HEAD, *wire.acts(_without_end(case), case.reply.pace), LAST_CHUNK],
    ),
    _fault(
        "after_message_delta",
        "a clean end after message_delta, without message_stop",
        "upstream_truncated",
        lambda case: [_HEAD, *wire.acts(wire.events(case.reply)[:-1], case.reply.pace), LAST_CHUNK],
    ),
    _fault("mid_event", "a clean end inside an event", "upstream_truncated", _mid_event),
    _fault("empty_body", "HTTP 200 and an empty stream", "upstream_truncated", lambda _: [_HEAD, LAST_CHUNK]),
    _fault(
        "connection_close_cut",
        "no length, no chunks: the connection ends after half of the text",
        "upstream_truncated",
        lambda case: [_CLOSING_HEAD, joined(half(case)), Ending.CLOSE],
    ),
    _fault("short_body", "content-length promises more than comes", "upstream_truncated", _short_body),
    _fault(
        "connection_close",
        "no length, no chunks: the connection ends after message_stop",
        "ok",
        lambda case: [_CLOSING_HEAD, joined(wire.events(case.reply)), Ending.CLOSE],
    ),
    _fault(
        "close_after_response",
        "a right response, and then FIN on a connection the client would use again",
        "ok",
        lambda case: [*wire.stream(case.reply), Ending.CLOSE],
    ),
    _fault(
        "reset_after_response",
        "a right response, and then RST on a connection the client would use again",
        "ok",
        lambda case: [*wire.stream(case.reply), _ARRIVED, Ending.RESET],
    ),
)
