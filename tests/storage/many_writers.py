"""A process that remembers things, one transaction each, beside others that do the same.

python -m tests.storage.many_writers FOLDER NAME COUNT

It waits for a line of input, so that several begin at once, and tells each memory that was acknowledged. One
in TOGETHER is something that every process wants to remember.
"""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from gateway.errors import DuplicateMemory
from tests.storage.remembering import memory, remember, sqlite_memories

ROOT = Path(__file__).parent.parent.parent
TOGETHER = 10


@dataclass(frozen=True, slots=True)
class Written:
    """What became of memories that several processes wrote at once: those that were acknowledged and those
    that are there, what all of them wanted once, and how long it took."""

    acknowledged: frozenset[str]
    stored: frozenset[str]
    wanted_by_all: int
    doubled: int
    sound: bool
    seconds: float


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process that is about to write."""
    command = [sys.executable, "-m", "tests.storage.many_writers", str(folder), name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def write_at_once(folder: Path, *, processes: int = 4, each: int = 1000) -> Written:
    """Lets `processes` write `each` memories of one user to a new store in `folder`."""
    running = [writer(folder, f"w{number}", each) for number in range(processes)]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    began = perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    output = [process.communicate()[0].split() for process in running]
    seconds = perf_counter() - began
    assert [process.returncode for process in running] == [0] * processes
    stored, doubled, sound = looked_at(folder / "memory.db")
    return Written(
        frozenset(memory_id for lines in output for memory_id in lines),
        stored,
        len(range(0, each, TOGETHER)),
        doubled,
        sound,
        seconds,
    )


def looked_at(path: Path) -> tuple[frozenset[str], int, bool]:
    """The ids of what is stored, how much of it is there more than once, and whether the file and the search
    index in it are sound."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, digest FROM memories").fetchall()
        (versions,) = connection.execute("SELECT count(*) FROM memory_versions").fetchone()
        (words,) = connection.execute("SELECT count(*) FROM memory_words").fetchone()
        sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')")
    distinct = len({digest for _, digest in rows})
    whole = sound and versions == words == len(rows)
    return frozenset(memory_id for memory_id, _ in rows), len(rows) - distinct, whole


async def main(folder: Path, name: str, count: int) -> None:
    async with sqlite_memories(folder) as store:
        tell("ready")
        await asyncio.to_thread(sys.stdin.readline)
        for number in range(count):
            together = number % TOGETHER == 0
            text = f"we all know {number} 大家都知道" if together else f"{name} knows {number} 自己知道"
            try:
                await remember(store, memory(f"{name}_{number}", text))
            except DuplicateMemory:
                assert together
            else:
                tell(f"{name}_{number}")


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
