"""The bus hands out what is new, never something else, and never lets a reader sleep through news."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events.envelope import StoredEvent
from gateway.storage.base import Subscription
from gateway.storage.bus import EVENT_OVERHEAD, MemoryBus
from tests.loopback import PATIENCE

pytestmark = pytest.mark.anyio

TAIL = 10 * (EVENT_OVERHEAD + 2)
"""Room for ten of the events below."""


def events(first: int, last: int) -> list[StoredEvent]:
    return [StoredEvent(seq, "text", "t", b"{}") for seq in range(first, last + 1)]


def seqs(found: Sequence[StoredEvent] | None) -> list[int] | None:
    return None if found is None else [event.seq for event in found]


def test_a_live_reader_is_served_from_memory() -> None:
    """Events after the cursor come from the tail, and none when the reader is at its head or beyond."""
    bus = MemoryBus()
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 3))
        bus.publish("s", events(4, 5))

        assert seqs(reader.since(0)) == [1, 2, 3, 4, 5]
        assert seqs(reader.since(3)) == [4, 5]
        assert seqs(reader.since(5)) == seqs(reader.since(9)) == []


def test_readers_are_counted_while_they_read() -> None:
    """Over all sessions, and several of one."""
    bus = MemoryBus()
    with bus.subscribe("s"), bus.subscribe("s"), bus.subscribe("other"):
        assert bus.readers == 3
    assert bus.readers == 0


def test_a_reader_without_a_tail_must_read_the_log_once() -> None:
    """Nothing is known of the session: read, and only then wait."""
    with MemoryBus().subscribe("s") as reader:
        assert reader.since(7) is None
        assert seqs(reader.since(7)) == []


def test_a_reader_that_got_a_page_of_the_log_is_sent_back_for_the_next() -> None:
    """The log may have more: only asking twice from the same place means its end was seen."""
    with MemoryBus().subscribe("s") as reader:
        assert reader.since(0) is None
        assert reader.since(100) is None
        assert seqs(reader.since(100)) == []


def test_what_is_published_while_a_reader_reads_the_log_is_not_missed() -> None:
    """An empty page of the log read before a commit does not put the reader to sleep after it."""
    bus = MemoryBus(tail_bytes=TAIL)
    with bus.subscribe("s") as reader:
        assert reader.since(0) is None
        bus.publish("s", events(1, 1))
        assert seqs(reader.since(0)) == [1]
        for seq in range(2, 40):
            bus.publish("s", events(seq, seq))
        assert reader.since(1) is None
        bus.publish("s", events(40, 40))
        assert reader.since(1) is None


def test_the_tail_is_bounded_but_holds_the_whole_last_publication() -> None:
    """The oldest events leave; a burst larger than the bound is still served from memory."""
    bus = MemoryBus(tail_bytes=TAIL)
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 5))
        bus.publish("s", events(6, 20))
        assert reader.since(4) is None
        assert seqs(reader.since(5)) == list(range(6, 21))
        bus.publish("s", events(21, 21))
        assert seqs(reader.since(11)) == list(range(12, 22))
        assert reader.since(10) is None


def test_sessions_that_nobody_follows_share_a_bound() -> None:
    """The longest-idle session's tail leaves first; its reader reads the log."""
    bus = MemoryBus(idle_bytes=TAIL)
    for number in range(11):
        bus.publish(f"s{number}", events(1, 1))
    with bus.subscribe("s0") as oldest, bus.subscribe("s10") as newest:
        assert oldest.since(0) is None
        assert seqs(newest.since(0)) == [1]


def test_an_idle_tail_serves_the_next_reader() -> None:
    """A turn's first events, published before its reader came, need no look at the log."""
    bus = MemoryBus()
    bus.publish("s", events(1, 2))
    with bus.subscribe("s") as reader:
        assert seqs(reader.since(0)) == [1, 2]
    with bus.subscribe("s") as reader:
        assert seqs(reader.since(1)) == [2]


