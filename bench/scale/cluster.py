"""A PostgreSQL server of the machine's own packages, in a temporary folder. As in production every commit is
on the disk."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests import postgres
from tests.loopback import free_port

CONFIGURATION = {"max_connections": "200", "shared_buffers": "128MB", "max_wal_size": "4GB"}
STOP_TIMEOUT = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


class Cluster:
    """A server that can be stopped, and started again over the same data. Made by `running`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[Any]
        self._databases = 0

    def start(self) -> None:
        """Returns once it answers."""
        self._process, self.url = postgres.start(self._folder, self.port, CONFIGURATION)

    def database(self) -> str:
        """The address of a new, empty database."""
        self._databases += 1
        name = f"bench_{self._databases}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url.removesuffix("postgres") + name

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: connections are ended. SIGQUIT: at once, as after a crash, so that its log is replayed."""
        self._process.send_signal(how)
        self._process.wait(STOP_TIMEOUT)

    def cpu(self) -> float:
        """Seconds of CPU of all its processes so far, those that ended included (proc(5): utime, stime, and
        of the children that ended cutime and cstime)."""
        ticks = sum(_stat(self._process.pid)[11:15])
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                stat = _stat(int(process.name))
                if stat[1] == self._process.pid:
                    ticks += sum(stat[11:13])
        return ticks / TICKS


def _stat(pid: int) -> list[int]:
    """The fields of /proc/PID/stat behind the name; 0 for the letter of its state."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return [int(field) if field.lstrip("-").isdigit() else 0 for field in text.rpartition(")")[2].split()]


@contextmanager
def running() -> Generator[Cluster]:
    """A fresh server for the time of the context."""
    with tempfile.TemporaryDirectory(prefix="bench-pg-") as folder:
        cluster = Cluster(Path(folder))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
