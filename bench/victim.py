"""The gateway as a victim: killed, cut off from its power, and started again over the same data."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import httpx2

from bench import servers
from tests.disk import Disk, power_cut
from tests.forked import forked
from tests.harness import client_at
from tests.loopback import TIMEOUT, free_port
from tests.running import run_command


class Victim:
    """The gateway's process, started again and again over the same data."""

    def __init__(self, model_port: int, folder: Path, synced: Path | None = None, **more: str) -> None:
        """With `synced` its disk is one that may lose its power; `more` are further settings."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.folder, self.synced = folder, synced
        # So little that what search_docs finds is kept aside.
        own = {"GATEWAY_ARTIFACT_TOKENS": "500"}
        self.settings = servers.gateway_settings(model_port, folder) | own | more
        self.process: ForkServerProcess | None = None

    async def start(self) -> None:
        """Raises RuntimeError: it ended or was too slow; the message has what it printed."""
        given = (["serve", "--port", str(self.port)], servers.environment(**self.settings), self.log)
        self.process = forked(_serve, *given, self.folder, self.synced)
        until = time.monotonic() + TIMEOUT
        async with client_at(self.url) as client:
            while time.monotonic() < until and self.process.is_alive():
                with suppress(httpx2.TransportError):
                    await client.get("/healthz")
                    return
                await asyncio.sleep(0.02)
        raise RuntimeError(f"It does not serve:\n{self.log.read_text(errors='replace')[-4000:]}")

    async def end(self, how: signal.Signals) -> None:
        if self.process is not None and self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, how)
            await asyncio.to_thread(self.process.join, TIMEOUT)

    def send(self, how: signal.Signals) -> None:
        """Does not wait for what comes of it."""
        if self.process is not None and self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, how)

    async def cut_power(self) -> None:
        """Ends it, and with it what was not synced."""
        assert self.synced is not None
        await self.end(signal.SIGKILL)
        await asyncio.to_thread(power_cut, self.folder, self.synced)


def _serve(
    arguments: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path, synced: Path | None
) -> None:
    with nullcontext() if synced is None else Disk(folder, synced).plugged_in():
        run_command(folder, arguments, environment, log)
