"""The bus hands out what is new, never something else, and never lets a reader sleep through news."""

from collections.abc import Sequence

import pytest

from gateway.events.envelope import StoredEvent
from gateway.storage.log.bus import EVENT_OVERHEAD, MemoryBus

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
        assert reader.gone
        bus.publish("s", events(1, 1))
        assert not reader.since(0)
        with bus.subscribe("s") as newcomer:
            assert not newcomer.gone
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


def test_a_reader_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the one who publishes nor the readers behind it; what it raised is logged."""
    bus = MemoryBus()
    seen: list[int] = []

    def broken(published: Sequence[StoredEvent]) -> None:
        raise RuntimeError(f"cannot take {len(published)}")

    with bus.subscribe("s", broken), bus.subscribe("s", lambda new: seen.extend(e.seq for e in new)):
        bus.publish("s", events(1, 2))
        bus.publish("s", ())
    assert seen == [1, 2]
    assert "cannot take 2" in caplog.text
