"""A bare HTTP client: what the demo really puts on the wire, and how the connection ends."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gateway.demo.api_versions import NEWEST
from tests.loopback import TIMEOUT


@dataclass(frozen=True)
class Received:
    """Everything that came back: `raw` with the head, `body` without head and chunks, `ended` as one of
    "complete", "closed" (before its end) and "reset"."""

    raw: bytes
    ended: str

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1]) if self.raw.startswith(b"HTTP/1.1 ") else 0

    @property
    def body(self) -> bytes:
        head, _, rest = self.raw.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" not in head:
            return rest
        found = bytearray()
        at = 0
        while at < len(rest):
            line = rest.index(b"\r\n", at)
            size = int(rest[at:line], 16)
            found += rest[line + 2 : line + 2 + size]
            at = line + 2 + size + 2
        return bytes(found)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a well-formed stream."""
        lines = self.body.decode().split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]

    @property
    def text(self) -> str:
        deltas = [event["delta"] for event in self.events if event["type"] == "content_block_delta"]
        return "".join(delta["text"] for delta in deltas if delta["type"] == "text_delta")


def request_of(body: object, *, method: str = "POST", path: str = "/v1/messages", **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"content-length: {len(content)}"]
    headers = {"host": "127.0.0.1", "x_api_key": "demo", "anthropic_version": NEWEST, **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def ask(text: str, **changes: Any) -> dict[str, Any]:
    """A request body with one question."""
    messages = [{"role": "user", "content": text}]
    return {"model": "demo", "max_tokens": 4096, "stream": True, "messages": messages, **changes}


async def fetch(url: str, body: object, **given: str) -> Received:
    """Sends one request to the demo at `url` (a body, with the arguments of `request_of`) and reads until the
    response or the connection ends."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=2**24)
    try:
        writer.write(request_of(body, **given))
        return await read(reader)
    finally:
        writer.close()


async def read(reader: asyncio.StreamReader) -> Received:
    raw = bytearray()
    try:
        while not _complete(raw):
            data = await asyncio.wait_for(reader.read(2**20), TIMEOUT)
            if not data:
                return Received(bytes(raw), "closed")
            raw += data
    except ConnectionResetError:
        return Received(bytes(raw), "reset")
    return Received(bytes(raw), "complete")


def _complete(raw: bytearray) -> bool:
    end = raw.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(raw[:end])
    if b"chunked" in head:
        return raw.endswith(b"0\r\n\r\n", end + 4)  # a head may end in 0, too
    sizes = [line for line in head.split(b"\r\n") if line.startswith(b"content-length: ")]
    return bool(sizes) and len(raw) - end - 4 >= int(sizes[0][16:])
