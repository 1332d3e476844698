"""A name that takes its time holds up nothing but its own fetch."""

import asyncio
import socket
import threading
from collections.abc import Generator
from typing import Any

import pytest

from gateway.errors import ToolTimedOut
from gateway.tools.fetch import names
from gateway.tools.fetch.fetcher import Fetcher
from gateway.tools.fetch.names import MAX_LOOKUPS, SystemNames
from tests.loopback import TIMEOUT
from tests.product import ToolError

pytestmark = pytest.mark.anyio


class System:
    """Answers no name before it may, and knows the threads that wait."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.waiting: list[threading.Thread] = []

    def getaddrinfo(self, *_: Any, **__: Any) -> Any:
        self.waiting.append(threading.current_thread())
        self.may.wait(TIMEOUT)
        raise socket.gaierror


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Generator[System]:
    system = System()
    monkeypatch.setattr(socket, "getaddrinfo", system.getaddrinfo)
    yield system
    system.may.set()
    for thread in system.waiting:
        thread.join()


async def test_slow_names_hold_up_no_other_work(system: System) -> None:
    """However many there are: work in threads begins at once, and the end of the process waits for none."""
    fetcher = Fetcher()
    fetches = [asyncio.create_task(fetcher.get(f"http://h{n}.example.com/")) for n in range(64)]
    while len(system.waiting) < MAX_LOOKUPS:
        await asyncio.sleep(0)

    assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), TIMEOUT / 2) == "done"
    assert len(system.waiting) == MAX_LOOKUPS
    assert all(thread.daemon for thread in system.waiting)

    system.may.set()
    for outcome in await asyncio.gather(*fetches, return_exceptions=True):
        assert isinstance(outcome, ToolError)
        assert "no public web page" in outcome.message
    assert len(system.waiting) == len(fetches)


async def test_a_lookup_that_was_given_up_keeps_its_place(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the system answers: there are never more threads than places."""
    monkeypatch.setattr(names, "LOOKUP_SECONDS", 0.05)
    fetcher = Fetcher()
    for _ in range(2):
        fetches = [fetcher.get(f"http://h{n}.example.com/") for n in range(MAX_LOOKUPS)]
        for outcome in await asyncio.gather(*fetches, return_exceptions=True):
            assert isinstance(outcome, ToolTimedOut)

    assert len(system.waiting) == MAX_LOOKUPS
    assert all(thread.is_alive() for thread in system.waiting)


async def test_a_system_without_threads_is_a_failure_of_the_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    """And takes no place for ever."""

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    look_up = SystemNames()
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", none_left)
        for _ in range(MAX_LOOKUPS + 1):
            with pytest.raises(OSError, match="can't start new thread"):
                await look_up("news.example", 80)

    def found(*_: Any, **__: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    assert await look_up("news.example", 80) == ["1.1.1.1"]
