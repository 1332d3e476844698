"""What a test serves on loopback."""

import asyncio
import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from starlette.types import ASGIApp

TIMEOUT = 180.0
"""Seconds after which a test that waits has found a bug."""


@asynccontextmanager
async def served(
    app: ASGIApp, port: int = 0, *, lifespan: bool = True, patient: bool = False, http: Any = "auto"
) -> AsyncGenerator[str]:
    """The application in this event loop, at this URL; `http` is uvicorn's setting. When the context is left,
    responses that are under way end by themselves if the server is `patient`, else they are soon cancelled.

    uvicorn's `serve` would look ten times a second whether it should end, and then wait as long again.
    """
    config = uvicorn.Config(
        app,
        port=port,
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        ws="none",
        proxy_headers=False,  # as the command serves it
        http=http,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    await server.on_tick(0)  # makes the headers that every response has
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        for listening in server.servers:
            listening.close()
        under_way = server.server_state
        for connection in list(under_way.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(TIMEOUT if patient else 0.1):
                while under_way.connections or under_way.tasks:
                    await asyncio.sleep(0.002)
        except TimeoutError:
            if patient:
                raise
            for task in list(under_way.tasks):
                task.cancel()
        await server.lifespan.shutdown()


def free_port() -> int:
    """A port that nobody listens on, for a program that cannot choose one itself or comes back to it. It is
    none of those that the system chooses (ip(7): from 32768 on), which another may get meanwhile."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port := 20_000 + secrets.randbelow(12_000)))
            return port
