"""The yardstick: the least a Starlette server can do to pass a model's stream on to a client.

No events, no log, no tools: the bytes that come from the upstream go out. One variant for each HTTP client.
"""

import os
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import aiohttp
import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

UPSTREAM = os.environ.get("ANTHROPIC_BASE_URL", "")
HEADERS = {"content-type": "application/json", "x-api-key": "bench", "anthropic-version": "2023-06-01"}


async def through_httpx2(body: bytes, client: httpx2.AsyncClient) -> AsyncIterator[bytes]:
    async with client.stream("POST", f"{UPSTREAM}/v1/messages", content=body, headers=HEADERS) as answer:
        async for data in answer.aiter_raw():
            yield data


async def through_aiohttp(body: bytes, client: aiohttp.ClientSession) -> AsyncIterator[bytes]:
    async with client.post(f"{UPSTREAM}/v1/messages", data=body, headers=HEADERS) as answer:
        async for data in answer.content.iter_any():
            yield data


async def chat(request: Request) -> Response:
    relay = request.app.state.relay
    return StreamingResponse(relay(await request.body()), media_type="text/event-stream")


async def health(_: Request) -> Response:
    return PlainTextResponse("ok")


def build(client: str) -> Starlette:
    """The relay on `httpx2` or `aiohttp`, without a limit on connections and without timeouts."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        if client == "httpx2":
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
            async with httpx2.AsyncClient(limits=limits, timeout=None) as http:
                app.state.relay = partial(through_httpx2, client=http)
                yield
        else:
            connector = aiohttp.TCPConnector(limit=0)
            timeout = aiohttp.ClientTimeout(total=None)
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
                app.state.relay = partial(through_aiohttp, client=http)
                yield

    return Starlette(
        routes=[Route("/v1/messages", chat, methods=["POST"]), Route("/healthz", health)], lifespan=lifespan
    )


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.relay", description=__doc__)
    parser.add_argument("--client", choices=["httpx2", "aiohttp"], default="httpx2")
    parser.add_argument("--port", type=int, default=8001)
    given = parser.parse_args()
    uvicorn.run(
        build(given.client),
        host="127.0.0.1",
        port=given.port,
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
        backlog=2048,
    )


if __name__ == "__main__":
    main()
