"""`python -m bench.counted serve …`: the gateway, and what it does, counted instead of timed.

SIGUSR1 writes what was counted since the last one to the file that `BENCH_COUNTS` names, as JSON: the Python
functions called on the main thread, each by its name too (a coroutine that goes on after a wait is called
again), how many of them were coroutines or generators, the SQL statements and committed transactions of all
connections, and the system calls that read or wrote (Linux). Counting stands still meanwhile.
"""

import cProfile
import inspect
import os
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from sqlite3 import dbapi2
from types import CodeType
from typing import Any

import orjson

RESUMED = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR


class Counts:
    """Counts on the thread that made it, which is the main one, and on every connection opened later."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.statements = self.transactions = self.system_calls = 0
        self._profile = cProfile.Profile(builtins=False)

    def start(self) -> None:
        open_connection, count = sqlite3.connect, self._statement

        def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = open_connection(*arguments, **options)
            connection.set_trace_callback(count)
            return connection

        sqlite3.connect = dbapi2.connect = connect
        signal.signal(signal.SIGUSR1, self._report)
        self._profile.enable()

    def _statement(self, words: str) -> None:
        if words.startswith("COMMIT"):
            self.transactions += 1
        elif not words.startswith(("BEGIN", "ROLLBACK", "--")):
            self.statements += 1

    def _report(self, *_: object) -> None:
        self._profile.disable()
        calls = resumed = 0
        functions = Counter[str]()
        for entry in self._profile.getstats():
            calls += entry.callcount
            if not isinstance(entry.code, str):
                resumed += entry.callcount if entry.code.co_flags & RESUMED else 0
                functions[name_of(entry.code)] += entry.callcount
        system_calls = read_and_written()
        counts = {
            "calls": calls,
            "coroutine steps": resumed,
            "statements": self.statements,
            "transactions": self.transactions,
            "reads and writes": system_calls - self.system_calls,
            "functions": functions,
        }
        unfinished = self.file.with_suffix(".part")
        unfinished.write_bytes(orjson.dumps(counts))
        unfinished.replace(self.file)
        self.statements = self.transactions = 0
        self.system_calls = read_and_written()
        self._profile.clear()
        self._profile.enable()


def name_of(code: CodeType) -> str:
    """Where a function stands, and its name."""
    parts = Path(code.co_filename).with_suffix("").parts
    packages = [at for at, part in enumerate(parts) if part in {"gateway", "site-packages"}]
    module = ".".join(parts[packages[-1] if packages else -1 :]).removeprefix("site-packages.")
    return f"{module}:{code.co_qualname}"


def read_and_written() -> int:
    """How many system calls of this process read or wrote (proc_pid_io(5)); 0 where no kernel says."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("syscr:", "syscw:")))


def main() -> None:
    # Not at the top: connections are counted from the first one on.
    Counts(Path(os.environ["BENCH_COUNTS"])).start()
    from gateway.cli import main as gateway  # noqa: PLC0415 - as said

    sys.argv[0] = "gateway"
    gateway()


if __name__ == "__main__":
    main()
