"""What appends until it is killed and tells each seq that was acknowledged."""

import asyncio
import sys
from pathlib import Path

from gateway.storage.sqlite import event_rows
from tests.product import Storage
from tests.storage.writing import Writer, accepted, left_open, sqlite_storage, writer_of

SESSIONS: tuple[str, ...] = ("s1", "s2", "s3")


async def append_for_ever(writer: Writer) -> None:
    while True:
        size = writer.head % 5 + 1
        fates = [writer.append("text", sync=writer.head % 3 == 0) for _ in range(size)]
        for fate in fates:
            assert await fate is None
        sys.stdout.write(f"{writer.session_id} {writer.head}\n")
        sys.stdout.flush()


async def writers(storage: Storage) -> list[Writer]:
    taken = await left_open(storage)
    known = {now.turn.session_id for now in taken}
    new = [await accepted(storage, name, f"t_{name}") for name in SESSIONS if name not in known]
    return [writer_of(storage, now) for now in [*taken, *new]]


def append(folder: Path) -> None:
    """Appends to the sessions of the database in this folder, whose events are packed all the time."""
    event_rows.LOOSE_EVENTS = 10
    asyncio.run(_append(folder))


async def _append(folder: Path) -> None:
    async with sqlite_storage(folder) as storage:
        await asyncio.gather(*(append_for_ever(writer) for writer in await writers(storage)))
