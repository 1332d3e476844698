"""When to look again: those that look at the same pace do so in one wake-up of the process, which costs more
than most looks."""

from time import monotonic

SHORTEST = 0.25
"""Part of a pace that lies between two looks at least."""


def until_next(every: float) -> float:
    """Seconds until the next look of those that look so often: a quarter of that at least, five at most."""
    left = every - monotonic() % every
    return left if left >= SHORTEST * every else left + every
