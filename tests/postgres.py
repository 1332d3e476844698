"""A PostgreSQL server of the tests, started when the first of them asks, and databases that are made quickly.

GATEWAY_TEST_POSTGRES=URL names one that runs already, with a user who may make databases; it is left as it
was. Else it is Debian's, in a folder of its own, which forgets everything.
"""

import atexit
import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from gateway.storage.postgres.migrating import migrate
from tests.emptying import Emptying
from tests.loopback import TIMEOUT, free_port
from tests.product import ServerAddress

Test = TypeVar("Test", bound=Callable[..., Any])

WITHOUT = "GATEWAY_TEST_WITHOUT_POSTGRES"
USER = "postgres"
NOTE = "postgres.url"
"""The file of a folder that says where its database is."""

needs_postgres = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1 leaves it out"),
]
"""The marks of what cannot be without a server: `pytestmark` of a file, `marks` of a parameter."""


def on_postgres(test: Test) -> Test:
    """Marks one test of a file that needs a server."""
    for mark in needs_postgres:
        test = mark(test)
    return test


on_both_engines = pytest.mark.parametrize(
    "settings", ["sqlite", pytest.param("postgresql", marks=needs_postgres)], indirect=True
)
"""Marks a story that is told of a gateway with each engine: the fixture `settings` is that gateway's, and so
is `client`."""

# What a crash of the machine would cost is no test's business.
CONFIGURATION = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "deadlock_timeout": "100ms",
    "jit": "off",
}
_PR_SET_PDEATHSIG = 1

_made: list[str] = []
"""What a test has of its own templates."""
_copies: list[str] = []
"""What it has with today's tables."""
_used: list[str] = []
"""Those of tests before."""


def has_database(folder: Path) -> bool:
    """Whether a database belongs to it already."""
    return (folder / NOTE).exists()


def database_in(folder: Path) -> str:
    """The URL of the database that belongs to a folder: a new one, with today's tables, or the one from
    before. `drop_databases` removes it."""
    note = folder / NOTE
    if not has_database(folder):
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(new_database())
    return note.read_text()


def new_database(template: str | None = None) -> str:
    """The URL of a database of its own with today's tables, or what `template` has."""
    while template is None and _used:
        name = _used.pop()
        if _emptying().emptied(url_of(name)):
            _copies.append(name)
            return url_of(name)
        _drop(name)
    name = f"t_{secrets.token_hex(8)}"
    source = template or _template()
    # A copy of its files takes the server a third of the time of a copy in its log.
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    _administer(copy.format(*map(sql.Identifier, (name, source))))
    (_made if template else _copies).append(name)
    return url_of(name)


def drop_databases() -> None:
    """Removes the databases that were made since, whoever has them open: what has today's tables is emptied
    when the next one is asked for."""
    _used.extend(_copies)
    _copies.clear()
    while _made:
        _drop(_made.pop())


@cache
def _emptying() -> Emptying:
    return Emptying(url_of(_template()))


def _drop(name: str) -> None:
    if _emptying.cache_info().currsize:
        _emptying().forget(url_of(name))
    _administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def url_of(name: str) -> str:
    """The address of a database of the server."""
    return urlsplit(server())._replace(path=f"/{name}").geturl()


@cache
def server() -> str:
    """Where the server is. It ends with this process."""
    running = os.environ.get("GATEWAY_TEST_POSTGRES")
    if running:
        return running
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    process, address = start(folder)
    atexit.register(_stop, process, folder)
    return address


def start(
    folder: Path, port: int | None = None, configuration: Mapping[str, str] = CONFIGURATION
) -> tuple[subprocess.Popen[Any], str]:
    """A server with its data in `folder`, made if it is empty; returns it and its address. Without `port` it
    listens on a free one."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": folder}
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(folder, USER, USER)
        options |= {"user": USER, "group": USER, "extra_groups": []}
    data = folder / "data"
    if not data.exists():
        # Another order than that of the bytes, so that a column that is sorted by a language is found out.
        language = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"]
        making: list[str | Path] = [
            program("initdb"),
            "-D",
            data,
            "-U",
            "gateway",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
            *language,
        ]
        subprocess.run(making, check=True, **options)
    port = port or free_port()
    settings = {**configuration, "port": port, "unix_socket_directories": folder}
    given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command: list[str | Path] = [program("postgres"), "-D", data, *given]
    with (folder / "log").open("ab") as log:
        process: subprocess.Popen[Any] = subprocess.Popen(
            command,
            stderr=log,
            preexec_fn=_dies_with_us(),  # noqa: PLW1509 - a system call alone
            **options,
        )
    address = f"postgresql://gateway@127.0.0.1:{port}/postgres"
    wait_for(address, process)
    return process, address


class OwnServer:
    """A server of one test, which may end it and start it again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process, self.url = start(folder)
        migrate(ServerAddress(self.url))

    def stop(self) -> None:
        """Ends all its connections."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(TIMEOUT)

    def start(self) -> None:
        """At the same address."""
        self._process, _ = start(self._folder, urlsplit(self.url).port)

    def crash(self, backend: int) -> None:
        """One of its processes dies, as when memory is short: it ends all others and recovers by itself."""
        with psycopg.connect(self.url, autocommit=True) as other, suppress(psycopg.OperationalError):
            os.kill(backend, signal.SIGKILL)
            while True:
                other.execute("SELECT pg_sleep(0.01)")
        wait_for(self.url, self._process)


@contextmanager
def own_server() -> Generator[OwnServer]:
    """A new one with today's tables."""
    # Not in the folder of the test run, which another user, such as the one of the server, may not enter.
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        server = OwnServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()


def wait_for(address: str, process: subprocess.Popen[Any] | None = None) -> None:
    """Until the server answers."""
    until = time.monotonic() + TIMEOUT
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            assert time.monotonic() < until, "PostgreSQL does not start"
            assert process is None or process.poll() is None, "PostgreSQL did not start"
            time.sleep(0.02)
        else:
            return


def program(name: str) -> str:
    """Debian keeps them out of the path, one folder for each version."""
    found = shutil.which(name) or max(
        map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), default=None
    )
    if found is None:
        pytest.fail(
            "The storage is tested on PostgreSQL too. Install it (Debian: apt-get install postgresql), name "
            f"one that runs with GATEWAY_TEST_POSTGRES=URL, or leave it out with {WITHOUT}=1.",
            pytrace=False,
        )
    return found


@cache
def _template() -> str:
    """A database with today's tables, which others are copies of."""
    name = f"template_{os.getpid()}"
    _administer(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    migrate(ServerAddress(url_of(name)))
    return name


def _administer(statement: sql.Composed) -> None:
    _administration().execute(statement)


@cache
def _administration() -> psycopg.Connection[Any]:
    """One connection for all of it: the server starts a process for each."""
    connection = psycopg.connect(server(), autocommit=True)
    atexit.register(_leave, connection)
    return connection


def _leave(connection: psycopg.Connection[Any]) -> None:
    """The server as it was: another one than ours goes on."""
    drop_databases()
    for name in (*_used, *([_template()] if _template.cache_info().currsize else [])):
        _drop(name)
    connection.close()


def _stop(process: subprocess.Popen[Any], folder: Path) -> None:
    process.send_signal(signal.SIGQUIT)
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _dies_with_us() -> Callable[[], None] | None:
    """A server whose tests were killed ends too, where the system can do that."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT) and None
