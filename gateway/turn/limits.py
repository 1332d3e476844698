"""What stops a turn that would otherwise go on: steps, tokens, seconds."""

from dataclasses import dataclass
from typing import Literal

from gateway.turn.progress import Progress


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one turn: model calls, tokens in and out (None: unbounded), seconds."""

    iterations: int
    tokens: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Which limit ended the turn, in words for people."""

    code: Literal["max_iterations", "budget_exceeded"]
    message: str


def limit_reached(progress: Progress, limits: Limits) -> LimitReached | None:
    """Whether another model call is over a limit. The seconds are the business of whoever owns the task."""
    if progress.iteration >= limits.iterations:
        return LimitReached("max_iterations", f"Stopped after {limits.iterations} model calls.")
    if limits.tokens is not None and progress.usage is not None and progress.usage.total >= limits.tokens:
        return LimitReached(
            "budget_exceeded", f"Stopped at {progress.usage.total} of {limits.tokens} tokens."
        )
    return None


def out_of_time(limits: Limits) -> LimitReached:
    return LimitReached("budget_exceeded", f"Stopped after {limits.seconds:g} seconds.")
