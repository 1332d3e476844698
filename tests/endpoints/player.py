"""A server on a socket that plays a response of the collection to whoever asks, whole or broken."""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from tests.endpoints.collection import Response

_EVENT = re.compile(rb".*?(?:\r?\n\r?\n|$)", re.DOTALL)


class Player:
    """`response` is what the next request gets. Only `cut` bytes of it are sent, if that is set; then the
    connection ends, with a reset where `resets`. `slowly`: each byte is a write of its own."""

    def __init__(self, response: Response | None = None) -> None:
        self.response = response
        self.cut: int | None = None
        self.resets = self.slowly = False
        self.url = ""
        self.open = set[asyncio.Task[object]]()

    def wire(self) -> bytes:
        """The bytes of the whole response: a stream in a chunk for each event, else with its length."""
        response = self.response
        assert response is not None
        framed = {"transfer-encoding", "content-length", "connection", "keep-alive"}
        kept = {name: value for name, value in response.headers.items() if name not in framed}
        body = response.body
        if response.streams:
            kept["transfer-encoding"] = "chunked"
            pieces = [piece for piece in _EVENT.findall(response.body) if piece]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        else:
            kept["content-length"] = str(len(body))
        lines = [f"HTTP/1.1 {response.status} X", *(f"{name}: {value}" for name, value in kept.items())]
        return "\r\n".join([*lines, "connection: close", "", ""]).encode() + body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # the client may leave at any time
                await self._answer(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            self.open.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        sent = self.wire()[: self.cut]
        if self.slowly:
            for at in range(len(sent)):
                writer.write(sent[at : at + 1])
                await asyncio.sleep(0)
        else:
            writer.write(sent)
        if self.resets:
            await writer.drain()
            await asyncio.sleep(0.005)  # or what was sent is thrown away with it
            own: socket.socket = writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def with_headers(self, **headers: str) -> None:
        assert self.response is not None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = replace(self.response, headers={**self.response.headers, **named})


@asynccontextmanager
async def playing(response: Response | None = None) -> AsyncGenerator[Player]:
    """A player that listens at its `url`."""
    player = Player(response)
    server = await asyncio.start_server(player.serve, "127.0.0.1", 0)
    player.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield player
    finally:
        server.close()
        await asyncio.gather(*player.open, return_exceptions=True)
