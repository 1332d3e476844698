"""A stored session once more, at its own pace or another."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.replay import PAGE, TICK, Pace, replay
from tests.history.past import Past, settings_in, write_past
from tests.product import Storage, StoredEvent, open_storage
from tests.storage.archiving import all_events

pytestmark = pytest.mark.anyio


def at(seq: int, ts: int) -> StoredEvent:
    return StoredEvent(
        seq, "text", "t", b'{"v":1,"seq":%d,"type":"text","ts":%d,"session_id":"s"}' % (seq, ts)
    )


async def replayed(
    storage: Storage,
    *,
    after: int = 0,
    until: int,
    speed: float | None = None,
    max_pause: float = 0,
    stop: asyncio.Event | None = None,
) -> list[StoredEvent]:
    found: list[StoredEvent] = []
    async for events in replay(
        storage.log,
        "s",
        after=after,
        until=until,
        speed=speed,
        max_pause=max_pause,
        stop=stop,
    ):
        found += events
    return found


@pytest.mark.parametrize("speed", [None, 1.0, 1000.0])
async def test_every_event_comes_once_in_order_over_many_pages(tmp_path: Path, speed: float | None) -> None:
    """At any speed the replay is what the log holds, byte for byte."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", [Past("one", ("x",) * PAGE), Past("two", ("y",) * PAGE)])
        log = await storage.log.read("s", after=0, limit=3 * PAGE)

        assert await replayed(storage, until=log[-1].seq, speed=speed) == log
        assert await replayed(storage, after=7, until=PAGE + 20, speed=speed) == log[7 : PAGE + 20]


@given(st.lists(st.integers(-5_000, 10**9), min_size=1, max_size=30), st.sampled_from([0.5, 1.0, 10.0]))
async def test_pauses_are_scaled_and_bounded(gaps: list[int], speed: float) -> None:
    """An event is due the original time after the one before, divided by the speed, and no later than the
    longest pause; a clock that was set back counts as no time at all."""
    times = [10**12]
    for gap in gaps:
        times.append(times[-1] + gap)
    page = [at(seq, ts) for seq, ts in enumerate(times, 1)]
    pace = Pace(speed, max_pause=4.0)

    due = [(events, moment) for events, moment in pace.batches(page)]
    begin = due[0][1]

    assert [event for events, _ in due for event in events] == page
    expected = begin
    wanted = {1: begin}
    for seq, gap in enumerate(gaps, 2):
        expected += min(max(gap, 0) / 1000 / speed, 4.0)
        wanted[seq] = expected
    for events, moment in due:
        assert wanted[events[0].seq] == pytest.approx(moment)
        assert all(wanted[event.seq] - moment < TICK for event in events)


async def test_a_pace_goes_on_from_page_to_page(tmp_path: Path) -> None:
    """The pause before a page's first event is the one since the last event of the page before."""
    pace = Pace(1.0, max_pause=10)

    ((_, first),) = pace.batches([at(1, 1000)])
    ((_, second),) = pace.batches([at(2, 3500)])

    assert second - first == pytest.approx(2.5)


async def test_days_between_turns_do_not_hold_up_a_replay_at_max(tmp_path: Path) -> None:
    """Without a speed nothing waits, however long ago and far apart the events are."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", [Past("one", ("a", "b"), gap=10**9)])
        log = await all_events(storage, "s")

        assert await replayed(storage, until=log[-1].seq, max_pause=3600) == log


async def test_a_replay_that_waits_ends_when_it_is_stopped(tmp_path: Path) -> None:
    """At shutdown a replay in the middle of a long pause ends at once."""
    stop = asyncio.Event()
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", [Past("one", ("a",), gap=10**9)])
        asyncio.get_running_loop().call_later(0.05, stop.set)

        found = await replayed(storage, until=3, speed=1, max_pause=3600, stop=stop)

    assert [event.seq for event in found] == [1]


async def test_a_replay_of_a_session_that_is_gone_ends(tmp_path: Path) -> None:
    """A log that has no more events ends the replay before `until`."""
    async with open_storage(settings_in(tmp_path)) as storage:
        assert await replayed(storage, until=5) == []
