"""How the observer follows turns that wait for a person: few at a time, and from wherever they go on."""

import pytest

from gateway.telemetry import observer as observing
from gateway.telemetry.observer import Observer
from tests.telemetry.recording import Record
from tests.telemetry.story import HOUR, Story, with_approval


def waiting(turn_id: str = "t_1") -> Story:
    """A turn as far as its wait for a person: six events of an unanswered question, and a search's result."""
    story = with_approval(turn_id)
    del story.events[7:]
    return story


def test_a_turn_goes_on_where_it_waited() -> None:
    """What the log recalls is known already, and nothing is told twice."""
    observer = Observer([record := Record()])
    whole = with_approval()

    observer.observe("s_1", whole.events[:7])
    observer.replay("s_1", whole.events[:4])
    observer.replay("s_1", whole.events[4:7])
    observer.expect("t_1", "ada")
    observer.observe("s_1", whole.events[7:])

    assert record.lines == [
        "t_1 started",
        "call 1 ended",
        "send asked",
        "search_docs ok",
        "send approved by user",
        "send ok",
        "call 2 ended",
        "t_1 completed",
    ]


def test_a_waiting_turn_that_is_let_go_is_left_and_goes_on_from_the_log() -> None:
    """It has not ended: who takes it up again knows it from its first event, however often that is read."""
    observer = Observer([record := Record()], turn_age_ms=HOUR)
    whole = with_approval()

    observer.observe("s_1", whole.events[:7])
    observer.observe("s_2", Story("t_other", at=whole.at + HOUR).begin().events)
    assert record.lines[4:] == ["t_1 left", "t_other started"]
    for _ in range(2):
        observer.replay("s_1", whole.events[:4])
        observer.replay("s_1", whole.events[4:7])
    observer.observe("s_1", whole.events[7:])

    assert record.lines[6:] == [
        "t_1 started",
        "send asked",
        "send approved by user",
        "send ok",
        "call 2 ended",
        "t_1 completed",
    ]
    (turn,) = record.ended
    assert (turn.iterations, turn.tool_calls, turn.waited_ms) == (2, 2, HOUR)


def test_a_turn_that_went_on_elsewhere_is_taken_up_where_it_is() -> None:
    """It waited here, went on in another process, and waits there for a second answer that comes here."""
    story = with_approval()
    del story.events[11:]  # the second model call has said its text
    story.answered("tool_use", None, iteration=2).call("send", "toolu_3", iteration=2)
    story.asked("send", "toolu_3", iteration=2)
    seen = len(story.events)
    story.decided("toolu_3", "denied", "ada", iteration=2).result("send", "toolu_3", "denied", iteration=2)
    story.done(iterations=2)
    observer = Observer([record := Record()])

    observer.observe("s_1", story.events[:7])
    observer.replay("s_1", story.events[:seen])
    observer.observe("s_1", story.events[seen:])

    assert record.lines[4:] == [
        "t_1 started",
        "send asked",
        "send denied by user",
        "send denied",
        "t_1 completed",
    ]
    assert observer.turns_followed == 0


def test_waiting_turns_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person may be asked by any number of turns: those that wait longest are let go, running ones stay."""
    monkeypatch.setattr(observing, "WAITING", 2)
    observer = Observer([record := Record()])

    observer.observe("s_1", Story("t_runs").begin().events)
    for number in range(4):
        observer.observe("s_1", waiting(f"t_{number}").events)

    assert [each for each in record.lines if each.endswith("left")] == ["t_0 left", "t_1 left"]
    assert observer.turns_followed == 3


def test_a_question_is_over_before_its_call_is() -> None:
    """Also when a turn is stopped while it waits, or ends without the result of a call."""
    stopped = waiting().result("send", "toolu_1", "cancelled").done("cancelled")
    for story, status in ((stopped, "cancelled"), (waiting().done("failed"), None)):
        observer = Observer([record := Record()])

        observer.observe("s_1", story.events)

        assert record.lines[4:6] == ["send None by None", f"send {status}"]