def test_a_forgotten_session_leaves_nothing_to_anybody() -> None:
    """After forget neither old nor new readers get its events, and a new session of the id starts over."""
    bus = MemoryBus()
    bus.publish("idle", events(1, 2))
    bus.forget("idle")
    with bus.subscribe("idle") as reader:
        assert reader.since(0) is None
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 5))
        bus.forget("s")
        assert reader.gone()
        bus.publish("s", events(1, 1))
        assert not reader.since(0)
        with bus.subscribe("s") as newcomer:
            assert not newcomer.gone()
            assert seqs(newcomer.since(0)) == [1]


def test_a_reader_that_has_seen_the_expected_head_waits_without_the_log() -> None:
    """expect tells where the next publication continues, so a turn's first reader asks nobody."""
    bus = MemoryBus()
    bus.expect("s", 4)
    with bus.subscribe("s") as reader:
        assert reader.since(3) is None
        assert reader.since(4) == ()
        bus.publish("s", events(5, 6))
        assert seqs(reader.since(4)) == [5, 6]


def test_a_tail_never_has_a_gap() -> None:
    """A publication that does not continue the tail replaces it."""
    bus = MemoryBus()
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 3))
        bus.publish("s", events(7, 8))
        assert reader.since(2) is None
        assert seqs(reader.since(6)) == [7, 8]


def test_an_observer_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Its exception is logged; other observers and readers get the events."""
    bus = MemoryBus()
    seen: list[tuple[str, int]] = []

    def broken(session_id: str, published: Sequence[StoredEvent]) -> None:
        raise RuntimeError(f"cannot look at {session_id}: {len(published)}")

    bus.watch(broken)
    bus.watch(lambda session_id, published: seen.extend((session_id, event.seq) for event in published))
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 2))
        assert seqs(reader.since(0)) == [1, 2]
    assert seen == [("s", 1), ("s", 2)]
    assert "cannot look at s: 2" in caplog.text


class Log:
    """A log that is as slow as it is told to be: what a read returns is fixed when the read begins."""

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []

    async def read(self, after: int, limit: int, pauses: int) -> list[StoredEvent]:
        found = [event for event in self.events if event.seq > after][:limit]
        for _ in range(pauses):
            await asyncio.sleep(0)
        return found


async def follow(live: Subscription, log: Log, last: int, limit: int, pauses: int) -> list[int]:
    """A reader as base.py describes it."""
    got: list[int] = []
    while not got or got[-1] < last:
        found = live.since(got[-1] if got else 0)
        if found is None:
            found = await log.read(got[-1] if got else 0, limit, pauses)
        elif not found:
            await live.changed.wait()
        got += [event.seq for event in found]
    return got


@given(
    bursts=st.lists(st.integers(1, 15), min_size=1, max_size=12),
    readers=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 20), st.integers(0, 5)), max_size=4),
    pauses=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_every_reader_gets_every_event_once_in_order(
    bursts: list[int], readers: list[tuple[int, int, int]], pauses: list[int]
) -> None:
    """Whenever a reader joins, however slow the log and however small tail and pages: no gap, no repetition,
    and nobody waits for ever."""

    async def story() -> None:
        bus, log, last = MemoryBus(tail_bytes=TAIL), Log(), sum(bursts)

        async def join(at: int, limit: int, slow: int) -> list[int]:
            for _ in range(at):
                await asyncio.sleep(0)
            with bus.subscribe("s") as live:
                return await follow(live, log, last, limit, slow)

        async def write() -> None:
            for burst, pause in zip(bursts, pauses, strict=False):
                new = events(len(log.events) + 1, len(log.events) + burst)
                log.events += new  # durable
                for _ in range(pause):
                    await asyncio.sleep(0)
                bus.publish("s", new)

        async with asyncio.timeout(PATIENCE):
            *found, _ = await asyncio.gather(*(join(*reader) for reader in readers), write())
        assert all(got == list(range(1, last + 1)) for got in found)

    asyncio.run(story())
