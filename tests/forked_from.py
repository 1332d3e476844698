"""Imported by the process that others are forked from, so that it has lived through a turn of a gateway: each
of them would load, compile and find out anew what that takes for the first time, two thirds of its CPU."""

import asyncio
import gc
import os
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from gateway.skills import functions
from tests import forked
from tests.blank import copy_blanks
from tests.harness import running_gateway, settings_for
from tests.product import serve_demo
from tests.running import clean_environment

assert __name__ == forked.FORKED_FROM


async def live(folder: Path) -> None:
    """Answers a message and stops."""
    async with serve_demo(pace=0) as model, running_gateway(settings_for(folder, model)) as client:
        await client.chat("hello")


copy_blanks()
environment = dict(os.environ)
os.environ.clear()
os.environ.update(clean_environment())
with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(live(Path(folder)))
os.environ.clear()
os.environ.update(environment)
sys.path.insert(0, "")  # as a command has it
functions.entry_points(group=functions.ENTRY_POINTS)
sys.path.pop(0)
assert threading.active_count() == 1  # others would be missing where it is forked
gc.freeze()
