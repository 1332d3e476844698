"""What many tests share: the event loop's backend, a database, a gateway, and a demo model of their own."""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as examples
from hypothesis.internal.conjecture import providers

from gateway.artifacts.reading import json_path
from gateway.certificates import VARIABLES
from gateway.cli.http_server import COLLECT_AFTER
from tests.blank import copy_blanks
from tests.forked_program import gateway_program
from tests.harness import TIMEOUT, Client, running_gateway, settings_for
from tests.known import remember
from tests.loop_watchdog import holds, watch
from tests.postgres import database_in, drop_databases
from tests.product import Settings, SqliteDatabase, Storage, storage_on
from tests.waiting_group import OPTION, check_groups, distribute, is_left_to_others, put_in_order

ROOT = Path(__file__).parent.parent

for name in VARIABLES:  # each gateway would read the machine's certificates, half of what its start takes
    os.environ.pop(name, None)
copy_blanks()
remember()
watch()

# A shell's background job ignores Ctrl-C, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples for everybody, on however slow a machine. New ones: ARGS="--hypothesis-profile default".
examples.register_profile(
    "repeatable",
    database=None,
    deadline=None,
    derandomize=True,
    print_blob=True,
    # A fixture that serves all examples of a test is meant where it is used.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
examples.load_profile("repeatable")
# Else hypothesis also draws constants from the source of all modules imported by then: other examples for one
# file alone than in the whole suite, and seconds of parsing before the first of them.
assert hasattr(providers, "is_local_module_file")
providers.__dict__["is_local_module_file"] = lambda _path: False  # pyright: ignore[reportUnknownLambdaType]


# Modules and tests stay until the end: looking through all of them for garbage takes half a second each time.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, type=int, default=0, help="processes beside --numprocesses, for files that wait")


def pytest_configure(config: pytest.Config) -> None:
    distribute(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return is_left_to_others(collection_path, config) or None


def pytest_collection_finish() -> None:
    gc.freeze()
    # Rarely, as a gateway does: with Python's own thresholds, it takes a seventh of a run.
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    check_groups(items)
    put_in_order(items, config)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_databases_left() -> Iterator[None]:
    """The databases that a test made on the PostgreSQL server are removed."""
    yield
    drop_databases()


@pytest.fixture(autouse=True)
def _nothing_holds_the_loop() -> Iterator[None]:
    """No step of a gateway that runs in the test's event loop computes for longer than others may wait."""
    holds.clear()
    yield
    found = [*map(str, holds)]
    assert found == [], "The event loop was held"


@pytest.fixture(autouse=True)
def _patient_json_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a process takes long to start; what it costs is bounded by its CPU time."""
    monkeypatch.setattr(json_path, "WALL_SECONDS", TIMEOUT)
    monkeypatch.setattr(json_path, "TIMEOUT", TIMEOUT)


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    """The base URL of a demo model that sends its pieces without waiting (`/pace MS` slows it down)."""
    command = [sys.executable, "-m", "gateway.demo", "--port", "0", "--pace", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ.copy()) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The `gateway` command as a program that a test starts, without what Python takes to start."""
    with gateway_program(tmp_path_factory.mktemp("programs")) as started:
        yield str(started)


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[SqliteDatabase]:
    """A new database."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as opened:
        yield opened


@pytest.fixture
def storage(database: SqliteDatabase) -> Storage:
    """The record in that database; its blobs lie beside it."""
    return storage_on(database)


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path, demo_url: str) -> Settings:
    """A gateway's settings: a folder of its own, and the demo model. `on_both_engines` gives it a database
    on a server in one of two runs."""
    on_server = getattr(request, "param", None) == "postgresql"
    return settings_for(
        tmp_path / "data", demo_url, **({"database_url": database_in(tmp_path)} if on_server else {})
    )


@pytest.fixture
async def client(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """A client of a gateway that runs for the length of the test."""
    async with running_gateway(settings) as client:
        yield client


@pytest.fixture(scope="module")
async def shared_client(
    tmp_path_factory: pytest.TempPathFactory, demo_url: str, anyio_backend: str
) -> AsyncGenerator[Client]:
    """A client of one gateway for those tests of a file that are refused, or do not see each other."""
    async with running_gateway(settings_for(tmp_path_factory.mktemp("shared"), demo_url)) as client:
        yield client
