"""Does the gateway at a URL really stream, or does something on the way hold its events back?

The events carry the time at which the gateway wrote them. When they arrive much closer together than they
were written, something has collected them: a proxy that buffers, or a compressor that waits for a full block.
"""

import time
from typing import NamedTuple

from gateway.cli.findings import Finding
from gateway.client import GatewayClient
from gateway.client.frames import read_frames
from gateway.errors import GatewayError

DEMO_QUESTION = "/pieces 20 /pace 50"
QUESTION = "Count from one to thirty in words, separated by commas."
LONG_ENOUGH_MS = 300  # an answer written in less cannot tell a buffer from a fast model
TIME_LIMIT = 60.0


class Arrival(NamedTuple):
    """When a piece of text was written and when it came in, in milliseconds of two unrelated clocks."""

    written: float
    arrived: float


def check_streaming(url: str, key: str | None) -> list[Finding]:
    """Starts a turn there and watches its text arrive. The session it makes is deleted afterwards."""
    with GatewayClient(url, key) as client:
        try:
            demo = bool(client.health().get("demo"))
            headers, arrivals, session_id = _watch(client, DEMO_QUESTION if demo else QUESTION)
            if session_id:
                client.delete_session(session_id)
        except GatewayError as error:
            return [Finding("bad", "stream", str(error))]
    return [judge(arrivals), *judge_headers(headers)]


def _watch(client: GatewayClient, question: str) -> tuple[dict[str, str], list[Arrival], str | None]:
    arrivals: list[Arrival] = []
    session_id: str | None = None
    started = time.monotonic()
    with client.stream("POST", "/api/chat", body={"message": question}) as response:
        for frame in read_frames(response.iter_bytes()):
            now = time.monotonic()
            event = frame.load()
            session_id = event.get("session_id", session_id)
            if frame.event == "text":
                arrivals.append(Arrival(float(event["ts"]), now * 1000))
            if frame.event == "error":
                raise GatewayError(f"The turn failed: {event['data']['message']}")
            if frame.event == "done" or now - started > TIME_LIMIT:
                break
        return dict(response.headers), arrivals, session_id


def judge(arrivals: list[Arrival]) -> Finding:
    """Compares how long the text took to be written with how long it took to come in."""
    count = len(arrivals)
    if count < 2:
        return Finding("warning", "stream", f"{count} pieces of text arrived: too few to tell. Try again.")
    written = arrivals[-1].written - arrivals[0].written
    arrived = arrivals[-1].arrived - arrivals[0].arrived
    if written < LONG_ENOUGH_MS:
        return Finding(
            "warning", "stream", f"the answer took only {written:.0f} ms: too fast to tell. Try again."
        )
    if arrived < written / 2:
        return Finding(
            "bad",
            "stream",
            f"buffered: all {count} frames arrived within {arrived:.0f} ms, though they were written over "
            f"{written:.0f} ms. Look for proxy_buffering (nginx: off), response compression and caching "
            "between here and the gateway.",
        )
    return Finding("good", "stream", f"streams: {count} frames arrived over {arrived:.0f} ms")


def judge_headers(headers: dict[str, str]) -> list[Finding]:
    """Findings from the response head about the way here."""
    found: list[Finding] = []
    encoding = headers.get("content-encoding")
    if encoding:
        found.append(
            Finding("warning", "content-encoding", f"{encoding}: turn compression off for text/event-stream")
        )
    if headers.get("x-accel-buffering") != "no":
        found.append(
            Finding(
                "warning",
                "x-accel-buffering",
                "absent: a proxy has taken it away (nginx does), so proxies before it may buffer",
            )
        )
    else:
        found.append(Finding("good", "x-accel-buffering", "no"))
    return found
