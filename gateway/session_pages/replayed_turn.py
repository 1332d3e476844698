"""The events of one turn as the steps that a reader wants to see."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.session_pages.words import placed


class ReplayedSpan(NamedTuple):
    """Something that took time; both ends are Unix milliseconds. `kind` is model or tool."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(slots=True)
class ReplayedStep:
    """One thing that happened at the time `at` (Unix milliseconds). Pieces of text are one step; a tool call
    has its `result`; `dropped`: its attempt was superseded. `turn_id` is the event's: of feedback maybe a
    former turn's."""

    kind: str
    at: int
    iteration: int | None
    data: dict[str, Any]
    result: dict[str, Any] | None = None
    dropped: bool = False
    turn_id: str = ""


@dataclass(slots=True)
class ReplayedTurn:
    """`input` is None for what belongs to no turn, `files` are the names of what came with it, `done` is the
    data of its last event, `place` where it was asked, unless that is after the turn before it."""

    id: str
    began: int = 0
    ended: int = 0
    input: str | None = None
    files: list[str] = field(default_factory=list[str])
    model: str | None = None
    place: str | None = None
    done: dict[str, Any] | None = None
    steps: list[ReplayedStep] = field(default_factory=list[ReplayedStep])
    spans: list[ReplayedSpan] = field(default_factory=list[ReplayedSpan])


def read_turn(turn_id: str, events: Iterable[dict[str, Any]]) -> ReplayedTurn:
    """The turn that `events`, at least one, belong to."""
    turn = ReplayedTurn(turn_id)
    calls: dict[str, ReplayedStep] = {}
    attempt_at, attempt_steps = 0, 0
    for event in events:
        kind, at, data = event["type"], event["ts"], event["data"]
        turn.began = turn.began or at
        turn.ended = max(turn.ended, at)
        step = ReplayedStep(kind, at, event.get("iteration"), data, turn_id=event["turn_id"])
        if kind == "turn_start":
            turn.input, turn.model = data["input"], data["model"]
            turn.place = placed(data)
            turn.files = [each["name"] for each in data.get("attachments", [])]
        elif kind == "iteration_start":
            attempt_at, attempt_steps = at, len(turn.steps)
        elif kind in {"text", "thinking"}:
            _add_delta(turn, step)
        elif kind == "tool_result" and (call := calls.get(event.get("tool_call_id", ""))) is not None:
            call.result = data
            turn.spans.append(ReplayedSpan("tool", data["name"], call.at, at))
        elif kind == "done":
            turn.done = data
        else:
            if kind == "tool_call":
                calls[event.get("tool_call_id", "")] = step
            elif kind in {"iteration_end", "iteration_superseded"}:
                _close_attempt(turn, step, attempt_at or at, turn.steps[attempt_steps:])
            turn.steps.append(step)
    _join_deltas(turn)
    turn.spans.sort(key=lambda span: span.start)
    return turn


def _close_attempt(turn: ReplayedTurn, step: ReplayedStep, began: int, attempt: list[ReplayedStep]) -> None:
    turn.spans.append(ReplayedSpan("model", f"model call {step.iteration}", began, step.at))
    if step.kind == "iteration_superseded":
        for former in attempt:
            former.dropped = former.kind in {"text", "thinking"}


def _join_deltas(turn: ReplayedTurn) -> None:
    for step in turn.steps:
        if "pieces" in step.data:
            step.data = {"text": "".join(step.data["pieces"])}


def _add_delta(turn: ReplayedTurn, step: ReplayedStep) -> None:
    last = turn.steps[-1] if turn.steps else None
    if last is not None and (last.kind, last.iteration, last.dropped) == (step.kind, step.iteration, False):
        last.data["pieces"].append(step.data["text"])
    else:
        step.data = {"pieces": [step.data["text"]]}
        turn.steps.append(step)
