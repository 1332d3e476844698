"""Results of the conversations with each model, as a table and as JSON."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from gateway.cli.evaluation.answer_checks import KINDS, CheckResult, Kind
from gateway.messages import shortened

UNKNOWN = "unknown"
MAX_MISSES = 20
"""Failed checks that are listed for one model."""
ANSWER_WIDTH = 120
"""Characters of an answer that are quoted beside one."""


class TurnFailure(NamedTuple):
    """`code` is one of the events' codes or of the API's."""

    code: str
    message: str


class TurnResult(NamedTuple):
    """One turn. `given` are the memories that its model had in this session; times are in milliseconds, the
    cost in US dollars, and None what is unknown."""

    message: str
    conversation: str = ""
    session: int = 0
    answer: str = ""
    given: Sequence[str] = ()
    checks: Sequence[CheckResult] = ()
    failure: TurnFailure | None = None
    usage: dict[str, int] | None = None
    cost: float | None = None
    first_text_ms: int | None = None
    duration_ms: int = 0


@dataclass(slots=True)
class ModelResult:
    """The turns of one model so far. `wanted` counts the checks of all turns: those of a turn that was never
    begun are not passed. `given_up` says why there are no more turns."""

    model: str
    where: str
    wanted: Counter[Kind]
    turns: list[TurnResult] = field(default_factory=list[TurnResult])
    given_up: TurnFailure | None = None

    @property
    def failure(self) -> TurnFailure | None:
        """Why it was given up, or else the first failure of a turn."""
        return self.given_up or next((turn.failure for turn in self.turns if turn.failure), None)

    @property
    def passed(self) -> bool:
        return self.failure is None and all(self.count(kind) == self.wanted[kind] for kind in KINDS)

    def count(self, kind: Kind) -> int:
        """The checks of a kind that it passed."""
        return sum(each.passed for turn in self.turns for each in turn.checks if each.kind == kind)

    def share(self, kind: Kind) -> str:
        return f"{self.count(kind)} of {self.wanted[kind]}"

    @property
    def tokens(self) -> tuple[int, int] | None:
        """In, cached or not, and out. None: some turn has none reported."""
        usages = [turn.usage for turn in self.turns if turn.usage is not None]
        if not usages or len(usages) < len(self.turns):
            return None
        out = sum(usage["output_tokens"] for usage in usages)
        return sum(sum(usage.values()) for usage in usages) - out, out

    @property
    def cost(self) -> float | None:
        """None: that of some turn is unknown."""
        costs = [turn.cost for turn in self.turns if turn.cost is not None]
        return sum(costs) if costs and len(costs) == len(self.turns) else None

    @property
    def first_text_ms(self) -> Sequence[int]:
        return [turn.first_text_ms for turn in self.turns if turn.first_text_ms is not None]

    @property
    def duration_ms(self) -> Sequence[int]:
        return [turn.duration_ms for turn in self.turns if turn.failure is None]

    @property
    def misses(self) -> list[tuple[TurnResult, CheckResult]]:
        """The checks that its turns did not pass, but for those that failed."""
        held = [turn for turn in self.turns if turn.failure is None]
        return [(turn, each) for turn in held for each in turn.checks if not each.passed]


def table(results: Sequence[ModelResult]) -> tuple[list[str], list[list[str]]]:
    """A column for each model: titles, and a row for each figure; times are the median and the longest."""
    figures: list[tuple[str, Callable[[ModelResult], str]]] = [
        ("endpoint", lambda each: each.where),
        ("recalled", lambda each: each.share("recalled")),
        ("answered", lambda each: each.share("answered")),
        ("not said", lambda each: each.share("not_said")),
        ("tokens in", lambda each: f"{each.tokens[0]:,}" if each.tokens else UNKNOWN),
        ("tokens out", lambda each: f"{each.tokens[1]:,}" if each.tokens else UNKNOWN),
        ("cost", lambda each: UNKNOWN if each.cost is None else f"${each.cost:.4f}"),
        ("first text", lambda each: _seconds(each.first_text_ms)),
        ("turn", lambda each: _seconds(each.duration_ms)),
        ("error", lambda each: each.failure.code if each.failure else "none"),
        ("result", lambda each: "passed" if each.passed else "not passed"),
    ]
    rows = [[name, *(figure(each) for each in results)] for name, figure in figures]
    return ["", *(each.model for each in results)], rows


def progress(result: ModelResult, count: int) -> str:
    """A line about the newest turn of so many."""
    turn = result.turns[-1]
    passed = f" · {sum(each.passed for each in turn.checks)} of {len(turn.checks)}" if turn.checks else ""
    failed = f" · {turn.failure.code}" if turn.failure else ""
    where = f"{len(result.turns)}/{count} · {turn.conversation}, session {turn.session}"
    return f"{result.model} {where} · {turn.duration_ms / 1000:.1f} s{passed}{failed}"


def remarks(result: ModelResult) -> Iterator[str]:
    """Lines that say what a model did not pass, and why it was given up."""
    misses = result.misses
    for turn, each in misses[:MAX_MISSES]:
        beginning = shortened(" ".join(turn.answer.split()), ANSWER_WIDTH)
        yield (
            f"✗ {result.model}: {turn.conversation}, session {turn.session}, “{turn.message}” "
            f"{_WORDS[each.kind]}: {each.wanted}. It said: “{beginning}”"
        )
    if len(misses) > MAX_MISSES:
        yield f"✗ {result.model}: {len(misses) - MAX_MISSES} more; --json has all."
    if (failure := result.failure) is not None:
        failed = sum(turn.failure is not None for turn in result.turns)
        ended = (
            f"given up after turn {len(result.turns)}" if result.given_up else f"turns that failed: {failed}"
        )
        yield f"✗ {result.model}: {ended} ({failure.code}): {failure.message}"


def described(results: Sequence[ModelResult], source: str) -> dict[str, Any]:
    """Everything, turns included. What is unknown is absent."""
    return {
        "passed": all(each.passed for each in results),
        "conversations": source,
        "models": [_model(each) for each in results],
    }


_WORDS: dict[Kind, str] = {
    "recalled": "was not given the memory",
    "answered": "was not answered with",
    "not_said": "was answered with",
}


def _model(result: ModelResult) -> dict[str, Any]:
    tokens = result.tokens
    found: dict[str, Any] = {
        "model": result.model,
        "endpoint": result.where,
        "passed": result.passed,
        **{kind: {"passed": result.count(kind), "of": result.wanted[kind]} for kind in KINDS},
        "tokens": {"input": tokens[0], "output": tokens[1]} if tokens else None,
        "cost": result.cost,
        "first_text_ms": _spread(result.first_text_ms),
        "turn_ms": _spread(result.duration_ms),
        "error": result.failure._asdict() if result.failure else None,
        "turns": [_turn(turn) for turn in result.turns],
    }
    return _known(found)


def _turn(turn: TurnResult) -> dict[str, Any]:
    checks = [each._asdict() for each in turn.checks]
    failure = turn.failure._asdict() if turn.failure else None
    return _known({**turn._asdict(), "checks": checks, "failure": failure})


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _spread(times: Sequence[int]) -> dict[str, int] | None:
    return {"median": round(median(times)), "longest": max(times)} if times else None


def _seconds(times: Sequence[int]) -> str:
    return f"{median(times) / 1000:.1f} s, {max(times) / 1000:.1f} s at most" if times else UNKNOWN
