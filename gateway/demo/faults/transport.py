"""Faults of what carries the answer: statuses, connections, and the text of the event stream."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from email.utils import formatdate
from itertools import accumulate, cycle, pairwise, takewhile

import orjson

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act, Disconnect, head, whole
from gateway.demo.faults.case import HEAD, START, STOP, Case, Play, joined, streamed
from gateway.demo.wire import Event, GeneratedText, delta, text_deltas

MAX_SECONDS = 60.0
"""After which every stall ends by itself: nothing runs for ever."""
MAX_PACKETS = 4000
_ARRIVED = 0.05  # seconds for what was sent to be read before a reset throws it away
_NO_DELAY = 0.0  # a wait of nothing: what follows is another packet
_CLOSING_HEAD = head(200, {"content-type": "text/event-stream; charset=utf-8", "connection": "close"})
_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_EMPTY = joined([delta(0, {"type": "text_delta", "text": ""})])
_BAD_UTF8 = joined([delta(0, {"type": "text_delta", "text": "~"})]).replace(b"~", b"\xff\xfe\xc3(")
_STATUSES = {
    "http_400": (400, "invalid_request_error", "max_tokens: Field required"),
    "http_400_context": (400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    "http_401": (401, "authentication_error", "invalid x-api-key"),
    "http_403": (403, "permission_error", "Your API key may not use this model."),
    "http_404": (404, "not_found_error", "model: no-such-model"),
    "http_408": (408, "timeout_error", "Request timed out"),
    "http_409": (409, "api_error", "Conflict"),
    "http_413": (413, "request_too_large", "Request exceeds the maximum size"),
    "http_500": (500, "api_error", "Internal server error"),
    "http_503": (503, "api_error", "Service unavailable"),
    "http_504": (504, "timeout_error", "Gateway timeout"),
    "http_529": (529, "overloaded_error", "Overloaded"),
}


def _status(code: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Play:
    content = orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
    json = {"content-type": "application/json", "request-id": "req_fault"}
    return lambda _: whole(code, content, {**json, **(headers or {})})


def _limited(header: str | None = None, value: str = "") -> Play:
    """A 429 with this header; the directive's argument stands in for its value."""

    def play(case: Case) -> Sequence[Act]:
        given = {header: case.argument or value} if header else {}
        return _status(429, "rate_limit_error", "This request would exceed your rate limit.", given)(case)

    return play


def _limited_until(case: Case) -> Sequence[Act]:
    when = formatdate(time.time() + case.number(1), usegmt=True)
    return _limited("retry-after", when)(replace(case, argument=None))


def _stall(case: Case) -> list[Act]:
    return [min(MAX_SECONDS, case.number(MAX_SECONDS)), Disconnect.CLOSE]


def _forever(event: bytes, *before: Event) -> Play:
    """A start, what comes `before`, and then `event` every 100 ms and nothing else."""
    sign: list[Act] = [b"%x\r\n%b\r\n" % (len(event), event), 0.1]

    def play(case: Case) -> list[Act]:
        times = int(min(MAX_SECONDS, case.number(MAX_SECONDS)) * 10)
        return case.sent([wire.start(case.reply), *before], *sign * times, Disconnect.CLOSE)

    return play


def _trickle(case: Case) -> list[Act]:
    """One byte at a time, `argument` milliseconds apart."""
    wait = case.number(200) / 1000
    body = joined(case.events)
    in_time = int(MAX_SECONDS / wait) if wait else len(body)
    acts = [act for byte in body[:in_time] for act in (b"1\r\n%c\r\n" % byte, wait)]
    return [HEAD, *acts, Disconnect.CLOSE if in_time < len(body) else LAST_CHUNK]


