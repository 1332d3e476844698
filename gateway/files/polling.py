"""Looking again at what others change."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from gateway.errors import GatewayError
from gateway.pace import until_next

POLL = 2.0
"""Seconds between two looks at a folder. It is asked, not watched: notifications do not come through network
and bind mounts, nor survive a folder that is replaced; a look at 500 skills takes some 10 ms."""

log = structlog.get_logger(__name__)


async def poll(
    look: Callable[[], Awaitable[object]], failure: str, wake: asyncio.Event | None = None
) -> None:
    """Looks for ever, every POLL seconds and each time `wake` is set. A look that raises one of our errors is
    logged as `failure`, and tried again."""
    wake = wake or asyncio.Event()
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), until_next(POLL))
        wake.clear()
        try:
            await look()
        except GatewayError as error:
            log.warning(failure, code=error.code, error=str(error))
