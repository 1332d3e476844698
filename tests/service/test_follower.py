"""Followers hand on every event once and in order, whatever one of their readers does."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.service.follower import Follower, StreamRange, Take
from gateway.storage.log.bus import Bus
from gateway.storage.log.event_log import EventLog
from gateway.storage.log.topic import EVENT_OVERHEAD
from tests.loopback import TIMEOUT
from tests.product import StorageError, StoredEvent

pytestmark = pytest.mark.anyio

TAIL = 10 * (EVENT_OVERHEAD + 2)
"""Room for ten of the events below."""


def events(first: int, last: int) -> list[StoredEvent]:
    return [StoredEvent(seq, "text", "t", b"{}") for seq in range(first, last + 1)]


class Log:
    """A log that is as slow as it is told to be: what a read returns is fixed when the read begins."""

    def __init__(self, limit: int = 500, pauses: int = 0) -> None:
        self.events: list[StoredEvent] = []
        self._limit = limit
        self._pauses = pauses

    async def read(self, session_id: str, *, after: int, **_: object) -> list[StoredEvent]:
        found = [event for event in self.events if event.seq > after][: self._limit]
        for _turn in range(self._pauses):
            await asyncio.sleep(0)
        return found


def follower(
    bus: Bus, log: Log, take: Take, *, trouble: Callable[[], StorageError | None] = lambda: None
) -> Follower:
    place = StreamRange("s", 0, 0)
    return Follower(place, take, bus=bus, events=cast("EventLog", log), trouble=lambda _: trouble())


@asynccontextmanager
async def waiting(*followers: Follower) -> AsyncGenerator[list[asyncio.Task[None]]]:
    """The tasks of these, which have come to the end of the log."""
    async with asyncio.timeout(TIMEOUT):
        tasks = [asyncio.create_task(each.run()) for each in followers]
        for _ in range(9):
            await asyncio.sleep(0)
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


class Reader:
    """Takes events, and waits before each as long as it is `shut`, as for a socket that is full."""

    def __init__(self) -> None:
        self.got: list[int] = []
        self.open = asyncio.Event()
        self.open.set()

    async def take(self, events: Sequence[StoredEvent]) -> None:
        await self.open.wait()
        self.got += [event.seq for event in events]


@given(
    bursts=st.lists(st.integers(1, 15), min_size=1, max_size=12),
    readers=st.lists(
        st.tuples(
            st.integers(0, 12), st.integers(1, 20), st.integers(0, 5), st.lists(st.integers(0, 2), max_size=9)
        ),
        max_size=4,
    ),
    pauses=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_every_reader_gets_every_event_once_in_order(
    bursts: list[int], readers: list[tuple[int, int, int, list[int]]], pauses: list[int]
) -> None:
    """Whenever a reader joins, however slow the log and its own client, and however small tail and pages: no
    gap, no repetition, and nobody waits for ever."""

    async def story() -> None:
        bus, written, last = Bus(tail_bytes=TAIL), Log(), sum(bursts)

        async def join(at: int, limit: int, slow: int, waits: list[int]) -> list[int]:
            for _ in range(at):
                await asyncio.sleep(0)
            got: list[int] = []
            left = iter(waits)
            log = Log(limit, slow)
            log.events = written.events

            async def take(events: Sequence[StoredEvent]) -> None:
                for _ in range(next(left, 0)):
                    await asyncio.sleep(0)
                got.extend(event.seq for event in events)
                if got[-1] == last:
                    one.close()

            one = follower(bus, log, take)
            await one.run()
            return got

        async def write() -> None:
            for burst, pause in zip(bursts, pauses, strict=False):
                new = events(len(written.events) + 1, len(written.events) + burst)
                written.events += new  # durable
                for _ in range(pause):
                    await asyncio.sleep(0)
                bus.publish("s", new)

        async with asyncio.timeout(TIMEOUT):
            *found, _ = await asyncio.gather(*(join(*reader) for reader in readers), write())
        assert all(got == list(range(1, last + 1)) for got in found)

    asyncio.run(story())


async def test_who_waits_is_served_by_the_publication_itself() -> None:
    """Without a turn of the event loop between, one publication in one piece."""
    bus, reader = Bus(), Reader()
    async with waiting(follower(bus, Log(), reader.take)):
        bus.publish("s", events(1, 3))
        assert reader.got == [1, 2, 3]
        bus.publish("s", events(4, 4))
        assert reader.got == [1, 2, 3, 4]


async def test_a_reader_that_takes_nothing_gets_all_of_it_later() -> None:
    """In order and once; others get theirs meanwhile."""
    bus, shut, other = Bus(), Reader(), Reader()
    shut.open.clear()
    async with waiting(follower(bus, Log(), shut.take), follower(bus, Log(), other.take)):
        for seq in range(1, 9):
            bus.publish("s", events(seq, seq))
            await asyncio.sleep(0)
        assert (shut.got, other.got) == ([], list(range(1, 9)))

        shut.open.set()
        while len(shut.got) < 8:
            await asyncio.sleep(0)
        bus.publish("s", events(9, 9))
        assert shut.got == other.got == list(range(1, 10))


async def test_a_reader_that_fails_in_a_publication_ends_alone() -> None:
    """Its own task raises what it raised; whoever publishes and the other readers notice nothing."""
    bus, other = Bus(), Reader()

    async def broken(events: Sequence[StoredEvent]) -> None:
        raise RuntimeError(f"cannot take {len(events)}")

    async with waiting(follower(bus, Log(), broken), follower(bus, Log(), other.take)) as (failing, _):
        bus.publish("s", events(1, 1))
        bus.publish("s", events(2, 2))
        with pytest.raises(RuntimeError, match="cannot take 1"):
            await failing

    assert other.got == [1, 2]


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_reader_can_be_cancelled_in_the_middle_of_a_send(*, at_once: bool) -> None:
    """Also before its task has heard of it: the send is ended there, and not finished later."""
    bus, reader, ended = Bus(), Reader(), list[str]()
    reader.open.clear()

    async def take(events: Sequence[StoredEvent]) -> None:
        try:
            await reader.take(events)
        finally:
            ended.append("send")

    async with waiting(follower(bus, Log(), take)) as (task,):
        bus.publish("s", events(1, 1))
        if not at_once:
            for _ in range(3):
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reader.open.set()
        bus.publish("s", events(2, 2))

    assert (reader.got, ended, bus.readers) == ([], ["send"], 0)


async def test_a_gap_is_read_from_the_log() -> None:
    """A publication that does not continue where the reader stands is no reason to skip anything."""
    bus, log, reader = Bus(tail_bytes=TAIL), Log(), Reader()
    async with waiting(follower(bus, log, reader.take)):
        log.events += events(1, 7)
        bus.publish("s", events(6, 7))
        while len(reader.got) < 7:
            await asyncio.sleep(0)

    assert reader.got == list(range(1, 8))


async def test_who_waits_hears_of_trouble_and_of_the_end() -> None:
    """An empty publication has the reader look again, and `close` ends it."""
    bus, troubles = Bus(), list[StorageError]()
    troubled = follower(bus, Log(), Reader().take, trouble=lambda: next(iter(troubles), None))
    closed = follower(bus, Log(), Reader().take)
    async with waiting(troubled, closed) as (failing, ending):
        troubles.append(StorageError("full"))
        bus.publish("s", ())
        with pytest.raises(StorageError, match="full"):
            await failing
        closed.close()
        await ending
