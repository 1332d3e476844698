"""A client that never gives up: one turn over as many connections as it takes, and every byte it was sent."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from gateway.ids import new_session_id

AWAY = (aiohttp.ClientError, ConnectionError, TimeoutError)
"""What a client sees of a server that was killed."""
RETRY = 0.05
"""Seconds until it is tried again."""
TURN_TIMEOUT = 300.0
"""Seconds after which a turn that has not ended is a lost one, restarts on a busy machine included."""
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=2, sock_read=20)


@dataclass(slots=True)
class ReceivedTurn:
    """What the stream of one turn told its reader, over all connections."""

    session_id: str
    message: str
    turn_id: str | None = None
    frames: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0
    status: str | None = None
    problems: list[str] = field(default_factory=list[str])

    @property
    def cursor(self) -> int:
        return seq_of(self.frames[-1]) if self.frames else 0


class Reader:
    """Holds one session and takes its turns one after the other. Each request goes to any of `urls`."""

    def __init__(
        self,
        http: aiohttp.ClientSession,
        urls: Sequence[str],
        chance: random.Random,
        *,
        drops_after: tuple[float, float] | None = None,
    ) -> None:
        """With `drops_after` it drops each connection after a time between these two, in seconds."""
        self.http, self.urls, self.chance, self.drops_after = http, urls, chance, drops_after
        self.session_id = new_session_id()
        self.turns: list[ReceivedTurn] = []
        self.reads_from: str | None = None
        """One of `urls`, while a turn is read there."""

    @property
    def url(self) -> str:
        """Where the next request goes."""
        return self.chance.choice(self.urls)

    async def take_turn(self, message: str, *, cancel_after: float | None = None) -> ReceivedTurn:
        """Asks and reads until `done`; with `cancel_after` it presses Stop after so many seconds."""
        turn = ReceivedTurn(self.session_id, message)
        self.turns.append(turn)
        stop = asyncio.create_task(self._stop(turn, cancel_after)) if cancel_after is not None else None
        request_id = f"m_{len(self.turns)}"
        give_up = time.monotonic() + TURN_TIMEOUT
        while turn.status is None:
            if time.monotonic() > give_up:
                turn.status = "lost"
                turn.problems.append(f"turn {turn.turn_id} has no end after {TURN_TIMEOUT:g} s")
            drop = self.chance.uniform(*self.drops_after) if self.drops_after is not None else None
            try:
                async with asyncio.timeout(drop):
                    await (self._resume(turn) if turn.turn_id else self._ask(turn, request_id))
            except AWAY:
                await asyncio.sleep(RETRY)
        if stop is not None:
            stop.cancel()
        return turn

    async def replay(self) -> list[bytes]:
        """The frames of the whole session, from the first event on."""
        url = f"{self.url}/api/sessions/{self.session_id}/events?follow=0"
        async with self.http.get(url, headers={"accept": "text/event-stream"}, timeout=TIMEOUT) as answer:
            return [frame async for frame in frames(answer)]

    async def _ask(self, turn: ReceivedTurn, client_message_id: str) -> None:
        """The POST, whose stream is read as long as it lasts; asked twice it names the same turn."""
        body = {
            "message": turn.message,
            "session_id": turn.session_id,
            "client_message_id": client_message_id,
        }
        headers = {"accept": "text/event-stream"}
        async with self.http.post(
            f"{self.url}/api/chat", json=body, headers=headers, timeout=TIMEOUT
        ) as answer:
            await self._read(answer, turn)

    async def _resume(self, turn: ReceivedTurn) -> None:
        url = f"{self.url}/api/sessions/{turn.session_id}/events?turn_id={turn.turn_id}"
        headers = {"accept": "text/event-stream", "last-event-id": str(turn.cursor)}
        async with self.http.get(url, headers=headers, timeout=TIMEOUT) as answer:
            await self._read(answer, turn)

    async def _read(self, answer: aiohttp.ClientResponse, turn: ReceivedTurn) -> None:
        if answer.status == 503:
            await asyncio.sleep(RETRY)
            return
        if answer.status != 200:
            turn.problems.append(
                f"{answer.method} {answer.url}: {answer.status} {(await answer.text())[:300]}"
            )
            turn.status = "lost"
            return
        turn.connections += 1
        self.reads_from = str(answer.url.origin())
        try:
            async for frame in frames(answer):
                turn.frames.append(frame)
                event = body_of(frame)
                turn.turn_id = event["turn_id"]
                if event["type"] == "done":
                    turn.status = event["data"]["status"]
        finally:
            self.reads_from = None

    async def _stop(self, turn: ReceivedTurn, delay: float) -> None:
        await asyncio.sleep(delay)
        while turn.status is None:
            if turn.turn_id is not None:
                url = f"{self.url}/api/sessions/{turn.session_id}/turns/{turn.turn_id}/cancel"
                try:
                    async with self.http.post(url, timeout=TIMEOUT) as answer:
                        await answer.read()
                    return
                except AWAY:
                    pass
            await asyncio.sleep(RETRY)


async def frames(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The complete frames of logged events, as they came; a frame that is cut off is not one."""
    rest = b""
    async for data in answer.content.iter_any():
        *complete, rest = (rest + data).split(b"\n\n")
        for frame in (each.lstrip(b":\n") for each in complete):  # heartbeats are lines before a frame
            if frame.startswith(b"id: ") and b"event: stream_open\n" not in frame:
                yield frame


def seq_of(frame: bytes) -> int:
    return int(frame.partition(b"\n")[0].removeprefix(b"id: "))


def body_of(frame: bytes) -> dict[str, Any]:
    return orjson.loads(frame.partition(b"\ndata: ")[2])
