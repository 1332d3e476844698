"""What compresses a session and kills its process at a step."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.history.compressing import session
from tests.history.scripted import summary

STEPS = ("before put", "after put", "asked", "before add", "after add")


class Killing:
    """Something that works, but the process ends at once, before or after `method`."""

    def __init__(self, whole: object, method: str, when: str) -> None:
        self._whole, self._method, self._when = whole, method, when

    def __getattr__(self, name: str) -> Any:
        return self._call if name == self._method else getattr(self._whole, name)

    async def _call(self, *given: Any, **named: Any) -> Any:
        if self._when == "before":
            kill()
        await getattr(self._whole, self._method)(*given, **named)
        kill()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def compress_until(folder: Path, step: str) -> None:
    """Compresses the session in that folder; the process ends at the step."""
    asyncio.run(_compress_until(folder, step))


async def _compress_until(folder: Path, step: str) -> None:
    async with session(folder, summary()) as opened:
        when, _, method = step.partition(" ")
        parts = opened.storage
        if method == "put":
            parts = replace(parts, blobs=Killing(parts.blobs, "put", when))  # pyright: ignore[reportArgumentType]
        elif method == "add":
            parts = replace(parts, compressions=Killing(parts.compressions, "add", when))  # pyright: ignore[reportArgumentType]
        else:
            opened.model.script = [lambda _: kill() or ""]
        await opened.compress(parts)
