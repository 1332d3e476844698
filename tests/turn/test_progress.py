"""How far a turn has come, folded from its events."""

import pytest

from gateway.events.lifecycle import IterationEnd, IterationStart, IterationSuperseded
from gateway.events.tool_calls import ToolCall
from gateway.turn.agent_loop import limit_reached
from gateway.turn.progress import TurnProgress
from gateway.turn.start_and_end import TurnBounds
from tests.product import (
    CallResult,
    Done,
    EventData,
    StoredEvent,
    Text,
    TurnStart,
    Usage,
    encode,
    encode_data,
    encode_scope,
)

pytestmark = pytest.mark.anyio

USAGE = Usage(input_tokens=10, output_tokens=5)
START = TurnStart(input="hi", model="m", trace_id="0" * 32)
CALL = ToolCall(name="t", arguments={}, effect="effectful")
RESULT = CallResult(name="t", status="ok", content="x", duration_ms=1)

Step = tuple[EventData, int | None, str | None]
STORY: list[Step] = [
    (START, None, None),
    (IterationStart(attempt=1, model="m"), 1, None),
    (Text(text="lost"), 1, None),
    (IterationSuperseded(attempt=1, reason="upstream_error", began=True, usage=USAGE), 1, None),
    (IterationStart(attempt=2, model="m"), 1, None),
    (Text(text="kept"), 1, None),
    (IterationEnd(stop_reason="tool_use", usage=USAGE, cost=0.5, duration_ms=1), 1, None),
    (CALL, 1, "c1"),
    (RESULT, 1, "c1"),
    (IterationStart(attempt=1, model="m"), 2, None),
    (IterationEnd(stop_reason="end_turn", usage=USAGE, cost=0.5, duration_ms=1), 2, None),
    (Done(status="completed", iterations=2, duration_ms=1), None, None),
]


def _stored(steps: list[Step]) -> list[StoredEvent]:
    scope = encode_scope("s", "t")
    return [
        StoredEvent(
            seq,
            data.event_type,
            "t",
            encode(seq, data.event_type, 1000 + seq, scope, encode_data(data), iteration, call),
        )
        for seq, (data, iteration, call) in enumerate(steps, 1)
    ]


@pytest.mark.parametrize("count", range(len(STORY) + 1))
def test_the_log_tells_the_same_state_as_the_emitting_did(count: int) -> None:
    """At every point of a turn: folding what was emitted and folding what was stored give one state."""
    emitted, read = TurnProgress(), TurnProgress()
    for seq, (data, iteration, call) in enumerate(STORY[:count], 1):
        emitted.apply(data, 1000 + seq, iteration, call)
    for event in _stored(STORY[:count]):
        read.apply_stored(event)

    assert emitted == read


def test_a_superseded_attempt_leaves_no_text_and_counts_as_unreported() -> None:
    """Only the winning attempt's pieces remain; what the lost one used is added, and its price is unknown."""
    progress = TurnProgress()
    for event in _stored(STORY[:6]):
        progress.apply_stored(event)

    assert progress.text == b"kept"
    assert (progress.iteration, progress.attempt, progress.attempt_open) == (1, 2, True)
    assert (progress.usage, progress.unreported, progress.cost) == (USAGE, 1, None)


def test_an_attempt_that_never_began_costs_nothing() -> None:
    """An overloaded endpoint that refused the call leaves the price known."""
    progress = TurnProgress()
    progress.apply(IterationStart(attempt=1, model="m"), 1, 1, None)
    progress.apply(IterationSuperseded(attempt=1, reason="upstream_overloaded"), 2, 1, None)
    progress.apply(IterationStart(attempt=2, model="m"), 3, 1, None)
    progress.apply(IterationEnd(stop_reason="end_turn", usage=USAGE, cost=0.5, duration_ms=1), 4, 1, None)

    assert (progress.unreported, progress.cost) == (0, 0.5)


def test_only_a_call_that_began_to_answer_leaves_its_usage_unreported() -> None:
    """A refused connection used nothing; an answer that broke off used what nobody knows."""
    refused, broken = TurnProgress(), TurnProgress()
    for progress in (refused, broken):
        progress.apply(IterationStart(attempt=1, model="m"), 1, 1, None)
    broken.attempt_began = True
    for progress in (refused, broken):
        progress.apply(IterationEnd(duration_ms=1), 2, 1, None)

    assert (refused.unreported, refused.cost) == (0, 0.0)
    assert (broken.unreported, broken.cost) == (1, None)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (TurnBounds(2, None, 60), "max_iterations"),
        (TurnBounds(9, 45, 60), "budget_exceeded"),
        (TurnBounds(9, 46, 60), None),
    ],
)
def test_limits_stop_the_next_model_call(limits: TurnBounds, code: str | None) -> None:
    """Reached means: another call would be over it."""
    progress = TurnProgress()
    for event in _stored(STORY[:-1]):
        progress.apply_stored(event)

    reached = limit_reached(progress, limits)

    assert (reached.warning.code if reached and reached.warning else None) == code


def test_calls_that_are_answered_are_counted_and_the_last_one_makes_the_message() -> None:
    """The count is that of the calls without a result, at every step; no other result makes a message."""
    progress = TurnProgress()
    progress.apply(IterationStart(attempt=1, model="m"), 1, 1, None)
    for call_id in ("c1", "c2", "c3"):
        progress.apply(CALL, 1, 1, call_id)
    made: list[bool] = []
    for call_id in ("c2", "c1", "c3"):
        message = progress.results_message(call_id, RESULT)
        made.append(message is not None)
        progress.apply(RESULT, 1, 1, call_id)
        assert progress.unanswered == sum(state.result is None for state in progress.calls.values())
        if message is not None:
            assert message == progress.answers()
            assert [block["tool_use_id"] for block in message.content] == ["c1", "c2", "c3"]

    assert made == [False, False, True]
    assert progress.results_message("c3", RESULT) is None


async def test_the_open_calls_are_those_without_a_result_whatever_happens_meanwhile() -> None:
    """In their order; one that is answered while others are looked at is left out."""
    progress = TurnProgress()
    for number in range(5):
        progress.apply(CALL, 1, 1, f"c{number}")
    progress.apply(RESULT, 1, 1, "c1")
    seen: list[str] = []
    async for call_id, _ in progress.open_calls():
        seen.append(call_id)
        if call_id == "c2":
            progress.apply(RESULT, 1, 1, "c3")

    assert seen == ["c0", "c2", "c4"]
