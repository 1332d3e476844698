"""Tools that tell which process ran them, for replicas that take over from each other."""

import asyncio
import os
from pathlib import Path

from gateway.tools.function import tool

TOLD, SECONDS = "REPLICA_TOOLS_TELL", "REPLICA_TOOLS_TAKE"
"""Variables: the file to which each run adds the tool and its process; the seconds that `think` takes."""


@tool(effect="idempotent")
async def think() -> str:
    """Takes its time."""
    _tell("think")
    await asyncio.sleep(float(os.environ[SECONDS]))
    return "thought"


@tool(effect="effectful")
def act() -> str:
    """Does something that must not be done twice."""
    _tell("act")
    return "acted"


def _tell(name: str) -> None:
    with Path(os.environ[TOLD]).open("a", encoding="utf-8") as file:
        file.write(f"{name} {os.getpid()}\n")
