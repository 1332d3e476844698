"""`python -m bench.sampled serve …`: the gateway, and where its CPU time goes.

A timer of the process's CPU time interrupts the main thread; what that thread used since the last sample is
charged to the stack it is found in (a sample that another thread's work caused finds next to nothing used).
SIGUSR1 writes what was gathered since the last one to the file that `BENCH_SAMPLES` names: the main thread's
stacks, and each thread's own clock. The timer stands still meanwhile.
"""

import os
import signal
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import orjson

TICK = 0.001
"""Seconds of the process's CPU time between two samples; the kernel may round it up to its own tick, 4 ms."""

Stack = tuple[str, ...]
"""Frames, innermost first, each `module:qualified name`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Seconds of CPU: of the main thread by stack, of the other threads by name; `ended` is what was used by
    those that are not there any more."""

    stacks: dict[Stack, float]
    threads: dict[str, float]
    ended: float

    def written(self) -> bytes:
        stacks = [[*stack, seconds] for stack, seconds in self.stacks.items()]
        return orjson.dumps({"stacks": stacks, "threads": self.threads, "ended": self.ended})

    @staticmethod
    def read(data: bytes) -> "Profile":
        reported = orjson.loads(data)
        stacks = {tuple(stack): seconds for *stack, seconds in reported["stacks"]}
        return Profile(stacks, reported["threads"], reported["ended"])


@dataclass(slots=True)
class Sampler:
    """Belongs to the main thread, which alone gets signals."""

    file: Path
    _stacks: defaultdict[Stack, float] = field(default_factory=lambda: defaultdict(float))
    _names: dict[CodeType, str] = field(default_factory=dict[CodeType, str])
    _last: float = 0
    _process: float = 0
    _threads: dict[threading.Thread, float] = field(default_factory=dict[threading.Thread, float])

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.signal(signal.SIGUSR1, self._report)
        self._reset()

    def _sample(self, _: int, frame: FrameType | None) -> None:
        now = time.thread_time()
        self._stacks[self._stack(frame)] += now - self._last
        self._last = now

    def _stack(self, frame: FrameType | None) -> Stack:
        found: list[str] = []
        while frame is not None:
            code = frame.f_code
            if (name := self._names.get(code)) is None:
                name = self._names[code] = f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}"
            found.append(name)
            frame = frame.f_back
        return tuple(found)

    def _report(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        spent = defaultdict[str, float](float)
        for thread, seconds in clocks().items():
            spent[thread.name] += seconds - self._threads.get(thread, 0)
        main = sum(self._stacks.values())
        ended = time.process_time() - self._process - main - sum(spent.values())
        unfinished = self.file.with_suffix(".part")
        unfinished.write_bytes(Profile(dict(self._stacks), dict(spent), max(ended, 0)).written())
        unfinished.replace(self.file)
        self._reset()

    def _reset(self) -> None:
        self._stacks.clear()
        self._threads = clocks()
        self._process, self._last = time.process_time(), time.thread_time()
        signal.setitimer(signal.ITIMER_PROF, TICK, TICK)


def clocks() -> dict[threading.Thread, float]:
    """The CPU seconds of each living thread but this one, as the kernel counts them (Linux); it does not know
    their names."""
    found = dict[threading.Thread, float]()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            clock = Path(f"/proc/self/task/{thread.native_id}/schedstat")
            with suppress(OSError):  # it ended this moment
                found[thread] = int(clock.read_text(encoding="ascii").split()[0]) / 1e9
    return found


def main() -> None:
    # Not at the top: the sampler sees what it imports.
    Sampler(Path(os.environ["BENCH_SAMPLES"])).start()
    from gateway.cli import main as gateway  # noqa: PLC0415 - as said

    sys.argv[0] = "gateway"
    gateway()


if __name__ == "__main__":
    main()
