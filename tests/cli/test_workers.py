"""Several processes behind one port: started, started again, and stopped together."""

import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.cli.calling import Command
from tests.loopback import TIMEOUT
from tests.running import clean_environment

SAID = {"starts", "serves", "ready", "asked", "orphan"}
WORK = """
import asyncio, os, signal, sys, time
from gateway.cli import workers

workers.FIRST_PAUSE = 0.01

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

async def work(worker):
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: (say("asked", os.getpid()), done.set()))
    worker.when_orphaned(lambda: (say("orphan", os.getpid()), done.set()))
    say("serves", os.getpid(), worker.number)
    worker.tell_ready()
    await done.wait()

worker = workers.become_worker(int(sys.argv[1]), lambda: say("ready"))
if sys.argv[2:] == ["slow"]:
    if worker.number:
        say("starts", os.getpid())
        time.sleep(3600)
elif len(sys.argv) > 2:
    sys.exit(int(sys.argv[2]))
asyncio.run(work(worker))
"""


@dataclass(frozen=True)
class Parent:
    """The process that looks after the workers, and what all of them say."""

    process: subprocess.Popen[str]
    said: Iterator[str]

    def hears(self, kind: str, times: int) -> list[int]:
        """The process ids in the next lines, which are `times` of that kind."""
        words = [next(self.said).split() for _ in range(times)]
        assert {word[0] for word in words} == {kind}
        return [int(word[1]) for word in words if len(word) > 1]


@contextmanager
def parent(*arguments: str) -> Generator[Parent]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, *arguments], stdout=subprocess.PIPE, text=True, env=clean_environment()
    )
    try:
        out: IO[str] | None = process.stdout
        assert out is not None
        with out:
            yield Parent(process, (line for line in out if line.split()[0] in SAID))
    finally:
        process.kill()
        process.wait(TIMEOUT)


def test_all_serve_then_all_stop() -> None:
    """It is ready when the last of them serves; when it is asked to stop, it ends after all of them."""
    with parent("3") as asked:
        serving = asked.hears("serves", 3)
        asked.hears("ready", 1)
        asked.process.send_signal(signal.SIGTERM)
        stopped = asked.hears("asked", 3)
        assert asked.process.wait(TIMEOUT) == 0
    assert sorted(stopped) == sorted(serving)
    assert asked.process.pid not in serving


def test_one_that_dies_is_started_again() -> None:
    """Again and again; the others are left alone."""
    with parent("2") as asked:
        one, two = asked.hears("serves", 2)
        asked.hears("ready", 1)
        for _ in range(3):
            subprocess.run(["kill", "-9", str(one)], check=True)
            (one,) = asked.hears("serves", 1)
        asked.process.send_signal(signal.SIGINT)
        assert sorted(asked.hears("asked", 2)) == sorted([one, two])
        assert asked.process.wait(TIMEOUT) == 0


def test_one_that_takes_the_place_of_another_has_its_number() -> None:
    """And with it the port for its metrics."""
    with parent("3") as asked:
        serving = dict(next(asked.said).split()[:0:-1] for _ in range(3))
        asked.hears("ready", 1)
        subprocess.run(["kill", "-9", serving["1"]], check=True)
        number = next(asked.said).split()[2]
        asked.process.send_signal(signal.SIGTERM)
        asked.hears("asked", 3)
    assert (sorted(serving), number) == (["0", "1", "2"], "1")


def test_a_port_of_each_worker_is_for_several(command: Command) -> None:
    refused = command("serve", "--worker-port", "0", "--port", "0", ANTHROPIC_API_KEY="none")
    assert refused.code == 2
    assert "--workers" in refused.err


def test_what_cannot_start_is_not_tried_again() -> None:
    """The first one tells why, and its exit code is that of the command."""
    with parent("3", "2") as asked:
        assert asked.process.wait(TIMEOUT) == 2
        assert list(asked.said) == []


def test_one_that_is_asked_to_stop_while_it_starts_is_no_failure() -> None:
    """It ends there and then, and those that serve drain as ever."""
    with parent("2", "slow") as asked:
        serving = asked.hears("serves", 1)
        asked.hears("starts", 1)
        asked.process.send_signal(signal.SIGTERM)
        assert asked.hears("asked", 1) == serving
        assert asked.process.wait(TIMEOUT) == 0


def test_workers_end_when_their_parent_is_gone() -> None:
    """Nobody would ask them to stop any more."""
    with parent("2") as asked:
        serving = asked.hears("serves", 2)
        asked.hears("ready", 1)
        asked.process.kill()
        assert sorted(asked.hears("orphan", 2)) == sorted(serving)


def test_a_sqlite_database_takes_no_workers(tmp_path: Path, command: Command) -> None:
    """It says why, and what to do."""
    refused = command("serve", "--workers", "2", "--port", "0", ANTHROPIC_API_KEY="none")
    assert refused.code == 2
    assert "belongs to one process" in refused.err


def test_the_server_is_loaded_before_its_workers_are_forked() -> None:
    """They share what their parent has imported, though wiring looks its names up when they are asked for."""
    wanted = ["assembly", "memory", "skills", "storage"]
    program = f"import gateway.app, sys; print(all('gateway.wiring.' + n in sys.modules for n in {wanted}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert loaded.stdout == "True\n"
