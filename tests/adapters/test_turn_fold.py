"""Events of a turn as parts: nothing is lost in whatever batches they come, and what opens closes."""

from collections.abc import Mapping, Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    Closed,
    Grew,
    ModelAnswered,
    Noted,
    Opened,
    Part,
    StepBegan,
    StepEnded,
    TurnBegan,
    TurnEnded,
)
from gateway.auth import LOCAL_USER
from tests.harness import Client, text_of
from tests.product import StoredEvent, encode, encode_scope

Told = tuple[str, Mapping[str, object], int | None, str | None]
"""Type, data, iteration and call of an event."""

OF_TYPES: Sequence[tuple[type, str]] = (
    (CallMade, "tool_call"),
    (CallAnswered, "tool_result"),
    (ApprovalAsked, "approval_request"),
    (AttemptWithdrawn, "iteration_superseded"),
    (ModelAnswered, "iteration_end"),
    (StepEnded, "iteration_end"),
    (TurnEnded, "done"),
)
SCOPE = encode_scope("s_1", "t_1")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
PIECES = st.lists(st.tuples(st.sampled_from(["text", "thinking"]), TEXTS), max_size=6)
NOTES = st.sampled_from(["memory", "warning", "skill", "retrieval", "something_new"])


def stored(told: Sequence[Told]) -> list[StoredEvent]:
    return [
        StoredEvent(seq, kind, "t_1", encode(seq, kind, 7, SCOPE, orjson.dumps(data), iteration, call))
        for seq, (kind, data, iteration, call) in enumerate(told, start=4)
    ]


@st.composite
def turns(draw: st.DrawFn) -> list[StoredEvent]:
    """Whole turns: steps with attempts, pieces, calls, questions and what happens beside them."""
    told: list[Told] = [("turn_start", {"input": "hi", "model": "m", "trace_id": "0" * 32}, None, None)]
    calls = 0
    for number in range(1, draw(st.integers(0, 3)) + 1):
        attempts = draw(st.integers(1, 3))
        for attempt in range(1, attempts + 1):
            told.append(("iteration_start", {"attempt": attempt, "model": "m"}, number, None))
            for kind, text in draw(PIECES):
                if draw(st.integers(0, 4)) == 0:
                    told.append((draw(NOTES), {"code": "x", "results": []}, None, None))
                told.append((kind, {"text": text}, number, None))
            if attempt < attempts:
                told.append(
                    ("iteration_superseded", {"attempt": attempt, "reason": "internal"}, number, None)
                )
        told.append(("iteration_end", {"stop_reason": "tool_use", "duration_ms": 1}, number, None))
        ids = [f"toolu_{calls + index}" for index in range(draw(st.integers(0, 3)))]
        calls += len(ids)
        told.extend(("tool_call", {"name": "f", "arguments": {"a": call}}, number, call) for call in ids)
        asked = [call for call in ids if draw(st.booleans())]
        told.extend(("approval_request", {"name": "f", "arguments": {}}, number, call) for call in asked)
        told.extend(
            ("approval_response", {"decision": "approved", "by": "u"}, number, call) for call in asked
        )
        told.extend(
            ("tool_result", {"name": "f", "status": "ok", "content": "1"}, number, call) for call in ids
        )
    if failed := draw(st.booleans()):
        told.append(("error", {"code": "internal", "message": "no", "retryable": False}, None, None))
    told.append(("done", {"status": "failed" if failed else "completed"}, None, None))
    return stored(told)


@given(turns(), st.data())
def test_how_events_are_cut_into_batches_makes_no_difference(
    events: list[StoredEvent], data: st.DataObject
) -> None:
    """A reader that comes back sees the parts that the first one saw."""
    whole = Fold().take(events)

    fold, cut, taken = Fold(), list[Part](), 0
    while taken < len(events):
        size = data.draw(st.integers(1, 4))
        cut += fold.take(events[taken : taken + size])
        taken += size

    assert cut == whole
    assert fold.is_over


