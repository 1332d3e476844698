"""Addresses on this machine that webhooks are posted to, each with a server of its own."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from standardwebhooks.webhooks import Webhook

from tests.loopback import TIMEOUT

STALL = ""
"""An answer that never comes."""


class Receiver:
    """Posts are kept in `posts`. `answers` are given in turn, the last one for ever: a status, with headers
    behind it, one on a line."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.url = ""
        self.answers = list(answers)
        self.posts = asyncio.Queue[tuple[dict[str, str], bytes]]()
        self.open = self.most_open = 0

    async def next(self) -> tuple[dict[str, str], bytes]:
        """Headers and body of the next post."""
        return await asyncio.wait_for(self.posts.get(), TIMEOUT)

    async def told(self, secret: str) -> dict[str, Any]:
        """What the next post says, with its id, its signature checked as receivers do."""
        headers, body = await self.next()
        Webhook(secret).verify(body, headers)
        return {"id": headers["webhook-id"], **orjson.loads(body)}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
            headers = {name.lower(): value for name, _, value in lines}
            body = await reader.readexactly(int(headers["content-length"]))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.posts.put_nowait((headers, body))
            if answer == STALL:
                await reader.read()
                return
            status, *more = answer.splitlines()
            written = [f"HTTP/1.1 {status}", *more, "content-length: 0", "connection: close", "", ""]
            writer.write("\r\n".join(written).encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the sender has left
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def receiving(*answers: str) -> AsyncGenerator[Receiver]:
    """A receiver on a free port, for the length of the context."""
    receiver = Receiver(answers or ["200 OK"])
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    receiver.url = f"http://{host}:{port}/hooks"
    try:
        yield receiver
    finally:
        server.close()
