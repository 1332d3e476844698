"""The end of a process whose tools do not end."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STUCK = """
import asyncio, threading, uvloop
from gateway.errors import ToolTimedOut
from gateway.tools import time_limit
from gateway.tools.base import ToolContext
from gateway.tools.function import tool

time_limit.STOP_TIMEOUT = 0.01

@tool(effect="read_only", timeout=0.01)
def blocked() -> str:
    "Blocks for ever."
    threading.Event().wait()
    return ""

@tool(effect="read_only", timeout=0.01)
async def deaf() -> str:
    "Never ends."
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def main():
    for tool in (blocked, deaf):
        try:
            await time_limit.run_in_time(tool, {}, ToolContext("s", "t", "c", "o", "k", lambda _: None))
        except ToolTimedOut:
            print(tool.spec.name, "timed out", flush=True)

with asyncio.Runner(loop_factory=LOOP) as runner:
    runner.run(main())
"""


@pytest.mark.parametrize("loop", ["uvloop.new_event_loop", "asyncio.new_event_loop"])
def test_a_process_ends_though_calls_of_its_tools_do_not(loop: str) -> None:
    """Neither a thread that blocks for ever nor a task that ignores cancellation holds up the end."""
    ended = subprocess.run(
        [sys.executable, "-c", STUCK.replace("LOOP", loop)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert "blocked timed out" in ended.stdout
    assert "deaf timed out" in ended.stdout
    assert ended.returncode == 0, ended.stderr
