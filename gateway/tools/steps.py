"""The steps of a tool, recorded while it runs."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from time import monotonic
from typing import Any

import orjson

from gateway.events.tool_calls import StepTrace
from gateway.ids import now_ms
from gateway.messages import shortened
from gateway.tools.excerpt import excerpt

MAX_STEPS = 100
"""Steps of one call that are kept; more are counted."""
STEPS_SIZE = 14 * 1024
"""Bytes of JSON of all steps of one call. With the memory writes (result.WRITES_SIZE) and the content they
are one event, which has 64 kB at most."""
LABEL_LENGTH = 100
"""Characters of a step's id, name and error."""

_LEFT_OUT = "…"
_SIZE_OF_MORE = 256  # bytes of the step with the number of further ones


@dataclass(slots=True)
class RunningStep:
    """A step that runs: set `output` to what came of it."""

    output: object = None


@dataclass(frozen=True, slots=True)
class _Begun:
    number: int
    name: str
    input: Any
    step: RunningStep = field(default_factory=RunningStep)
    began_at: int = field(default_factory=now_ms)
    began: float = field(default_factory=monotonic)

    def trace(self, error: str | None) -> StepTrace:
        """The trace of the step when it ends now."""
        return StepTrace(
            step_id=f"step-{self.number}",
            step_name=self.name,
            input=self.input,
            output=excerpt(self.step.output),
            duration_ms=int((monotonic() - self.began) * 1000),
            error=error,
            timestamp=self.began_at,
        )


class Steps:
    """The steps of one call, numbered in the order in which they began. A tool may record from threads."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._running: dict[int, _Begun] = {}
        self._ended: dict[int, StepTrace] = {}
        self._dropped = 0
        self._lock = Lock()

    @contextmanager
    def step(self, name: str, input: object = None) -> Generator[RunningStep]:
        """Records what happens inside; what it raises is recorded by its type's name and passes through."""
        begun = self._begin(name, input)
        error: str | None = None
        try:
            yield begun.step
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            self._end(begun, error)

    def traces(self, reported: Sequence[StepTrace] = ()) -> list[StepTrace]:
        """The steps for the call's result: the recorded ones, those that still run with the error
        "unfinished", and then `reported` ones. Each has an id of its own. At most MAX_STEPS, and a last one
        with the number of further ones; inputs and outputs that do not fit into STEPS_SIZE are left out as
        "…", and so are whole steps when their names alone do not."""
        with self._lock:
            recorded = self._ended | {n: begun.trace("unfinished") for n, begun in self._running.items()}
        steps = [recorded[number] for number in sorted(recorded)]
        kept = reported[: MAX_STEPS - len(steps)]
        named = [*_with_own_ids([*steps, *map(_sound, kept)])]
        steps = _light(named)
        if more := self._dropped + len(reported) - len(kept) + len(named) - len(steps):
            steps.append(StepTrace(step_id="more", step_name=f"{more} more steps", duration_ms=0))
        return steps

    def _begin(self, name: str, given: object) -> _Begun:
        with self._lock:
            number = next(self._numbers)
            if number > MAX_STEPS:
                self._dropped += 1
                return _Begun(number, name, None)
        begun = _Begun(number, _label(name), excerpt(given))
        with self._lock:
            self._running[number] = begun
        return begun

    def _end(self, begun: _Begun, error: str | None) -> None:
        if begun.number <= MAX_STEPS:
            trace = begun.trace(error)
            with self._lock:
                del self._running[begun.number]
                self._ended[begun.number] = trace


def _label(text: object) -> str:
    return shortened(str(excerpt(text)), LABEL_LENGTH)


def _sound(step: StepTrace) -> StepTrace:
    """A step that a tool made itself, in the bounds of those that were recorded."""
    return StepTrace(
        step_id=_label(step.step_id),
        step_name=_label(step.step_name),
        input=excerpt(step.input),
        output=excerpt(step.output),
        duration_ms=step.duration_ms,
        error=step.error and _label(step.error),
        timestamp=step.timestamp,
    )


def _with_own_ids(steps: Iterable[StepTrace]) -> Iterator[StepTrace]:
    """The steps, where those without an id, or with one that was there before, are given another."""
    taken: set[str] = set()
    free = (name for number in count(1) if (name := f"step-{number}") not in taken)
    for step in steps:
        if not step.step_id or step.step_id in taken:
            step = step.model_copy(update={"step_id": next(free)})  # noqa: PLW2901 - the same step
        taken.add(step.step_id)
        yield step


def _light(steps: Iterable[StepTrace]) -> list[StepTrace]:
    """As many of the steps as fit by their names, with those inputs and outputs that then fit, too."""
    budget = STEPS_SIZE - _SIZE_OF_MORE
    pairs: list[tuple[StepTrace, StepTrace]] = []
    for step in steps:
        bare = step.model_copy(update={"input": _LEFT_OUT, "output": _LEFT_OUT})
        size = len(orjson.dumps(bare.model_dump())) + 1
        if size > budget:
            break
        budget -= size
        pairs.append((step, bare))
    light: list[StepTrace] = []
    for step, bare in pairs:
        fitting: dict[str, Any] = {}
        for name, value in (("input", step.input), ("output", step.output)):
            size = len(orjson.dumps(value)) - len(orjson.dumps(_LEFT_OUT))
            if size <= budget:
                budget -= size
                fitting[name] = value
        light.append(bare.model_copy(update=fitting))
    return light
