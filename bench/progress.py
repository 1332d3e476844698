"""How far a long run is: on a terminal a line that is written over, elsewhere a line a minute."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

OFTEN, SELDOM = 0.5, 60.0
"""Seconds between two lines, on a terminal and elsewhere."""


@asynccontextmanager
async def progress(
    line: Callable[[], str], to: TextIO = sys.stderr, seldom: float = SELDOM
) -> AsyncGenerator[None]:
    """Tells `line()` again and again for the time of the context."""
    over = to.isatty()

    async def tell() -> None:
        while True:
            await asyncio.sleep(OFTEN if over else seldom)
            print(f"\r{line()}\x1b[K" if over else line(), end="" if over else "\n", file=to, flush=True)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        if over:
            print("\r\x1b[K", end="", file=to, flush=True)
