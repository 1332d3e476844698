"""What a turn's trace is called, and who is told that a turn runs here."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ids import root_span_id, trace_id_of
from gateway.turn.observer import CompositeObserver, NullObserver, Tracing, ids_of
from tests.product import StoredEvent, TurnRow

TURN = TurnRow("t", "s", "ann", "running", None, "hi", "m", None, 1, 0, 0, 0, False)
IDS = st.text("abcdefghijklmnopqrstuvwxyzABC0123456789_-", min_size=1, max_size=64)


def test_observers_are_called_in_their_order_and_none_is_one_too() -> None:
    """The same, whether nobody looks or several do."""
    calls: list[tuple[str, str]] = []

    class Noting(NullObserver):
        def __init__(self, name: str) -> None:
            self.name = name

        def replay(self, session_id: str, events: object) -> None:
            calls.append((self.name, session_id))

        def take_up(self, turn: TurnRow) -> None:
            calls.append((self.name, turn.id))

    events = [StoredEvent(1, "text", "t", b"{}")]
    for observer in (
        NullObserver(),
        CompositeObserver(),
        CompositeObserver(Noting("first"), Noting("second")),
    ):
        observer.replay("s", events)
        observer.take_up(TURN)

    assert calls == [("first", "s"), ("second", "s"), ("first", "t"), ("second", "t")]


@given(turn_id=IDS, calls=st.lists(IDS, min_size=2, max_size=2, unique=True))
def test_every_call_has_a_span_of_its_own_in_the_trace_of_its_turn(turn_id: str, calls: list[str]) -> None:
    """In the form of W3C Trace Context, the same whenever it is asked for."""
    tracing, trace_id = Tracing(recorded=True), trace_id_of(turn_id)
    parents = [tracing.traceparent(trace_id, call_id) for call_id in calls]

    assert all(re.fullmatch(rf"00-{trace_id}-[0-9a-f]{{16}}-01", each or "") for each in parents)
    assert parents[0] != parents[1]
    assert parents == [tracing.traceparent(trace_id, call_id) for call_id in calls]


@pytest.mark.parametrize(("recorded", "trace_id"), [(False, "0" * 32), (True, None)])
def test_what_nobody_records_is_not_passed_on(recorded: bool, trace_id: str | None) -> None:
    """A tool's service would look for a trace that is not there."""
    assert Tracing(recorded=recorded).traceparent(trace_id, "c1") is None


def test_the_place_of_a_trace_is_known_where_one_is_set() -> None:
    """The template's other braces stay as they are."""
    assert Tracing().url_of("abc") is None
    assert Tracing(url="http://x/{trace_id}?q={}").url_of("abc") == "http://x/abc?q={}"


def test_a_log_line_names_the_root_span_of_the_turns_trace() -> None:
    """A line is found from the trace, and the trace from a line."""
    found = ids_of(TURN)

    assert (found["session_id"], found["turn_id"]) == ("s", "t")
    assert found["span_id"] == root_span_id(found["trace_id"])
    assert found["trace_id"] == trace_id_of("t")
