"""Programs are started without fork, spoken to, and ended."""

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import gateway
from gateway.child_process import answer_of, start_child
from tests.loopback import TIMEOUT

pytestmark = pytest.mark.anyio

ENV = {"PATH": os.environ["PATH"]}
GATEWAY = Path(gateway.__file__).parent
_STARTS = re.compile(
    r"create_subprocess_\w+|subprocess_exec|multiprocessing|\bPopen\(|os\.fork\w*\(|os\.posix_spawn"
)
_HANDLER = ctypes.CFUNCTYPE(None)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop that the server runs on: it has ways of its own."""
    return "asyncio", {"use_uvloop": True}


async def _pieces(*given: bytes) -> AsyncGenerator[bytes]:
    for piece in given:
        yield piece


async def test_it_is_given_a_content_and_answers() -> None:
    """Of any size, in both directions at a time."""
    script = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1]); sys.exit(3)"
    content = bytes(range(256)) * 4096

    written, code = await answer_of([sys.executable, "-c", script], _pieces(content, b"end"), 2**21, TIMEOUT)

    assert (written, code) == ((content + b"end")[::-1], 3)


@pytest.mark.parametrize(
    "script",
    [
        "import time; time.sleep(1000)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
        "print('x' * 10_000_000)",
        "import sys; sys.stdin.close(); sys.stdout.close(); import time; time.sleep(1000)",
        "import os, sys\nif os.fork() == 0: sys.stdin.read(); sys.exit()\nos._exit(0)",
    ],
    ids=["hangs", "ignores", "floods", "closes", "leaves a child"],
)
async def test_a_program_that_hangs_is_killed(script: str) -> None:
    """In bounded time, and the next one starts as if nothing had been."""
    assert await answer_of([sys.executable, "-c", script], _pieces(b"1"), 1000, 0.5) in {
        (b"", None),
        (b"", 0),
    }
    assert await answer_of([sys.executable, "-c", "print(1)"], _pieces(), 1000, TIMEOUT) == (b"1\n", 0)


async def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    """Nothing of it is left."""
    with pytest.raises(FileNotFoundError):
        await start_child([tmp_path / "none"], ENV)


async def test_it_ends_with_a_caller_that_is_cancelled() -> None:
    """No process is left behind."""
    command = [sys.executable, "-c", "import os; print(os.getpid(), flush=True); os.read(0, 1)"]
    child = await start_child(command, ENV)
    pid = int(await child.stdout.readline())
    assert (pid, child.returncode) == (child.pid, None)
    child.signal(signal.SIGKILL)
    assert await child.wait() == -signal.SIGKILL
    child.close()

    asked = asyncio.create_task(answer_of(command, _endless(), 1000, TIMEOUT))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert [each.name for each in threading.enumerate() if each.name == "child"] == []


async def _endless() -> AsyncGenerator[bytes]:
    while True:
        yield b"1"
        await asyncio.sleep(0.01)


async def test_nothing_forks() -> None:
    """Handlers that libraries have for a fork (pthread_atfork) are not called: numpy's would wait for its
    threads, and never come back while one of them computes."""
    forks: list[int] = []
    handler = _HANDLER(lambda: forks.append(1))
    # In glibc; pthread_atfork itself is linked statically.
    register = ctypes.CDLL(None).__register_atfork
    _kept.append(handler)
    assert register(handler, None, None, None) == 0

    for _ in range(3):
        assert (await answer_of([sys.executable, "-c", ""], _pieces(), 10, TIMEOUT))[1] == 0
    child = await start_child([sys.executable, "-c", ""], ENV, own_group=True, with_stderr=True, cwd="/")
    await child.wait()
    child.close()
    assert forks == []

    # And it would have been noticed: this is what uvloop does.
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    assert forks


_kept: list[object] = []
"""What the C library will call for as long as the process lives."""


def test_no_other_place_starts_programs() -> None:
    """Nor forks, but for the parent of the workers, which has no threads, and no library that has."""
    found = {
        str(file.relative_to(GATEWAY)): found
        for file in sorted(GATEWAY.rglob("*.py"))
        if (found := _STARTS.findall(file.read_text()))
    }
    assert found == {"child_process.py": ["Popen("], "cli/workers.py": ["os.fork("]}

    asked = (
        "import sys, threading, gateway.cli.http_server; "
        "print('numpy' in sys.modules, threading.active_count())"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "False 1\n"


LOAD = """
import asyncio, os, sys, threading
import numpy, uvloop
from gateway.child_process import answer_of

async def main():
    a = numpy.random.rand(600, 600).astype("float32")
    stop = []
    def compute():
        while not stop:
            a @ a
    threads = [threading.Thread(target=compute) for _ in range(4)]
    for each in threads: each.start()
    async def nothing():
        for each in (): yield each
    for _ in range(int(sys.argv[1])):
        if sys.argv[2] == "ours":
            await answer_of([sys.executable, "-S", "-c", ""], nothing(), 10, 60)
        else:
            process = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "")
            await process.wait()
    stop.append(1)
    print("done", flush=True)
    os._exit(0)

with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
"""


async def test_programs_start_while_numpy_computes() -> None:
    """In a process whose threads multiply matrices all the time, as those of the vectors do."""
    pytest.importorskip("numpy")
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", LOAD, "40", "ours"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "4"},
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.stdout == b"done\n", ended.stderr
