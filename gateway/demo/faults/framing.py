"""Faults of the event stream's text: line ends, chunk borders, encodings, and events that are not JSON."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act, head
from gateway.demo.faults.case import Case, Fault
from gateway.demo.faults.sockets import half, joined
from gateway.demo.wire import Event, Pieces

_HEAD = head(200, wire.SSE_HEADERS)
_AT_ONCE = 0.0
"""A wait of nothing: what follows is another packet."""
_ODD_SIZES = (1, 7, 13, 64, 3, 200)
MAX_PACKETS = 4000


def _body(change: Callable[[bytes], bytes]) -> Callable[[Case], list[Act]]:
    """The right stream, its bytes changed."""

    def play(case: Case) -> list[Act]:
        return _packets([change(joined(wire.events(case.reply)))])

    return play


def _packets(parts: Sequence[bytes]) -> list[Act]:
    """Each part as a chunk of its own, and, when they are not too many, as a packet of its own."""
    acts: list[Act] = [_HEAD]
    for part in parts:
        acts.append(b"%x\r\n%b\r\n" % (len(part), part))
        if len(parts) <= MAX_PACKETS:
            acts.append(_AT_ONCE)
    return [*acts, LAST_CHUNK]


def _cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *places, len(body)]
    return [body[a:b] for a, b in pairwise(edges) if b > a]


def _odd_chunks(case: Case) -> list[Act]:
    body = joined(wire.events(case.reply))
    places: list[int] = []
    at = 0
    while at < len(body):
        at += _ODD_SIZES[len(places) % len(_ODD_SIZES)]
        places.append(min(at, len(body)))
    return _packets(_cut(body, places))


def _inside_characters(case: Case) -> list[Act]:
    body = joined(wire.events(case.reply))
    return _packets(_cut(body, [at for at, byte in enumerate(body) if byte & 0xC0 == 0x80]))


def _between_cr_and_lf(case: Case) -> list[Act]:
    body = joined(wire.events(case.reply)).replace(b"\n", b"\r\n")
    return _packets(_cut(body, [at for at, byte in enumerate(body) if byte == 0x0A]))


def _spoiled(frame: bytes) -> Callable[[Case], list[Act]]:
    """A bad frame in the middle of the text, and the rest as if nothing had happened."""

    def play(case: Case) -> list[Act]:
        begun = half(case)
        rest = wire.events(case.reply)[len(begun) :]
        events: list[Event] = [*begun, frame, *rest]
        return [_HEAD, *wire.acts(events, case.reply.pace), LAST_CHUNK]

    return play


def _data_only(body: bytes) -> bytes:
    return b"".join(line + b"\n" for line in body.split(b"\n")[:-1] if not line.startswith(b"event: "))


def _decorated(body: bytes) -> bytes:
    return b"retry: 1000\nid: 7\n\n" + body.replace(
        b"event: ", b": a comment\nid: 8\nunknown: field\nevent: "
    )


def _many_lines(body: bytes) -> bytes:
    return body.replace(b',"delta":', b',\ndata: "delta":')


def _without_last_blank_line(body: bytes) -> bytes:
    return body.removesuffix(b"\n")


def _huge(case: Case) -> list[Act]:
    size = int(case.number(1) * 1_000_000)
    events: list[Event] = [wire.start(case.reply), wire.block_start(0, wire.text_block(""))]
    text = ("0123456789abcde " * (size // 16 + 1))[:size]
    events.append(wire.delta(0, {"type": "text_delta", "text": text}))
    events.append({"type": "content_block_stop", "index": 0})
    return [_HEAD, *wire.acts([*events, *wire.end(case.reply)]), LAST_CHUNK]


def _many(case: Case) -> list[Act]:
    pieces = Pieces(int(case.number(100_000)))
    events = [wire.start(case.reply), *wire.blocks([pieces]), *wire.end(case.reply)]
    return [_HEAD, *wire.acts(events), LAST_CHUNK]


def _ok(name: str, description: str, play: Callable[[Case], Sequence[Act]]) -> Fault:
    return Fault(name, description, "ok", False, play)


def _bad(name: str, description: str, frame: bytes) -> Fault:
    return Fault(name, description, "upstream_error", True, _spoiled(frame))


FAULTS = (
    _ok("utf8_split", "packets end inside characters", _inside_characters),
    _ok("crlf", "lines end in CRLF", _body(lambda body: body.replace(b"\n", b"\r\n"))),
    _ok("crlf_split", "lines end in CRLF, packets between CR and LF", _between_cr_and_lf),
    _ok("cr", "lines end in CR", _body(lambda body: body.replace(b"\n", b"\r"))),
    _ok("odd_chunks", "packets of 1, 7, 13, 64, 3 and 200 bytes", _odd_chunks),
    _ok("one_chunk", "the whole stream in one chunk", _body(lambda body: body)),
    _ok("bom", "a byte order mark first", _body(lambda body: b"\xef\xbb\xbf" + body)),
    _ok("comments", "comments, ids, retry and unknown fields between the lines", _body(_decorated)),
    _ok("data_only", "no event lines", _body(_data_only)),
    _ok("no_space", "no blank after the colon", _body(lambda body: body.replace(b"\ndata: ", b"\ndata:"))),
    _ok("many_data_lines", "an event's data on two lines", _body(_many_lines)),
    _ok(
        "blank_lines",
        "more blank lines than needed",
        _body(lambda body: b"\n\n" + body.replace(b"\n\n", b"\n\n\n\n")),
    ),
    _ok("done_marker", "`data: [DONE]` after message_stop", _body(lambda body: body + b"data: [DONE]\n\n")),
    _ok("huge_delta", "one piece of 1 MB (argument: megabytes)", _huge),
    _ok("many_deltas", "100000 small pieces (argument: how many)", _many),
    _bad(
        "malformed_json",
        "an event that is not JSON",
        b'event: content_block_delta\ndata: {"type":"content_blo\n\n',
    ),
    _bad(
        "not_an_object",
        "an event that is a JSON list",
        b'event: content_block_delta\ndata: ["no", "object"]\n\n',
    ),
    _bad(
        "bad_utf8",
        "an event that is not UTF-8",
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"\xff\xfe\xc3("}}\n\n',
    ),
    Fault(
        "unterminated_stop",
        "the blank line after message_stop is missing",
        "upstream_truncated",
        True,
        _body(_without_last_blank_line),
    ),
)
