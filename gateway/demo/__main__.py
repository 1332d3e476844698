"""python -m gateway.demo: the demo alone. Its first line on stdout is {"url": …}."""

import argparse
import asyncio
import os
import sys

import orjson

from gateway.demo.replies import DEFAULT_PACE
from gateway.demo.server import serve_demo


async def _serve(host: str, port: int, pace: float, window: int | None) -> None:
    async with serve_demo(host, port, pace=pace, window=window) as url:
        sys.stdout.write(orjson.dumps({"url": url}).decode() + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    default_pace = float(os.environ.get("DEMO_PACE", DEFAULT_PACE * 1000))
    parser = argparse.ArgumentParser(
        prog="gateway.demo", description="A deterministic Anthropic-compatible server."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument(
        "--pace", type=float, default=default_pace, help="milliseconds between pieces (DEMO_PACE)"
    )
    parser.add_argument("--window", type=int, help="refuse requests of more tokens as too long")
    given = parser.parse_args()
    try:
        asyncio.run(_serve(given.host, given.port, given.pace / 1000, given.window))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
