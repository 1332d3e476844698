"""From figures to a table: medians over the rounds, ratios within each round, and what was aimed at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bench.cells import Figures

Rounds = Mapping[str, Sequence[Figures]]
"""Server name -> its figures in each round."""
Readings = Mapping[tuple[str, str], float]
"""Cell and figure -> what it is compared by."""
NOISE = 1.2
"""How much worse a reading may be than the recorded one before that is said."""


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
BURST = (Aim("pieces per CPU s", 3, "ratio", "at least"), NO_FAILURES)
SLOW = (Aim("us CPU per piece", 0.9, "ratio"), Aim("latency p99 ms", 50, "added"), NO_FAILURES)
AIMS: dict[str, Sequence[Aim]] = {
    "c1": (Aim("first text p50 ms", 2, "added"), NO_FAILURES),
    "c1tool": (Aim("first text p50 ms", 6, "added"), NO_FAILURES),
    "c50": BURST,
    "c50tool": (Aim("pieces per CPU s", 1.5, "ratio", "at least"), NO_FAILURES),
    "c200": BURST,
    "slow100": SLOW,
    "slow500": SLOW,
    "chat": (Aim("ms CPU per chat", 1.4, "ratio"), NO_FAILURES),
    "tool": (Aim("ms CPU per chat", 2, "ratio"), NO_FAILURES),
    "memory": (Aim("kB per stream", 60), NO_FAILURES),
    "disk": (Aim("bytes per text event", 120), NO_FAILURES),
    "start": (Aim("s of CPU to ready", 1.2), Aim("s of CPU for help", 0.25)),
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


def reading(cell: str, figure: str, rounds: Rounds) -> float | None:
    """What a figure is compared by: as its aim reads it, else the gateway's ratio to the bare relay."""
    aim = next((aim for aim in AIMS[cell] if aim.figure == figure), Aim(figure, 0, "ratio"))
    return aim.reading(rounds) if aim.measured(rounds) and figure != "failures" else None


def rows(cell: str, rounds: Rounds) -> list[list[str]]:
    """The head, and a line for each figure: each server's median, the reading, and the aim in words."""
    aims = {aim.figure: aim for aim in AIMS[cell]}
    lines = [["figure", *rounds, "reading", "aim"]]
    for figure in next(iter(rounds.values()))[0]:
        values = [number(median(figures[figure] for figures in measured)) for measured in rounds.values()]
        read = reading(cell, figure, rounds)
        words = aims[figure].words(rounds) if figure in aims and aims[figure].measured(rounds) else ""
        lines.append([figure, *values, f"{read:.4g}" if read is not None else "", words])
    return lines


def table(cell: str, about: str, rounds: Rounds, recorded: Readings) -> str:
    """A cell's figures: one line each, one column per server, and what was recorded."""
    (figure, *names, read, aim), *lines = rows(cell, rounds)
    shown = [f"{cell}: {about}", line("", names, read, "was", aim)]
    for figure, *values, read, words in lines:
        was = recorded.get((cell, figure))
        shown.append(line(figure, values, read, f"{was:.4g}" if was is not None else "", words))
    return "\n".join(shown)


def line(figure: str, values: Sequence[str], read: str, was: str, words: str) -> str:
    cells = "".join(f"{value:>12}" for value in values)
    return f"  {figure:20}{cells}{read:>10}{was:>10}  {words}".rstrip()


def worse(measured: Mapping[str, Rounds], recorded: Readings) -> list[str]:
    """Sentences about what is worse by more than a fifth than it was when it was recorded."""
    found: list[str] = []
    for cell, rounds in measured.items():
        for aim in AIMS[cell]:
            was, now = recorded.get((cell, aim.figure)), reading(cell, aim.figure, rounds)
            if not was or now is None or aim.kind == "added":
                continue
            if (now / was if aim.sense == "at most" else was / (now or was)) > NOISE:
                found.append(f"{cell} {aim.figure} is {number(now)}, was {number(was)}")
    return found


def number(value: float) -> str:
    """Three or so figures that matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
