"""A reader that takes nothing: it is dropped, the turn does not notice, and a resume gets the rest."""

import asyncio
import socket

import pytest

from tests.harness import Client, events, running_gateway, stalled_reader, the
from tests.loopback import TIMEOUT
from tests.product import Settings

pytestmark = pytest.mark.anyio


async def test_a_stalled_reader_is_dropped_and_the_turn_goes_on(settings: Settings) -> None:
    """The connection of a reader that stops reading is closed after the send timeout; meanwhile the turn
    completes, and what the reader missed is there for it."""
    large = {"max_answer_size": 16_000_000}
    hasty = settings.model_copy(update={"send_timeout": 1.0, **large})
    async with running_gateway(hasty) as client, asyncio.timeout(TIMEOUT):
        session = await client.session()
        turn = (await client.begin(session, "/fault huge_delta 8"))["turn_id"]
        path = f"/api/sessions/{session}/events?turn_id={turn}"
        with stalled_reader(client.url, path):
            seen = events(await client.all_frames(path))
            while not (dropped := await _dropped(client)):
                await asyncio.sleep(0.1)

    assert the(seen, "done")["status"] == "completed"
    assert dropped[0].endswith(" 1.0")


async def test_a_reader_that_takes_nothing_for_a_while_misses_nothing(settings: Settings) -> None:
    """What comes while its socket is full is there when it reads on: every frame once, in order, and the same
    bytes that another reader got meanwhile."""
    large = settings.model_copy(update={"max_answer_size": 16_000_000})
    async with running_gateway(large) as client, asyncio.timeout(TIMEOUT):
        session = await client.session()
        path = f"/api/sessions/{session}/events"
        with stalled_reader(client.url, path) as connection:
            while not client.app.state.deps.bus.readers:
                await asyncio.sleep(0.01)
            await client.chat("/fault huge_delta 8", session_id=session)
            await client.chat("/pieces 20 /pace 10", session_id=session)
            frames = await client.all_frames(f"{path}?follow=0")
            taken = await asyncio.to_thread(_read_to, connection, frames[-1].raw)

    assert taken.count(b"\nevent: text\n") > 9
    assert b"".join(frame.raw for frame in frames[1:]) == taken[taken.index(frames[1].raw) :]


def _read_to(connection: socket.socket, last: bytes) -> bytes:
    """The body that the connection has got up to the frame `last`."""
    connection.settimeout(TIMEOUT)
    taken = bytearray()
    while last not in taken[-65536 - len(last) :]:
        piece = connection.recv(65536)
        assert piece, "the stream ended early"
        taken += piece
    _, _, chunked = bytes(taken).partition(b"\r\n\r\n")
    body = bytearray()
    while chunked and (at := chunked.find(b"\r\n")) > 0:
        size = int(chunked[:at], 16)
        body += chunked[at + 2 : at + 2 + size]
        chunked = chunked[at + 4 + size :]
    return bytes(body)


async def _dropped(client: Client) -> list[str]:
    metrics = (await client.get("/metrics")).text
    return [line for line in metrics.splitlines() if "disconnects_total" in line and 'reason="slow"' in line]
