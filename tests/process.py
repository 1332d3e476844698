"""A gateway in a process of its own: what can be killed."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from tests.harness import PATIENCE

ROOT = Path(__file__).parent.parent


@asynccontextmanager
async def gateway_process(data_dir: Path, model_url: str, **env: str) -> AsyncGenerator[tuple[str, Process]]:
    """`gateway serve` on a free port; yields its URL once it answers. Leaving the context ends it by pid."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        "serve",
        "--port",
        "0",
        stdout=PIPE,
        stderr=STDOUT,
        cwd=ROOT,
        env={
            **os.environ,
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "demo",
            "GATEWAY_DATA_DIR": str(data_dir),
            "GATEWAY_LOG_LEVEL": "error",
            **env,
        },
    )  # fmt: skip - a command is read in one line
    try:
        yield await asyncio.wait_for(_url(process), PATIENCE), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def stop(process: Process, how: signal.Signals) -> int:
    """Sends the signal and returns the exit code."""
    process.send_signal(how)
    return await asyncio.wait_for(process.wait(), PATIENCE)


async def _url(process: Process) -> str:
    assert process.stdout is not None
    told = b""
    async for line in process.stdout:
        told += line
        if found := re.search(rb"Page\s+(http://\S+)", line):
            url = found[1].decode()
            async with httpx2.AsyncClient(trust_env=False) as http:
                while (await http.get(f"{url}/healthz")).status_code != 200:
                    await asyncio.sleep(0.02)
            return url
    raise AssertionError(f"the gateway did not start:\n{told.decode()}")
