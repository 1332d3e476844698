"""The steps of a tool, recorded while it runs."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from time import monotonic
from typing import Any

import orjson

from gateway.events.calls import StepTrace
from gateway.ids import now_ms
from gateway.tools.excerpt import excerpt

MOST_STEPS = 100
"""Steps of one call that are kept; more are counted."""
STEPS_SIZE = 32 * 1024
"""Bytes of JSON of the inputs and outputs of all steps of one call."""
LABEL_LENGTH = 100
"""Characters of a step's id, name and error."""

_LEFT_OUT = "…"


@dataclass(slots=True)
class Step:
    """A step that runs: set `output` to what came of it."""

    output: object = None


@dataclass(frozen=True, slots=True)
class _Begun:
    number: int
    name: str
    input: Any
    step: Step = field(default_factory=Step)
    began_at: int = field(default_factory=now_ms)
    began: float = field(default_factory=monotonic)

    def trace(self, error: str | None) -> StepTrace:
        """The step as it is told when it ends now."""
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
    def step(self, name: str, input: object = None) -> Generator[Step]:
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

    def told(self, reported: Sequence[StepTrace] = ()) -> list[StepTrace]:
        """The steps for the call's result: the recorded ones, those that still run with the error
        "unfinished", and then `reported` ones. Each has an id of its own. At most MOST_STEPS, and a last one
        that says how many more there were; inputs and outputs beyond STEPS_SIZE are left out as "…"."""
        with self._lock:
            recorded = self._ended | {n: begun.trace("unfinished") for n, begun in self._running.items()}
        steps = [recorded[number] for number in sorted(recorded)]
        kept = reported[: MOST_STEPS - len(steps)]
        steps = [*_light(_with_own_ids([*steps, *map(_sound, kept)]))]
        if more := self._dropped + len(reported) - len(kept):
            steps.append(StepTrace(step_id="more", step_name=f"{more} more steps", duration_ms=0))
        return steps

    def _begin(self, name: str, given: object) -> _Begun:
        with self._lock:
            number = next(self._numbers)
            if number > MOST_STEPS:
                self._dropped += 1
                return _Begun(number, name, None)
        begun = _Begun(number, _label(name), excerpt(given))
        with self._lock:
            self._running[number] = begun
        return begun

    def _end(self, begun: _Begun, error: str | None) -> None:
        if begun.number <= MOST_STEPS:
            trace = begun.trace(error)
            with self._lock:
                del self._running[begun.number]
                self._ended[begun.number] = trace


def _label(text: object) -> str:
    text = str(excerpt(text))
    return text if len(text) <= LABEL_LENGTH else text[: LABEL_LENGTH - 1] + "…"


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


def _light(steps: Iterable[StepTrace]) -> Iterator[StepTrace]:
    """The steps without the inputs and outputs that would make them too large together."""
    room = STEPS_SIZE - 2 * MOST_STEPS * len(orjson.dumps(_LEFT_OUT))
    for step in steps:
        room -= len(orjson.dumps(step.input)) + len(orjson.dumps(step.output))
        yield step if room > 0 else step.model_copy(update={"input": _LEFT_OUT, "output": _LEFT_OUT})
