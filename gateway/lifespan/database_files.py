"""The files of the databases, watched while the process lives."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from gateway.errors import StorageError
from gateway.memory.services import MemoryServices
from gateway.storage.sqlite_files.file_watch import FileWatch
from gateway.wiring import Storage

LOOK_EVERY = 5.0
"""Seconds between two looks at files, also while nothing is written and nobody asks `/readyz`."""


def database_files(storage: Storage, memory: MemoryServices | None) -> Mapping[str, FileWatch]:
    """The watches over files by what these hold: none where the databases are on a server."""
    found = {"sessions": storage.watch, "memories": memory.watch if memory is not None else None}
    return {holds: watch for holds, watch in found.items() if watch is not None}


async def watch_files(watches: Mapping[str, FileWatch]) -> None:
    """Has the log tell of a file that was replaced or is damaged, until it is cancelled."""
    while True:
        for watch in watches.values():
            with suppress(StorageError):
                watch.look()
        await asyncio.sleep(LOOK_EVERY)
