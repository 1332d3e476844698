"""The servers under test, each a process of its own on core 0; upstream and client share the other core."""

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.client import GATEWAY, MESSAGES, Dialect
from gateway.settings import load_settings
from tests.loopback import free_port

START_TIMEOUT = 180.0
"""Seconds a server gets until it answers."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. CPU and memory are read from the kernel, all threads included (Linux)."""

    name: str
    pid: int
    port: int
    dialect: Dialect
    folder: Path | None = None
    """Where the gateway keeps its data."""

    def cpu(self) -> float:
        """Seconds of CPU used so far: the kernel's clock of a process, its id made of the pid as
        `clock_getcpuclockid(3)` makes it."""
        return time.clock_gettime(((~self.pid) << 3) | 2)

    def memory(self) -> int:
        """Resident bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def stored(self) -> int:
        """Bytes of the record's database, once what is in its write-ahead log has moved there."""
        assert self.folder is not None
        path = load_settings(data_dir=self.folder).database_path
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            pages, size = (
                connection.execute(f"PRAGMA {it}").fetchone()[0] for it in ("page_count", "page_size")
            )
        return pages * size

    def series(self) -> int:
        """Samples on the gateway's /metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return sum(not line.startswith(b"#") for line in answer)


def pin(pid: int, core: int) -> None:
    """Keeps a process (0: this one) on one core, where the system can."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(pid, {core})


def environment(**own: str) -> dict[str, str]:
    """This process's environment without any setting of the gateway, and `own`."""
    ours = ("GATEWAY_", "ANTHROPIC_", "OTEL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | own


def gateway_settings(upstream: int, folder: Path) -> dict[str, str]:
    """How the gateway is set up: as in production, only quieter."""
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{upstream}",
        "ANTHROPIC_API_KEY": "demo",
        "GATEWAY_DATA_DIR": str(folder),
        "GATEWAY_LOG_LEVEL": "warning",
    }


def spawn(
    arguments: Sequence[str], settings: Mapping[str, str], core: int, log: Path, checkout: str | None = None
) -> subprocess.Popen[bytes]:
    """Starts a module (`checkout`: of the sources there, with the libraries of this environment)."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=environment(**settings),
            stdout=output,
            stderr=output,
            cwd=checkout,  # where Python looks first
        )
    pin(process.pid, core)
    return process


def command(arguments: Sequence[str], settings: Mapping[str, str]) -> None:
    """Runs it to its end.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    told = [sys.executable, "-m", *arguments]
    subprocess.run(told, env=environment(**settings), stdout=subprocess.DEVNULL, check=True)


def cpu_of(arguments: Sequence[str], settings: Mapping[str, str]) -> float:
    """The seconds of CPU that a command takes from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command(arguments, settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wait_until_up(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Returns once `url` answers.

    Raises:
        RuntimeError: the process ended or was too slow; the message has what it printed.
    """
    give_up = time.monotonic() + START_TIMEOUT
    while time.monotonic() < give_up and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    process.kill()
    process.wait()
    raise RuntimeError(f"{process.args!r} does not serve:\n{log.read_text(errors='replace')[-4000:]}")


@contextmanager
def running(
    name: str,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    *,
    dialect: Dialect = MESSAGES,
    core: int = 0,
    path: str = "/healthz",
    folder: Path | None = None,
    checkout: str | None = None,
) -> Generator[Server]:
    """A server process for the time of the context; `{port}` in `arguments` becomes a free port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-") as kept:
        log = Path(kept) / "log"
        process = spawn([part.format(port=port) for part in arguments], settings, core, log, checkout)
        try:
            wait_until_up(process, f"http://127.0.0.1:{port}{path}", log)
            yield Server(name, process.pid, port, dialect, folder)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def upstream() -> Generator[Server]:
    """The upstream, which asked directly is also the floor under every figure."""
    command = ["bench.upstream", "--port", "{port}"]
    with running("direct", command, {}, core=1, path="/v1/messages/count_tokens") as server:
        yield server


@contextmanager
def demo() -> Generator[Server]:
    """The demo model, which can be told to call tools."""
    with running("demo", ["gateway.demo", "--port", "{port}"], {}, core=1) as server:
        yield server


@contextmanager
def relay(client: str, upstream: int) -> Generator[Server]:
    """The bare relay on `httpx2` or `aiohttp`."""
    command = ["bench.relay", "--client", client, "--port", "{port}"]
    settings = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{upstream}"}
    with running(client, command, settings) as server:
        yield server


@contextmanager
def gateway(
    upstream: int,
    name: str = "gateway",
    module: str = "gateway",
    *,
    checkout: str = "",
    **more: str,
) -> Generator[Server]:
    """The gateway in production mode with a data folder of its own, from the sources here or in `checkout`;
    `more` are further settings."""
    with tempfile.TemporaryDirectory(prefix="bench-") as empty:
        folder = Path(more.get("GATEWAY_DATA_DIR", empty))
        settings = gateway_settings(upstream, folder) | more
        command = [module, "serve", "--port", "{port}"]
        with running(
            name, command, settings, dialect=GATEWAY, folder=folder, checkout=checkout or None
        ) as server:
            yield server


@contextmanager
def relaxed(upstream: int) -> Generator[Server]:
    """The gateway that leaves pieces of text to the operating system."""
    with gateway(upstream, "relaxed", GATEWAY_DURABILITY="relaxed") as server:
        yield server


@contextmanager
def untold(upstream: int) -> Generator[Server]:
    """The gateway without telemetry."""
    with gateway(upstream, "untold", "bench.without_telemetry") as server:
        yield server


@contextmanager
def traced(upstream: int) -> Generator[Server]:
    """The gateway that sends metrics and one trace in ten to a collector."""
    collector = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{upstream}", "GATEWAY_TRACE_RATIO": "0.1"}
    with gateway(upstream, "traced", **collector) as server:
        yield server
