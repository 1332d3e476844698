"""Numbers with an aim, told one on a line."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isinf


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, and what it should be."""

    name: str
    value: float
    unit: str
    bound: float
    at_most: bool = True

    @property
    def reached(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    @property
    def aim(self) -> str:
        """As one reads it; empty where there is none."""
        if isinf(self.bound):
            return ""
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"


def show(figures: Iterable[Figure]) -> int:
    """Prints each as soon as it is there; how many missed their aim."""
    missed = 0
    for figure in figures:
        missed += not figure.reached
        digits = 2 if figure.unit == "x" else 1
        print(
            f"{figure.name:<58}{figure.value:>12,.{digits}f} {figure.unit:<9}{figure.aim:<10}"
            f"{('reached' if figure.reached else 'MISSED') if figure.aim else ''}",
            flush=True,
        )
    return missed
