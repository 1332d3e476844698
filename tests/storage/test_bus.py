"""The bus hands out what is new, never something else, and never lets a reader sleep through news."""

from collections.abc import Sequence

import pytest

from gateway.storage.log.bus import Bus
from gateway.storage.log.topic import EVENT_OVERHEAD
from tests.product import StoredEvent

TAIL = 10 * (EVENT_OVERHEAD + 2)
"""Room for ten of the events below."""


def events(first: int, last: int) -> list[StoredEvent]:
    return [StoredEvent(seq, "text", "t", b"{}") for seq in range(first, last + 1)]


def seqs(found: Sequence[StoredEvent] | None) -> list[int] | None:
    return None if found is None else [event.seq for event in found]


def test_a_live_reader_is_served_from_memory() -> None:
    """Events after the cursor come from the tail, and none when the reader is at its head or beyond."""
    bus = Bus()
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 3))
        bus.publish("s", events(4, 5))

        assert seqs(reader.since(0)) == [1, 2, 3, 4, 5]
        assert seqs(reader.since(3)) == [4, 5]
        assert seqs(reader.since(5)) == seqs(reader.since(9)) == []


def test_readers_are_counted_while_they_read() -> None:
    """Over all sessions, and several of one."""
    bus = Bus()
    with bus.subscribe("s"), bus.subscribe("s"), bus.subscribe("other"):
        assert bus.readers == 3
    assert bus.readers == 0


def test_a_reader_without_a_tail_must_read_the_log_once() -> None:
    """Nothing is known of the session: read, and only then wait."""
    with Bus().subscribe("s") as reader:
        assert reader.since(7) is None
        assert seqs(reader.since(7)) == []


def test_a_reader_that_got_a_page_of_the_log_is_sent_back_for_the_next() -> None:
    """The log may have more: only asking twice from the same place means its end was seen."""
    with Bus().subscribe("s") as reader:
        assert reader.since(0) is None
        assert reader.since(100) is None
        assert seqs(reader.since(100)) == []


def test_what_is_published_while_a_reader_reads_the_log_is_not_missed() -> None:
    """An empty page of the log read before a commit does not put the reader to sleep after it."""
    bus = Bus(tail_bytes=TAIL)
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
    bus = Bus(tail_bytes=TAIL)
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
    bus = Bus(idle_bytes=TAIL)
    for number in range(11):
        bus.publish(f"s{number}", events(1, 1))
    with bus.subscribe("s0") as oldest, bus.subscribe("s10") as newest:
        assert oldest.since(0) is None
        assert seqs(newest.since(0)) == [1]


def test_an_idle_tail_serves_the_next_reader() -> None:
    """A turn's first events, published before its reader came, need no look at the log."""
    bus = Bus()
    bus.publish("s", events(1, 2))
    with bus.subscribe("s") as reader:
        assert seqs(reader.since(0)) == [1, 2]
    with bus.subscribe("s") as reader:
        assert seqs(reader.since(1)) == [2]


def test_a_forgotten_session_leaves_nothing_to_anybody() -> None:
    """After forget neither old nor new readers get its events, and a new session of the id starts over."""
    bus = Bus()
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
    bus = Bus()
    bus.expect("s", 4)
    with bus.subscribe("s") as reader:
        assert reader.since(3) is None
        assert reader.since(4) == ()
        bus.publish("s", events(5, 6))
        assert seqs(reader.since(4)) == [5, 6]


def test_a_tail_never_has_a_gap() -> None:
    """A publication that does not continue the tail replaces it."""
    bus = Bus()
    with bus.subscribe("s") as reader:
        bus.publish("s", events(1, 3))
        bus.publish("s", events(7, 8))
        assert reader.since(2) is None
        assert seqs(reader.since(6)) == [7, 8]


