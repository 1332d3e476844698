"""What common SSE libraries and SDKs do, as it goes over the wire."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import TIMEOUT, Client, Frame, events, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

MESSAGE = {"message": "/pieces 20 /pace 20", "session_id": "s", "client_message_id": "m1"}


async def first_frames(client: Client, path: str, body: dict[str, Any], count: int) -> list[Frame]:
    """So many frames; then the connection is closed, in the middle of the stream."""
    async with client.frames(path, body) as frames:
        return [await anext(frames) for _ in range(count)]


@pytest.mark.parametrize(
    "path", ["/api/chat", pytest.param("/api/sessions/s/turns", id="turns of a session")]
)
async def test_a_repeated_post_goes_on_behind_the_last_id(client: Client, path: str) -> None:
    """A library that repeats the POST with its last id, as fetch-event-source does, loses no event and gets
    none twice, wherever it was cut off; `?after=` says the same."""
    body = MESSAGE if path == "/api/chat" else {key: MESSAGE[key] for key in ("message", "client_message_id")}
    await client.post("/api/sessions", {"id": "s"})
    seen = await first_frames(client, path, body, 5)
    rest = await client.all_frames(path, body, {"last-event-id": str(seen[-1].id)})
    whole = [frame.raw for frame in await client.all_frames(path, body) if frame.event != "stream_open"]

    assert [frame.raw for frame in [*seen, *rest] if frame.event != "stream_open"] == whole
    assert rest[0].data["cursor"] == seen[-1].id
    assert whole[0].startswith(b"id: 1\n")
    for cut in range(1, len(whole) - 1):
        again = await client.all_frames(f"{path}?after={cut}", body)
        assert [frame.raw for frame in again[1:]] == whole[cut:]


async def test_a_repeated_post_with_nothing_left_is_204_and_one_from_the_future_400(client: Client) -> None:
    """As for a GET; a malformed cursor starts no turn."""
    last = (await client.chat(**MESSAGE))[-1]["seq"]

    over = await client.post("/api/chat", MESSAGE, **{"last-event-id": str(last)})
    ahead = await client.post("/api/chat", MESSAGE, **{"last-event-id": str(last + 1)})
    wrong = await client.post("/api/chat", {"message": "hi", "session_id": "t"}, **{"last-event-id": "x"})

    assert (over.status_code, over.content) == (204, b"")
    assert (ahead.status_code, ahead.json()["error"]["details"]) == (400, {"head": last})
    assert wrong.status_code == 400
    assert (await client.get("/api/sessions/t")).status_code == 404


async def test_the_cursor_of_another_turn_takes_nothing_from_a_new_one(client: Client) -> None:
    """A turn that was not there before begins at its first event, whatever the header says."""
    first = await client.chat("/say one", session_id="s")
    last = str(first[-1]["seq"])

    seen = events(
        await client.all_frames(
            "/api/chat",
            {"message": "/say two", "session_id": "s", "client_message_id": "m2"},
            {"last-event-id": last},
        )
    )

    assert seen[0]["type"] == "turn_start"
    assert seen[0]["seq"] == int(last) + 1


def dispatched(stream: bytes) -> Iterator[dict[bytes, bytes]]:
    """What fetch-event-source and httpx-sse hand to the application: something at every blank line, whether
    it had fields or not."""
    *blocks, rest = stream.split(b"\n\n")
    assert rest.strip(b":\n") == b""
    for block in blocks:
        lines = [line.partition(b":") for line in block.split(b"\n") if not line.startswith(b":")]
        yield {name: value.strip() for name, _, value in lines if name}


@pytest.mark.parametrize("replayed", [False, True])
async def test_heartbeats_are_no_messages(settings: Settings, replayed: bool) -> None:
    """Each is one line, `:` and a single LF, in a live stream and in a replay: no library makes an empty
    message of it."""
    busy = settings.model_copy(update={"heartbeat": 0.02})
    async with running_gateway(busy) as client, asyncio.timeout(TIMEOUT):
        slow = {"message": "/pieces 6 /pace 100", "session_id": "s"}
        stream = (await client.post("/api/chat", slow, accept="text/event-stream")).content
        if replayed:
            stream = (await client.get("/api/sessions/s/replay")).content

    assert stream.count(b"\n:\n") > 3
    messages = list(dispatched(stream))
    assert messages[-1][b"event"] == b"done"
    assert all(message[b"data"] for message in messages)


ANTHROPIC = [
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "authorization",
    "content-type",
    "x-api-key",
    "x-stainless-arch",
    "x-stainless-helper-method",
    "x-stainless-lang",
    "x-stainless-os",
    "x-stainless-package-version",
    "x-stainless-retry-count",
    "x-stainless-runtime",
    "x-stainless-timeout",
]
OURS = [
    "last-event-id",
    "traceparent",
    "tracestate",
    "baggage",
    "x-request-id",
    "if-match",
    "range",
    "x-session-id",
]


@pytest.mark.parametrize(
    "headers", [ANTHROPIC, OURS, ["x-stainless-whatever-comes"]], ids=lambda each: each[0]
)
async def test_a_page_of_an_allowed_origin_may_send_the_headers_of_the_sdks(
    settings: Settings, headers: list[str]
) -> None:
    """The preflight of each passes, also of names that no SDK has yet; other origins get nowhere."""
    allowed: dict[str, Any] = {"cors_origins": ("https://chat.example",)}
    async with running_gateway(settings.model_copy(update=allowed)) as client:
        asked = {
            "access-control-request-method": "POST",
            "access-control-request-headers": ",".join(headers),
        }
        passed, refused = [
            await client.http.options("/api/chat", headers={**asked, "origin": origin})
            for origin in ("https://chat.example", "https://evil.example")
        ]
        answer = await client.post("/api/sessions", {}, origin="https://chat.example")

    assert passed.status_code == 200
    assert set(headers) <= set(passed.headers["access-control-allow-headers"].split(","))
    assert passed.headers["access-control-allow-origin"] == "https://chat.example"
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"x-request-id", "location", "retry-after"} <= set(exposed)
