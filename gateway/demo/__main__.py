"""python -m gateway.demo: the demo alone. Its first line on stdout is {"url": …}."""

import argparse
import asyncio
import os
import sys

import orjson

from gateway.demo.api_versions import VERSIONS
from gateway.demo.endpoint_styles import STYLES
from gateway.demo.reply_plan import DEFAULT_PACE
from gateway.demo.server import serve_demo


async def _serve(given: argparse.Namespace) -> None:
    async with serve_demo(
        given.host,
        given.port,
        pace=given.pace / 1000,
        window=given.window,
        version=given.version,
        key_header=given.key_header,
        style=given.style,
    ) as url:
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
    parser.add_argument("--version", choices=VERSIONS, help="refuse requests for other versions of the API")
    parser.add_argument(
        "--key-header", choices=("bearer", "x-api-key"), help="refuse requests without a key in it"
    )
    parser.add_argument(
        "--as", dest="style", choices=STYLES, help="behave as another server of the Messages API does"
    )
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
