"""The catalogue of faults, each played over a real socket."""

import json

import pytest

from gateway.demo.faults import FOR_ALL_REQUESTS, FOR_STREAMS
from tests.demo.bare import ask
from tests.demo.conftest import Send
from tests.demo.documented import CATALOGUE, Fault

pytestmark = pytest.mark.anyio
CODES = {
    "ok",
    "upstream_overloaded",
    "upstream_rate_limited",
    "upstream_timeout",
    "upstream_auth",
    "upstream_error",
    "upstream_truncated",
    "context_overflow",
    "content_refused",
    "max_tool_calls",
}
SHORTER = {
    "huge_delta": "0.5",
    "many_deltas": "5000",
    "endless_text": "2",
    "endless_thinking": "2",
    "endless_input": "1",
    "too_many_calls": "1100",
}
"""Arguments that make a fault short; stalls take seconds."""
STOP = b'{"type":"message_stop"}'


def script(fault: Fault) -> str:
    seconds = any(word in fault.name for word in ("stall", "forever"))
    return f"/fault {fault.name} {'0.2' if seconds else SHORTER.get(fault.name, '')}"


def test_the_catalogue_is_complete_and_classified() -> None:
    """At least 70 faults; each has a description and a known code; what is ok is not retried."""
    assert len(CATALOGUE) >= 70
    assert {fault.expected for fault in CATALOGUE.values()} == CODES
    assert [fault.name for fault in CATALOGUE.values() if not fault.description] == []
    assert [fault.name for fault in CATALOGUE.values() if fault.expected == "ok" and fault.retryable] == []


SLOW = "slow_loris"


@pytest.mark.parametrize(
    "fault", [fault for fault in CATALOGUE.values() if fault.name != SLOW], ids=lambda fault: fault.name
)
async def test_a_fault_shows_on_the_wire(send: Send, fault: Fault) -> None:
    """What must be coped with brings a whole message; what must fail brings an error status, an error event,
    a broken connection, no end, or events against the rules."""
    received = await send(ask(script(fault)))
    right = await send(ask("/say something"))
    if fault.expected == "ok":
        assert received.status == 200
        assert STOP in received.body.replace(b"\r", b"\n") or fault.name == "after_message_delta"
    elif fault.expected in ("upstream_truncated", "upstream_timeout") and received.status in (0, 200):
        assert not received.body.endswith(STOP + b"\n\n")
    else:
        assert received.raw != right.raw
        assert received.status != 200 or STOP not in received.body or received.ended == "complete"


async def test_a_trickle_brings_the_right_stream_byte_by_byte(send: Send) -> None:
    """The slowest stream is a right one: its bytes are those of any other, each in a chunk of its own."""
    slow, right = await send(ask(f"/fault {SLOW} 0\n/say x")), await send(ask("/say x"))
    assert slow.text == right.text == "x"
    assert slow.raw.count(b"\r\n1\r\n") == len(slow.body)


@pytest.mark.parametrize(
    ("name", "ended"),
    [
        ("reset_before_headers", "reset"),
        ("reset_mid_stream", "reset"),
        ("close_before_headers", "closed"),
        ("headers_cut", "closed"),
        ("fin_mid_chunk", "closed"),
        ("headers_stall 0.1", "closed"),
        ("stall_mid_stream 0.1", "closed"),
        ("connection_close_cut", "closed"),
        ("connection_close", "closed"),
        ("short_body", "closed"),
        ("clean_truncation", "complete"),
        ("after_message_delta", "complete"),
        ("mid_event", "complete"),
        ("empty_body", "complete"),
        ("http_529", "complete"),
    ],
)
async def test_a_connection_ends_as_its_fault_says(send: Send, name: str, ended: str) -> None:
    """RST, FIN, or a response that looks whole."""
    assert (await send(ask(f"/fault {name}"))).ended == ended


@pytest.mark.parametrize(
    ("name", "status", "header"),
    [
        ("http_429_seconds 7", 429, b"retry-after: 7"),
        ("http_429_ms", 429, b"retry-after-ms: 50"),
        ("http_429_3600", 429, b"retry-after: 3600"),
        ("http_429_date", 429, b" GMT\r\n"),
        ("should_retry_header", 400, b"x-should-retry: true"),
        ("http_502_html", 502, b"text/html"),
        ("http_529", 529, b"HTTP/1.1 529 "),
    ],
)
async def test_a_status_brings_its_header(send: Send, name: str, status: int, header: bytes) -> None:
    """What the fault promises is in the response's head, streaming or not."""
    for streams in (True, False):
        received = await send(ask(f"/fault {name}", stream=streams))
        assert received.status == status
        assert header in received.raw


async def test_a_fault_once_is_over_at_the_second_try(send: Send) -> None:
    """`once` spoils the first such request; the same again is answered, another is spoiled again."""
    body = ask("/fault http_529 once\n/say better now")
    assert (await send(body)).status == 529
    assert (await send(body)).text == "better now"
    assert (await send(ask("/fault http_529 once\n/say something else"))).status == 529


async def test_a_fault_strikes_only_its_step(send: Send) -> None:
    """A fault after /then leaves the first call alone and spoils the second."""
    text = "/say fine\n/then\n/fault http_500"
    later = [*ask(text)["messages"], {"role": "assistant", "content": "fine"}]
    assert (await send(ask(text))).text == "fine"
    assert (await send({**ask(text), "messages": later})).status == 500


@pytest.mark.parametrize("name", ["no_such_fault", "huge_delta many", "many_deltas -1", "headers_stall nan"])
async def test_an_unknown_fault_or_argument_is_a_400(send: Send, name: str) -> None:
    """The message names the fault."""
    received = await send(ask(f"/fault {name}"))
    assert received.status == 400
    assert name.split(maxsplit=1)[0] in json.loads(received.body)["error"]["message"]


async def test_a_fault_of_a_stream_needs_a_stream(send: Send) -> None:
    """Asked for without streaming it is refused rather than passed over."""
    assert (await send(ask("/fault mid_event", stream=False))).status == 400


def test_every_fault_is_documented() -> None:
    """docs/demo.md has one row for each fault, and no other rows."""
    assert CATALOGUE.keys() == FOR_ALL_REQUESTS.keys() | FOR_STREAMS.keys()
    assert not FOR_ALL_REQUESTS.keys() & FOR_STREAMS.keys()


async def test_big_faults_have_their_size(send: Send) -> None:
    """8 MB in one piece, and 100000 pieces, arrive whole."""
    assert len((await send(ask("/fault huge_delta 8"))).text) == 8_000_000
    assert len((await send(ask("/fault many_deltas"))).text) == 400_000
