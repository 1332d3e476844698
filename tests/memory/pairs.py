"""Pairs of memories in English, simplified and traditional Chinese, and what is decided of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import yaml

from gateway.memory.similarity.comparison import is_same, replaces

Decision = Literal["same", "two", "corrections"]

PAIRS: Mapping[Decision, Sequence[Sequence[str]]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


def decided(old: str, new: str, message: str = "") -> Decision:
    """What is decided of a memory and a later one, which was saved with a message of the user."""
    if is_same(old, new):
        return "same"
    return "corrections" if replaces(old, new, message) else "two"


def confusion() -> Counter[tuple[Decision, Decision]]:
    """How many pairs of the first are decided to be of the second."""
    return Counter((kind, decided(*pair)) for kind, pairs in PAIRS.items() for pair in pairs)
