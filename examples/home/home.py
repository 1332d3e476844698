"""Starts the household: a stand-in of Slack with its page, the gateway, and `gateway slack` between the two.

    python home.py [--slack-port 3999] [--gateway-port 8000]

With a workspace of your own, `gateway dev` and `gateway slack` are all that you start.
"""

import argparse
import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx2
from slack_page import page_routes
from slack_workspace import APP_TOKEN, TOKEN, slack_workspace

HERE = Path(__file__).parent
KNOWN = (
    "Anna likes the bedroom at 17 degrees at night.",
    "丽喜欢客厅的灯是暖色。",
    "The bins are collected on Tuesdays, before seven in the morning.",
    "We live in Berlin: our time zone is Europe/Berlin.",
)
"""What the household knows to begin with."""


async def main(slack_port: int, gateway_port: int) -> None:
    """Until Ctrl-C, SIGTERM, or one of the programs ends."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopped.set)
    gateway_url = f"http://127.0.0.1:{gateway_port}"
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(slack_workspace(1.0, slack_port, page_routes))
        gateway = await started(stack, "dev", "--port", str(gateway_port))
        await remember(gateway_url, gateway)
        program = await started(
            stack,
            "slack",
            SLACK_BOT_TOKEN=TOKEN,
            SLACK_APP_TOKEN=APP_TOKEN,
            GATEWAY_SLACK_API=f"{slack.url}/api/",
            GATEWAY_URL=gateway_url,
        )
        print(f"\n  Slack    {slack.url}\n  Gateway  {gateway_url}\n", flush=True)
        ends = [asyncio.create_task(each) for each in (stopped.wait(), gateway.wait(), program.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


async def started(stack: AsyncExitStack, *arguments: str, **environment: str) -> Process:
    """A `gateway` command that ends when the stack is left."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        *arguments,
        cwd=HERE,
        env={**os.environ, "PATH": path, **environment},
        start_new_session=True,  # Ctrl-C is for this program, which ends the others
    )
    stack.push_async_callback(ended, process)
    return process


async def ended(process: Process) -> None:
    """Stops it."""
    with suppress(ProcessLookupError):
        process.terminate()
    await process.wait()


async def remember(url: str, gateway: Process) -> None:
    """What the household knows, once the gateway is there; what it knows already stays one memory."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        while gateway.returncode is None:
            with suppress(httpx2.TransportError):
                if (await http.get("/readyz")).status_code == 200:
                    break
            await asyncio.sleep(0.1)
        for content in KNOWN:
            memory = {"content": content, "owner_type": "household", "type": "preference"}
            (await http.post("/api/memory", json=memory)).raise_for_status()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--slack-port", type=int, default=3999)
    parser.add_argument("--gateway-port", type=int, default=8000)
    given = parser.parse_args()
    asyncio.run(main(given.slack_port, given.gateway_port))