def _fin_mid_chunk(case: Case) -> list[Act]:
    rest = joined(case.events[len(case.half()) :])
    return case.sent(case.half(), b"%x\r\n%b" % (len(rest), rest[: len(rest) // 2]), Disconnect.CLOSE)


def _mid_event(case: Case) -> list[Act]:
    frame = joined(text_deltas(0, "never to be finished"))
    return case.sent(case.half(), b"%x\r\n%b\r\n" % (70, frame[:70]), LAST_CHUNK)


def _short_body(case: Case) -> list[Act]:
    body = joined(case.events)
    headers = {"content-type": "text/event-stream", "content-length": str(len(body))}
    return [head(200, headers), body[: len(body) // 2], Disconnect.CLOSE]


def _body(change: Callable[[bytes], bytes], places: Callable[[bytes], Iterable[int]] = lambda _: ()) -> Play:
    """The right stream, its bytes changed, in packets that end at these places."""

    def play(case: Case) -> list[Act]:
        body = change(joined(case.events))
        parts = [body[a:b] for a, b in pairwise([0, *places(body), len(body)]) if b > a]
        apart = [_NO_DELAY] if len(parts) <= MAX_PACKETS else []
        chunks = [act for part in parts for act in (b"%x\r\n%b\r\n" % (len(part), part), *apart)]
        return [HEAD, *chunks, LAST_CHUNK]

    return play


def _amid(frame: bytes) -> Play:
    return streamed(lambda case: case.amid(frame))


def _odd_places(body: bytes) -> Iterable[int]:
    return takewhile(lambda at: at < len(body), accumulate(cycle((1, 7, 13, 64, 3, 200))))


def _data_only(body: bytes) -> bytes:
    return b"".join(line + b"\n" for line in body.split(b"\n")[:-1] if not line.startswith(b"event: "))


def _decorated(body: bytes) -> bytes:
    return b"retry: 1000\nid: 7\n\n" + body.replace(
        b"event: ", b": a comment\nid: 8\nunknown: field\nevent: "
    )


def _huge(case: Case) -> list[Act]:
    size = int(case.number(1) * 1_000_000)
    large = delta(0, {"type": "text_delta", "text": ("0123456789abcde " * (size // 16 + 1))[:size]})
    return case.sent([wire.start(case.reply), START, large, STOP, *wire.end(case.reply)], LAST_CHUNK)


def _many(case: Case) -> list[Act]:
    events = wire.block(0, GeneratedText(int(case.number(100_000))))
    return case.sent([wire.start(case.reply), *events, *wire.end(case.reply)], LAST_CHUNK)


FOR_ALL_REQUESTS: dict[str, Play] = {
    **{name: _status(*answer) for name, answer in _STATUSES.items()},
    "http_429_seconds": _limited("retry-after", "1"),
    "http_429_date": _limited_until,
    "http_429_ms": _limited("retry-after-ms", "50"),
    "http_429_3600": _limited("retry-after", "3600"),
    "http_429_garbage": _limited("retry-after", "soon, very soon"),
    "http_429_negative": _limited("retry-after", "-5"),
    "http_429_bare": _limited(),
    "http_502_html": lambda _: whole(502, _PAGE, {"content-type": "text/html"}),
    "should_retry_header": _status(400, "invalid_request_error", "Try again.", {"x-should-retry": "true"}),
    "should_not_retry_header": _status(500, "api_error", "Do not try again.", {"x-should-retry": "false"}),
    "http_307": lambda _: whole(307, b"", {"location": "/elsewhere/v1/messages"}),
    "http_500_empty": lambda _: whole(500, b"", {}),
    "reset_before_headers": lambda _: [Disconnect.RESET],
    "close_before_headers": lambda _: [Disconnect.CLOSE],
    "headers_cut": lambda _: [HEAD[:40], Disconnect.CLOSE],
    "not_http": lambda _: [b"SSH-2.0-OpenSSH_9.2\r\n", Disconnect.CLOSE],
    "headers_stall": _stall,
}
"""Those that have a meaning for requests that do not stream as well."""
FOR_STREAMS: dict[str, Play] = {
    # The connection
    "http_200_html": lambda _: whole(200, _PAGE, {"content-type": "text/html"}),
    "first_event_stall": lambda case: case.sent([], *_stall(case)),
    "reset_mid_stream": lambda case: case.sent(case.half(), _ARRIVED, Disconnect.RESET),
    "fin_mid_chunk": _fin_mid_chunk,
    "stall_mid_stream": lambda case: case.sent(case.half(), *_stall(case)),
    "stall_before_stop": lambda case: case.sent(case.events[:-1], *_stall(case)),
    "stall_after_stop": lambda case: case.sent(case.events, *_stall(case)),
    "ping_forever": _forever(b'event: ping\ndata: {"type":"ping"}\n\n'),
    "comments_forever": _forever(b": still here\n\n"),
    "empty_deltas_forever": _forever(_EMPTY, START),
    "unknown_events_forever": _forever(b'event: demo_event\ndata: {"type":"demo_event"}\n\n'),
    "slow_loris": _trickle,
    "clean_truncation": lambda case: case.sent(case.half(), LAST_CHUNK),
    "before_message_delta": lambda case: case.sent(case.events[:-2], LAST_CHUNK),
    "after_message_delta": lambda case: case.sent(case.events[:-1], LAST_CHUNK),
    "mid_event": _mid_event,
    "empty_body": lambda case: case.sent([], LAST_CHUNK),
    "connection_close_cut": lambda case: [_CLOSING_HEAD, joined(case.half()), Disconnect.CLOSE],
    "short_body": _short_body,
    "connection_close": lambda case: [_CLOSING_HEAD, joined(case.events), Disconnect.CLOSE],
    "close_after_response": lambda case: [*wire.stream(case.reply), Disconnect.CLOSE],
    "reset_after_response": lambda case: [*wire.stream(case.reply), _ARRIVED, Disconnect.RESET],
    # The text of the stream
    "utf8_split": _body(bytes, lambda body: [at for at, byte in enumerate(body) if byte & 0xC0 == 0x80]),
    "crlf": _body(lambda body: body.replace(b"\n", b"\r\n")),
    "crlf_split": _body(
        lambda body: body.replace(b"\n", b"\r\n"),
        lambda body: [at for at, byte in enumerate(body) if byte == 0x0A],
    ),
    "cr": _body(lambda body: body.replace(b"\n", b"\r")),
    "odd_chunks": _body(bytes, _odd_places),
    "one_chunk": _body(bytes),
    "bom": _body(lambda body: b"\xef\xbb\xbf" + body),
    "comments": _body(_decorated),
    "data_only": _body(_data_only),
    "no_space": _body(lambda body: body.replace(b"\ndata: ", b"\ndata:")),
    "many_data_lines": _body(lambda body: body.replace(b',"delta":', b',\ndata: "delta":')),
    "blank_lines": _body(lambda body: b"\n\n" + body.replace(b"\n\n", b"\n\n\n\n")),
    "done_marker": _body(lambda body: body + b"data: [DONE]\n\n"),
    "huge_delta": _huge,
    "many_deltas": _many,
    "malformed_json": _amid(b'event: content_block_delta\ndata: {"type":"content_blo\n\n'),
    "not_an_object": _amid(b'event: content_block_delta\ndata: ["no", "object"]\n\n'),
    "bad_utf8": _amid(_BAD_UTF8),
    "unterminated_stop": _body(lambda body: body.removesuffix(b"\n")),
}
