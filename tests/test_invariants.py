"""The checker of the invariants finds what it is there to find."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gateway.storage.sessions import SessionRow
from tests.invariants import Body, OpenTurn, Record, violations
from tests.product import Message, StoredMessage, TurnRow, text_block, tool_result_block

CALL = {"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {"expression": "17*23"}}


def event(
    seq: int, kind: str, data: Body, *, turn: int = 1, iteration: int | None = None, call: str | None = None
) -> Body:
    places = {"iteration": iteration, "tool_call_id": call}
    return {
        "v": 1,
        "seq": seq,
        "type": kind,
        "ts": 1,
        "session_id": "s_1",
        "turn_id": f"t_{turn}",
        **{name: value for name, value in places.items() if value is not None},
        "data": data,
    }


def turn(number: int, first: int, last: int, text: str) -> TurnRow:
    return TurnRow(
        id=f"t_{number}",
        session_id="s_1",
        owner="local",
        status="done",
        outcome="completed",
        input=text,
        model="m",
        client_message_id=f"m_{number}",
        epoch=1,
        created_at=1,
        first_seq=first,
        last_seq=last,
        cancel_requested=False,
    )


def start(seq: int, text: str, number: int) -> Body:
    return event(seq, "turn_start", {"input": text, "model": "m", "trace_id": "a" * 32}, turn=number)


def done(seq: int, number: int) -> Body:
    return event(seq, "done", {"status": "completed", "iterations": 1, "duration_ms": 1}, turn=number)


def sound() -> Record:
    """A session of two turns: one with a superseded attempt and a tool call, one with an answer only."""
    begin = {"attempt": 1, "model": "m"}
    result = {"name": "calculate", "status": "ok", "content": "391", "duration_ms": 1}
    intent = {"name": "calculate", "arguments": CALL["input"], "effect": "read_only"}
    events = [
        start(1, "What is 17*23?", 1),
        event(2, "iteration_start", begin, iteration=1),
        event(3, "text", {"text": "Let"}, iteration=1),
        event(4, "iteration_superseded", {"attempt": 1, "reason": "server_restart"}, iteration=1),
        event(5, "iteration_start", {"attempt": 2, "model": "m"}, iteration=1),
        event(6, "text", {"text": "Let me "}, iteration=1),
        event(7, "text", {"text": "see."}, iteration=1),
        event(8, "iteration_end", {"stop_reason": "tool_use", "duration_ms": 1}, iteration=1),
        event(9, "tool_call", intent, iteration=1, call="toolu_1"),
        event(10, "tool_result", result, iteration=1, call="toolu_1"),
        event(11, "iteration_start", begin, iteration=2),
        event(12, "text", {"text": "391."}, iteration=2),
        event(13, "iteration_end", {"stop_reason": "end_turn", "duration_ms": 1}, iteration=2),
        done(14, 1),
        start(15, "Thanks", 2),
        event(16, "iteration_start", begin, turn=2, iteration=1),
        event(17, "text", {"text": "You are welcome."}, turn=2, iteration=1),
        event(18, "iteration_end", {"stop_reason": "end_turn", "duration_ms": 1}, turn=2, iteration=1),
        done(19, 2),
    ]
    messages = [
        ("t_1", Message("user", [text_block("What is 17*23?")])),
        ("t_1", Message("assistant", [text_block("Let me see."), CALL])),
        ("t_1", Message("user", [tool_result_block("toolu_1", "391", is_error=False)])),
        ("t_1", Message("assistant", [text_block("391.")])),
        ("t_2", Message("user", [text_block("Thanks")])),
        ("t_2", Message("assistant", [text_block("You are welcome.")])),
    ]
    return Record(
        SessionRow("s_1", "local", None, 1, 1, 19),
        events,
        [turn(1, 1, 14, "What is 17*23?"), turn(2, 15, 19, "Thanks")],
        [StoredMessage(position, of, message) for position, (of, message) in enumerate(messages, start=1)],
    )


def renumbered(record: Record, events: Sequence[Body]) -> Record:
    """`events` as if they had been written so, bounds and head included."""
    events = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    seqs = {row.id: [event["seq"] for event in events if event["turn_id"] == row.id] for row in record.turns}
    turns = [replace(row, first_seq=seqs[row.id][0], last_seq=seqs[row.id][-1]) for row in record.turns]
    return replace(record, events=events, turns=turns, session=replace(record.session, head=len(events)))


def without(record: Record, seq: int) -> Record:
    return renumbered(record, [event for event in record.events if event["seq"] != seq])


def twice(record: Record, seq: int) -> Record:
    doubled = [event for event in record.events for _ in range(1 + (event["seq"] == seq))]
    return renumbered(record, doubled)


def with_data(record: Record, seq: int, **data: Any) -> Record:
    changed = [
        {**event, "data": {**event["data"], **data}} if event["seq"] == seq else event
        for event in record.events
    ]
    return replace(record, events=changed)


def moved(record: Record, seq: int, to: int) -> Record:
    events = list(record.events)
    events.insert(to - 1, events.pop(seq - 1))
    return renumbered(record, events)


def with_turn(record: Record, number: int, **fields: Any) -> Record:
    turns = list(record.turns)
    turns[number - 1] = replace(turns[number - 1], **fields)
    return replace(record, turns=turns)


def without_message(record: Record, position: int) -> Record:
    return replace(record, messages=[stored for stored in record.messages if stored.position != position])


def with_open(record: Record, replica: str | None, parked_until: int | None) -> Record:
    return replace(
        with_turn(record, 2, status="running", outcome=None), open=OpenTurn("t_2", replica, parked_until)
    )


PLANTED: dict[str, tuple[Callable[[Record], Record], str]] = {
    "a gap": (lambda r: replace(r, events=[e for e in r.events if e["seq"] != 7]), "the seqs are not"),
    "a wrong head": (lambda r: replace(r, session=replace(r.session, head=18)), "the head is 18"),
    "an unknown field": (lambda r: with_data(r, 3, colour="red"), "not of the contract"),
    "interleaved turns": (lambda r: moved(r, 14, 16), "interleave"),
    "no done": (lambda r: without(r, 14), "has 0 done events"),
    "two dones": (lambda r: twice(r, 19), "has 2 done events"),
    "an event after done": (lambda r: moved(r, 14, 13), "goes on after done"),
    "an open turn": (lambda r: with_turn(r, 2, status="running", outcome=None), "is still running"),
    "a turn that is nobody's": (lambda r: with_open(r, None, None), "must be a process's or parked"),
    "a parked turn with an owner": (lambda r: with_open(r, "r_1", 9), "must be a process's or parked"),
    "another open turn": (lambda r: replace(with_open(r, "r_1", None), turns=r.turns), "t_2 is open, []"),
    "another outcome": (lambda r: with_turn(r, 2, outcome="failed"), "completed in the log and failed"),
    "wrong bounds": (lambda r: with_turn(r, 1, last_seq=13), "has the bounds 1 to 13"),
    "another owner": (lambda r: with_turn(r, 1, owner="eve"), "belongs to eve"),
    "a lost piece": (lambda r: without(r, 6), "the pieces say"),
    "a piece too many": (lambda r: twice(r, 17), "the pieces say"),
    "no winner": (lambda r: without(r, 8), "while one is open"),
    "two winners": (lambda r: twice(r, 13), "belongs to no open attempt"),
    "an attempt left open": (lambda r: without(r, 4), "while one is open"),
    "a skipped attempt": (lambda r: with_data(r, 5, attempt=3), "has the attempts [1, 3]"),
    "a call without a result": (lambda r: without(r, 10), "have no result"),
    "two results": (lambda r: twice(r, 10), "the result of a call twice"),
    "two intents": (lambda r: twice(r, 9), "the intent of a call twice"),
    "a result before its intent": (lambda r: moved(r, 10, 9), "without an intent before it"),
    "a tool run too early": (lambda r: moved(r, 9, 7), "before its message is complete"),
    "other arguments": (lambda r: with_data(r, 9, arguments={}), "are not those of the messages"),
    "another result": (lambda r: with_data(r, 10, content="392"), "reads another result"),
    "a lost answer": (lambda r: without_message(r, 6), "the pieces say"),
    "an unanswered call": (lambda r: without_message(r, 3), "answers [], the calls before it are"),
    "a lost question": (lambda r: without_message(r, 5), "does not begin with what the user said"),
}


def test_a_sound_record_has_no_violations() -> None:
    """Two turns with a superseded attempt and a tool call violate nothing."""
    assert violations(sound()) == []


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_violation_is_found(planted: str) -> None:
    """Each way to break a record is reported in words."""
    breaks, words = PLANTED[planted]

    found = violations(breaks(sound()))

    assert any(words in violation for violation in found), found
