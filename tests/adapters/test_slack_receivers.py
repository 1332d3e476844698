"""What reaches the route of Slack's events, and what is left at its door."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from examples.home.slack_workspace import SECRET, TOKEN, signed
from gateway.adapters.messengers.base import Received
from gateway.adapters.slack.slack_events import Bot
from gateway.adapters.slack.slack_receivers import bolt_app, serve
from gateway.request_heads import MAX_HEAD
from tests.harness import TIMEOUT
from tests.loopback import free_port

pytestmark = pytest.mark.anyio

CONTENT = '{"type": "url_verification", "challenge": "c"}'


@asynccontextmanager
async def events_at() -> AsyncGenerator[int]:
    async def answer(_: object) -> BoltResponse | None:
        return None

    def keep(_: Received) -> bool:
        return True

    def is_ours(_place: object, _person: str) -> bool:
        return False

    client = AsyncWebClient(token=TOKEN, base_url="http://127.0.0.1:1/api/")
    app = bolt_app(client, Bot("U", "T"), keep, is_ours=is_ours, answer=answer, signing_secret=SECRET)
    port = free_port()
    serving = asyncio.create_task(serve(app, f"127.0.0.1:{port}", SECRET))
    try:
        async with asyncio.timeout(TIMEOUT):
            while True:
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                await asyncio.sleep(0.02)
        yield port
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def test_what_slack_has_not_signed_is_refused_and_written_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever it is: no failure, and nothing in the log, which a stranger would fill otherwise."""
    right = signed(CONTENT)
    stamp, signature = right["x-slack-request-timestamp"], right["x-slack-signature"]
    asked: list[tuple[bytes, Mapping[str, Any]]] = [
        (CONTENT.encode(), {}),
        (CONTENT.encode(), {**right, "x-slack-request-timestamp": "nan"}),
        (CONTENT.encode(), {**right, "x-slack-request-timestamp": f"{stamp}.5"}),
        (CONTENT.encode(), {**right, "x-slack-request-timestamp": "9" * 400}),
        (CONTENT.encode(), {**right, "x-slack-signature": signature[:-1]}),
        (CONTENT.encode(), {**right, "x-slack-signature": b"v0=\xe9"}),
        (b"\xff\xfe", right),
        (b"[" * 100_000, right),
    ]
    async with events_at() as port, httpx2.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{port}/slack/events"
        with caplog.at_level(logging.INFO):
            for content, headers in asked:
                answer = await client.post(url, content=content, headers=dict(headers))
                assert answer.status_code == 401, (content[:50], headers)
        check = await client.post(url, content=b"ssl_check=1&token=t")
        taken = await client.post(url, content=CONTENT, headers={"content-type": "application/json", **right})
    assert (check.status_code, check.text) == (200, "")
    assert taken.json() == {"challenge": "c"}
    written = [each for each in caplog.records if "invalid request" in each.getMessage().lower()]
    assert not [*written, *(each for each in caplog.records if each.levelno >= logging.ERROR)]


async def test_a_head_that_does_not_end_is_refused() -> None:
    """It would be held, and copied with each piece that comes, until the memory is full."""
    async with events_at() as port, asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: a\r\nX-A: ")
        answer = asyncio.create_task(reader.read(12))
        sent = 0
        while not answer.done() and sent < 100 * MAX_HEAD:
            writer.write(b"a" * MAX_HEAD)
            sent += MAX_HEAD
            await asyncio.sleep(0.02)
        assert answer.done()
        assert answer.result().endswith(b"400")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
