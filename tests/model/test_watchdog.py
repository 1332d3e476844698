"""One timer per stream, which only silence sets off."""

import asyncio

import pytest

from gateway.model.watchdog import Watchdog
from tests.loopback import TIMEOUT

pytestmark = pytest.mark.anyio
SOON = 0.02


async def test_silence_sets_it_off_once() -> None:
    """Without progress by the deadline it calls, and never again."""
    fired = asyncio.Event()
    loop = asyncio.get_running_loop()
    calls: list[float] = []

    def expire() -> None:
        calls.append(loop.time())
        fired.set()

    deadline = loop.time() + SOON
    Watchdog(deadline, SOON, expire)
    async with asyncio.timeout(TIMEOUT):
        await fired.wait()
    await asyncio.sleep(3 * SOON)
    assert len(calls) == 1
    assert calls[0] >= deadline


async def test_progress_moves_its_deadline() -> None:
    """It calls a full limit after the last progress, not earlier."""
    fired = asyncio.Event()
    loop = asyncio.get_running_loop()
    watchdog = Watchdog(loop.time() + SOON, SOON, fired.set)
    last = loop.time()
    for _ in range(5):
        await asyncio.sleep(SOON / 4)
        if not fired.is_set():
            last = loop.time()
            watchdog.progress()
    async with asyncio.timeout(TIMEOUT):
        await fired.wait()
    assert loop.time() >= last + SOON


async def test_a_busy_reader_is_not_silence() -> None:
    """Paused it waits for ever; stopped it is gone."""
    fired = asyncio.Event()
    watchdog = Watchdog(asyncio.get_running_loop().time() + SOON, SOON, fired.set)
    watchdog.pause()
    await asyncio.sleep(4 * SOON)
    assert not fired.is_set()
    watchdog.progress()
    async with asyncio.timeout(TIMEOUT):
        await fired.wait()
    stopped = asyncio.Event()
    Watchdog(asyncio.get_running_loop().time() + SOON, SOON, stopped.set).stop()
    await asyncio.sleep(3 * SOON)
    assert not stopped.is_set()
