"""From figures to a table: medians over the rounds, ratios within each round, and what was aimed at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bench.cells import Figures

Rounds = Mapping[str, Sequence[Figures]]
"""Server name -> its figures in each round."""


@dataclass(frozen=True, slots=True)
class Aim:
    """A bound on one figure of the server `of`: on its value, or its ratio to, or what it adds to, the server
    `over`."""

    figure: str
    bound: float
    kind: Literal["value", "ratio", "added"] = "value"
    sense: Literal["at most", "at least"] = "at most"
    over: str = "httpx2"
    of: str = "gateway"

    def measured(self, rounds: Rounds) -> bool:
        """Whether every server it takes was measured."""
        return self.of in rounds and (self.kind == "value" or self.over in rounds)

    def reading(self, rounds: Rounds) -> float:
        """What was reached: the median over the rounds."""
        mine = [figures[self.figure] for figures in rounds[self.of]]
        if self.kind == "value":
            return median(mine)
        theirs = [figures[self.figure] for figures in rounds[self.over]]
        if self.kind == "added":
            return median(one - other for one, other in zip(mine, theirs, strict=True))
        return median(one / other if other else 0.0 for one, other in zip(mine, theirs, strict=True))

    def reached(self, rounds: Rounds) -> bool:
        value = self.reading(rounds)
        return value <= self.bound if self.sense == "at most" else value >= self.bound

    def words(self, rounds: Rounds) -> str:
        unit = {"value": "", "ratio": f"x {self.over}", "added": f" over {self.over}"}[self.kind]
        mark = "✓" if self.reached(rounds) else "✗"
        sign = "<=" if self.sense == "at most" else ">="
        return f"{mark} {number(self.reading(rounds))}{unit} ({sign} {number(self.bound)})"


NO_FAILURES = Aim("failures", 0)
BURST = (Aim("pieces/s", 1.5, "ratio", "at least"), NO_FAILURES)
SLOW = (Aim("us CPU per piece", 1, "ratio"), Aim("latency p99 ms", 50, "added", over="direct"), NO_FAILURES)
CHAT = (Aim("ms CPU per chat", 2), NO_FAILURES)
AIMS: dict[str, Sequence[Aim]] = {
    "c1": (Aim("first text p50 ms", 5, "added"), NO_FAILURES),
    "c50": BURST,
    "c200": BURST,
    "slow100": SLOW,
    "slow500": SLOW,
    "chat": CHAT,
    "tool": (NO_FAILURES,),
    "memory": (Aim("kB per stream", 60), NO_FAILURES),
    "telemetry": (
        Aim("us CPU per piece", 1.05, "ratio", over="untold", of="traced"),
        Aim("latency p99 ms", 5, "added", over="untold", of="traced"),
        NO_FAILURES,
    ),
    "durability": (
        Aim("us CPU per piece", 1.2, "ratio", over="relaxed"),
        Aim("latency p99 ms", 10, "added", over="relaxed"),
        NO_FAILURES,
    ),
    "durability50": (Aim("pieces/s", 0.8, "ratio", "at least", over="relaxed"), NO_FAILURES),
    "turns": (
        Aim("MB grown", 3, "added", over="untold", of="traced"),
        Aim("series grown", 0, of="traced"),
        Aim("failures", 0, of="traced"),
    ),
}


def table(cell: str, about: str, rounds: Rounds) -> str:
    """A cell's figures: one line each, one column per server."""
    names = list(rounds)
    aims = {aim.figure: aim for aim in AIMS[cell]}
    head = "".join(f"{name:>12}" for name in names)
    lines = [f"{cell}: {about}", f"  {'':20}{head}{'ratio':>9}  aim"]
    for figure in next(iter(rounds.values()))[0]:
        values = {name: median(figures[figure] for figures in rounds[name]) for name in names}
        cells = "".join(f"{number(values[name]):>12}" for name in names)
        compared = {"gateway", "httpx2"} <= set(names) and figure != "failures"
        ratio = Aim(figure, 0, "ratio").reading(rounds) if compared else 0
        words = aims[figure].words(rounds) if figure in aims and aims[figure].measured(rounds) else ""
        lines.append(f"  {figure:20}{cells}{f'{ratio:.2f}' if ratio else '':>9}  {words}".rstrip())
    return "\n".join(lines)


def number(value: float) -> str:
    """Three or so figures that matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
