"""Connections that break, in every dialect that streams: what a client has in the end is what one has that
was never cut."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple

import httpx2
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.adapters import ENCODERS
from gateway.adapters.turn_fold import Fold
from tests.adapters.plain_clients import ASKING, Request
from tests.adapters.test_turn_fold import turns
from tests.harness import TIMEOUT, Client, running_gateway, text_of
from tests.product import FunctionTool, Settings, StoredEvent, tool

pytestmark = pytest.mark.anyio

GATES = ("before", "behind")
QUESTION = (
    '/call wait {"gate": "before"}\n/then\n/think 让我想想\n/say 你好，李雷。\n/pieces 20\n/pace 2\n'
    '/call wait {"gate": "behind"}\n/then\n/say 再见'
)
CUTS = range(1, 31)
FRAME_END = b"\n\n"


@pytest.mark.parametrize("name", [*ENCODERS])
@given(events=turns(), data=st.data())
def test_how_events_are_cut_into_batches_is_not_seen(
    name: str, events: list[StoredEvent], data: st.DataObject
) -> None:
    """One by one, as live, or in pages of the log: the same bytes."""
    fold, encoder = Fold(), ENCODERS[name]()
    whole = encoder.encode(fold.take(events))

    fold, encoder, cut, taken = Fold(), ENCODERS[name](), b"", 0
    while taken < len(events):
        size = data.draw(st.integers(1, 4))
        cut += encoder.encode(fold.take(events[taken : taken + size]))
        taken += size

    assert cut == whole


class Place(NamedTuple):
    """The running turn, and what asks for it again by its id or its message."""

    turn_id: str
    asked: Request


class Dialect(NamedTuple):
    """How a client comes back: `again` is its request, from the whole frames that it had on, and `told` what
    it makes of those of all its connections. It leaves by itself where it has had `end`."""

    again: Callable[[Place, bytes], tuple[str, Request]]
    told: Callable[[Sequence[bytes]], bytes]
    end: bytes | None = None


def from_the_cursor(place: Place, had: bytes) -> tuple[str, Request]:
    ids = [line for line in had.split(b"\n") if line.startswith(b"id: ")]
    headers = {"last-event-id": ids[-1][4:].decode()} if ids else {}
    return "GET", Request(f"/api/sessions/s/events?turn_id={place.turn_id}", {}, headers)


def from_the_offset(_place: Place, had: bytes) -> tuple[str, Request]:
    controls = [line[6:] for line in had.split(b"\n") if b'"streamNextOffset"' in line]
    offset = orjson.loads(controls[-1])["streamNextOffset"] if controls else "-1"
    return "GET", Request(f"/streams/sessions/s?live=sse&offset={offset}", {}, {})


def from_its_chat(_place: Place, _had: bytes) -> tuple[str, Request]:
    return "GET", Request("/ai-sdk/chat/s/stream", {}, {"x-ai-sdk": "7"})


def with_the_same_request(place: Place, _had: bytes) -> tuple[str, Request]:
    path, body, headers = place.asked
    return "POST", Request(path, body, {**headers, "x-stainless-retry-count": "1"})


def the_last(connections: Sequence[bytes]) -> bytes:
    """It begins anew each time."""
    return connections[-1]


def all_events(connections: Sequence[bytes]) -> bytes:
    """Without the frame that tells where the stream begins."""
    frames = b"".join(connections).split(FRAME_END)
    return FRAME_END.join(frame for frame in frames if b"event: stream_open" not in frame)


def all_messages(connections: Sequence[bytes]) -> bytes:
    """Those that a control frame stands behind: a client forgets the others, and asks for them again."""
    found: list[object] = []
    for connection in connections:
        messages: list[object] = []
        for frame in connection.split(FRAME_END):
            lines = [line[6:] for line in frame.split(b"\n") if line.startswith(b"data: ")]
            if b"event: control" in frame:
                found += messages
                messages = []
            elif lines:
                messages += orjson.loads(b"\n".join(lines))
    return orjson.dumps(found)


DIALECTS = {
    "native": Dialect(from_the_cursor, all_events),
    "durable-streams": Dialect(from_the_offset, all_messages, b'"type":"done"'),
    "a2a": Dialect(with_the_same_request, the_last),
    "ai-sdk": Dialect(from_its_chat, the_last),
    "ag-ui": Dialect(with_the_same_request, the_last),
    "anthropic": Dialect(with_the_same_request, the_last),
    "openai": Dialect(with_the_same_request, the_last),
}


class Gates:
    """A tool whose calls wait until they may go on."""

    def __init__(self) -> None:
        self.reached = {gate: asyncio.Event() for gate in GATES}
        self.opened = {gate: asyncio.Event() for gate in GATES}

    @property
    def tool(self) -> FunctionTool:
        @tool(effect="read_only")
        async def wait(gate: str) -> str:
            """Waits at a gate."""
            self.reached[gate].set()
            await asyncio.wait_for(self.opened[gate].wait(), TIMEOUT)
            return f"经过 {gate}"

        return wait


class Reader:
    """A client of the turn that is cut off behind so many frames, or some way into the last of them."""

    def __init__(self, client: Client, dialect: Dialect, place: Place, frames: int) -> None:
        self.is_back = asyncio.Event()
        self._client = client
        self._dialect = dialect
        self._place = place
        self._frames = frames
        self._had = bytearray()

    async def reads(self, leaves: asyncio.Event) -> bytes:
        """What it makes of its two connections. The first is cut by the time of `leaves`."""
        reading = asyncio.create_task(self._begin())
        leaving = asyncio.create_task(leaves.wait())
        await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        had = bytes(self._had[: self._cut()])
        whole = had[: had.rfind(FRAME_END) + len(FRAME_END)] if FRAME_END in had else b""
        rest = await read(self._client, self._dialect, *self._dialect.again(self._place, whole), self.is_back)
        return self._dialect.told([whole, rest])

    async def _begin(self) -> None:
        method, request = self._dialect.again(self._place, b"")
        async with streamed(self._client, method, request) as response:
            async for chunk in response.aiter_raw():
                self._had += chunk
                if self._had.count(FRAME_END) >= self._frames:
                    return

    def _cut(self) -> int:
        """Where it is cut: behind a frame, within one, or within a character of one."""
        end = inside = 0
        for _ in range(self._frames):
            start, end = end, self._had.find(FRAME_END, end) + len(FRAME_END)
            if end < len(FRAME_END):
                return len(self._had)
            if self._frames % 3 and end - start > 2:
                wide = next((at for at in range(start, end) if self._had[at] >= 0x80), None)
                inside = wide + 1 if self._frames % 3 == 2 and wide is not None else (start + end) // 2
            else:
                inside = end
        return inside


def streamed(client: Client, method: str, request: Request) -> AbstractAsyncContextManager[httpx2.Response]:
    headers = {"accept": "text/event-stream", **request.headers}
    body = request.body if method == "POST" else None
    return client.http.stream(method, request.path, json=body, headers=headers)


async def read(
    client: Client, dialect: Dialect, method: str, request: Request, is_open: asyncio.Event | None = None
) -> bytes:
    """All that the request is answered with."""
    found = b""
    async with streamed(client, method, request) as response:
        assert response.status_code == 200, (await response.aread()).decode()
        if is_open is not None:
            is_open.set()
        async for chunk in response.aiter_raw():
            found += chunk
            if dialect.end is not None and dialect.end in found and found.endswith(FRAME_END):
                break
    return found


@pytest.mark.parametrize("name", [*DIALECTS])
async def test_who_is_cut_off_at_any_frame_has_the_whole_turn_in_the_end(
    settings: Settings, name: str
) -> None:
    """Behind a frame, inside of it, and inside of a character; while the turn goes on."""
    dialect, gates = DIALECTS[name], Gates()
    asked = ASKING.get(name, ASKING["native"])("s", QUESTION, "m-1")
    async with asyncio.timeout(TIMEOUT), running_gateway(settings, gates.tool) as client:
        await client.post("/api/sessions", {"id": "s"})
        never_cut = asyncio.create_task(read(client, DIALECTS["native"], "POST", asked))
        await gates.reached["before"].wait()
        place = Place((await client.events("s"))[0]["turn_id"], asked)
        if name == "durable-streams":  # which only reads
            never_cut = asyncio.create_task(read(client, dialect, *dialect.again(place, b"")))
        readers = [Reader(client, dialect, place, frames) for frames in CUTS]
        reading = [asyncio.create_task(reader.reads(gates.reached["behind"])) for reader in readers]
        gates.opened["before"].set()
        await asyncio.gather(*(reader.is_back.wait() for reader in readers))
        gates.opened["behind"].set()
        whole = dialect.told([await never_cut])
        for told in reading:
            assert await told == whole
        found = await client.events("s")

    assert "你好，李雷。" in text_of(found)
    assert [event["type"] for event in found].count("turn_start") == 1