@given(turns())
def test_what_opens_closes_and_steps_follow_each_other(events: list[StoredEvent]) -> None:
    """At most one span is open, inside of its step; the first part begins the turn and the last ends it."""
    parts = Fold().take(events)

    assert isinstance(parts[0], TurnBegan)
    assert isinstance(parts[-1], TurnEnded)
    open_span, step, ids = None, None, list[str]()
    for part in parts:
        match part:
            case Opened(span):
                assert open_span is None
                assert span.step == step
                open_span = span
                ids.append(span.id)
            case Grew(span, _):
                assert span is open_span
            case Closed(span):
                assert span is open_span
                open_span = None
            case StepBegan(number):
                assert (step, open_span) == (None, None)
                step = number
            case StepEnded(number):
                assert (step, open_span) == (number, None)
                step = None
            case CallMade() | CallAnswered() | AttemptWithdrawn():
                assert open_span is None
                assert step is not None
            case TurnEnded():
                assert (step, open_span) == (None, None)
            case _:
                pass
    assert len(ids) == len(set(ids))


@given(turns())
def test_nothing_is_lost_and_text_is_the_same_byte_for_byte(events: list[StoredEvent]) -> None:
    """Pieces are the JSON of the log itself; of every other event there is one part, or the end of a step."""
    parts = Fold().take(events)

    pieces = [(part.span.kind, orjson.loads(part.text)) for part in parts if isinstance(part, Grew)]
    logged = [event for event in events if event.type in {"text", "thinking"}]
    assert pieces == [(event.type, event.load()["data"]["text"]) for event in logged]
    noted = {"memory", "warning", "skill", "retrieval", "something_new"}
    assert [part.seq for part in parts if isinstance(part, Noted)] == [
        event.seq for event in events if event.type in noted
    ]
    for kind, name in OF_TYPES:
        assert sum(isinstance(part, kind) for part in parts) == sum(event.type == name for event in events)


def test_a_turn_waits_when_nothing_is_left_but_what_a_person_decides() -> None:
    """Not before all questions of a message are asked, nor while another of its calls runs; the decision that
    a reader knows of counts also before it is in the log."""
    place: tuple[int, str] = (1, "b")
    events = stored(
        [
            ("turn_start", {"input": "hi"}, None, None),
            ("iteration_start", {"attempt": 1}, 1, None),
            *(("tool_call", {"name": "f", "arguments": {}}, 1, call) for call in ("a", "b", "c")),
            ("approval_request", {"name": "f", "arguments": {}}, *place),
            ("approval_request", {"name": "f", "arguments": {}}, 1, "c"),
            ("tool_result", {"name": "f", "status": "ok", "content": ""}, 1, "a"),
            ("approval_response", {"decision": "approved", "by": "u"}, *place),
            ("tool_result", {"name": "f", "status": "ok", "content": ""}, *place),
            ("tool_result", {"name": "f", "status": "denied", "content": ""}, 1, "c"),
        ]
    )

    assert waited(Fold(), events) == [[], [], [], [], [], [], [], ["b", "c"], [], ["c"], []]
    knowing = Fold()
    knowing.decide({"b"})
    assert waited(knowing, events) == [[], [], [], [], [], [], [], [], [], ["c"], []]


def waited(fold: Fold, events: Sequence[StoredEvent]) -> list[list[str]]:
    """What the turn waits for after each event."""
    found: list[list[str]] = []
    for event in events:
        fold.take([event])
        found.append([each.call.id for each in fold.waits_for])
    return found


@pytest.mark.anyio
async def test_a_real_turn_has_the_text_of_its_log(client: Client) -> None:
    """With calls of tools, retrieval and an answer in several languages."""
    await client.chat("怎么恢复一个流？17*23 等于多少？", session_id="s1")
    whole = await client.app.state.gateway.streams.following(LOCAL_USER, "s1")
    events, _ = await client.app.state.gateway.streams.page(whole, 1000)

    parts = Fold().take(events)

    said = "".join(orjson.loads(part.text) for part in parts if isinstance(part, Grew))
    assert said == text_of([event.load() for event in events])
    assert {"search_docs", "calculate"} <= {part.call.name for part in parts if isinstance(part, CallMade)}