def test_an_observer_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Its exception is logged; other observers and readers get the events."""
    bus = Bus()
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
    bus = Bus()
    seen: list[int] = []

    def broken(published: Sequence[StoredEvent]) -> None:
        raise RuntimeError(f"cannot take {len(published)}")

    with bus.subscribe("s", broken), bus.subscribe("s", lambda new: seen.extend(e.seq for e in new)):
        bus.publish("s", events(1, 2))
        bus.publish("s", ())
    assert seen == [1, 2]
    assert "cannot take 2" in caplog.text


def beside_others() -> Bus:
    return Bus(tail_bytes=TAIL, is_alone=False)


def test_what_others_commit_is_heard_by_readers_and_not_observed() -> None:
    """Who observes has done so in the process that committed it."""
    bus, observed, heard = beside_others(), list[int](), list[int]()
    bus.watch(lambda _, new: observed.extend(event.seq for event in new))
    with bus.subscribe("s", lambda new: heard.extend(event.seq for event in new)) as reader:
        assert reader.since(4) is None
        assert reader.since(4) == ()  # the end of the log: what is committed from now on is told

        assert bus.missing({"s": 6, "of nobody": 9}) == {"s": 4}
        bus.hear("s", events(5, 6))

        assert seqs(reader.since(4)) == heard == [5, 6]
        assert bus.missing({"s": 6}) == {}
    bus.hear("of nobody", events(1, 9))
    assert observed == []


def test_a_head_that_was_left_alone_is_not_trusted() -> None:
    """Others may have written since: the next reader looks into the log first, whatever is remembered."""
    bus = beside_others()
    bus.publish("s", events(1, 10))
    with bus.subscribe("s") as reader:
        assert seqs(reader.since(8)) == [9, 10]
        assert reader.since(10) is None
        assert reader.since(15) is None  # which had five more
        assert reader.since(15) == ()
        assert bus.missing({"s": 16}) == {"s": 15}
    with bus.subscribe("s") as reader:
        assert reader.since(15) is None


def test_a_turn_of_ones_own_needs_no_look_at_the_log() -> None:
    """From its first event on, for as long as nobody else may write."""
    bus = beside_others()
    bus.expect("s", 4)
    for head in (4, 5):
        with bus.subscribe("s") as reader:
            assert bus.followed == []
            assert reader.since(head) == ()
            bus.publish("s", events(head + 1, head + 1))
            assert seqs(reader.since(head)) == [head + 1]
    bus.release("s")
    with bus.subscribe("s") as reader:
        assert bus.followed == ["s"]
        assert reader.since(6) is None


def test_who_comes_to_depend_on_others_is_told_of() -> None:
    """With the first reader of a session that others may write, and when one's own turn of it is over."""
    bus, found = beside_others(), list[str]()
    bus.on_followed(found.append)
    bus.expect("own", 4)
    with bus.subscribe("s"), bus.subscribe("s"), bus.subscribe("own"):
        assert found == bus.followed == ["s"]
        bus.release("own")
        assert found == bus.followed == ["s", "own"]
    bus.release("own")
    assert found == ["s", "own"]


def test_a_turn_of_ones_own_begins_behind_what_others_wrote() -> None:
    """A reader that has not seen that yet looks for it in the log."""
    bus, woken = beside_others(), list[int]()
    bus.publish("s", events(1, 3))
    with bus.subscribe("s", lambda new: woken.append(len(new))) as reader:
        bus.expect("s", 8)
        assert woken == [0]
        assert reader.since(3) is None
        bus.publish("s", events(9, 9))
        assert reader.since(3) is None
        assert seqs(reader.since(8)) == [9]


def test_news_while_a_reader_reads_the_log_sends_it_there_again() -> None:
    """It may have looked a moment too early; the same news a second time is none."""
    bus = beside_others()
    with bus.subscribe("s") as reader:
        assert reader.since(4) is None
        assert bus.missing({"s": 5}) == {}
        assert reader.since(4) is None
        assert bus.missing({"s": 5}) == {}
        assert reader.since(4) == ()


def test_what_was_told_of_a_session_that_nobody_follows_is_remembered() -> None:
    """Also of one that this process believes to own: another has taken it."""
    bus = beside_others()
    bus.expect("s", 4)
    assert bus.missing({"s": 5}) == {}
    with bus.subscribe("s") as reader:
        assert reader.since(4) is None


def test_what_is_heard_and_published_comes_once() -> None:
    """One's own events may be read, behind those of others, before they are published here."""
    bus, heard = beside_others(), list[int]()
    with bus.subscribe("s", lambda new: heard.extend(event.seq for event in new)) as reader:
        assert reader.since(0) is None
        assert reader.since(0) == ()
        bus.hear("s", events(1, 4))
        bus.publish("s", events(2, 3))
        bus.publish("s", events(4, 5))
        bus.hear("s", events(5, 5))
    assert heard == [1, 2, 3, 4, 5]


def test_what_is_heard_late_of_a_session_that_is_gone_is_nobodys() -> None:
    """Its id may be another's by now."""
    bus = beside_others()
    with bus.subscribe("s") as reader:
        assert reader.since(2) is None
        assert reader.since(2) == ()
        assert bus.missing({"s": 3}) == {"s": 2}
        bus.forget("s")
        with bus.subscribe("s") as newcomer:
            bus.hear("s", events(3, 3))
            assert reader.gone
            assert newcomer.since(2) is None
            assert newcomer.since(2) == ()
