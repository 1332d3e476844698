"""How fresh a memory is: nothing counts it down, it follows from when the memory was last used."""

from gateway.ids import DAY_MS
from gateway.storage.memories import MemoryRow

DAILY = 0.98
"""What a day without use leaves of the freshness."""
MIN_FRESHNESS = 0.1
"""What always stays of it, from the 114th day on: age alone makes nothing unfindable."""


def freshness(row: MemoryRow, at: int) -> float:
    """1 for a memory that was used just now, less for each day since, at least MIN_FRESHNESS. `at` is now, in
    Unix milliseconds; a last use in the future is now."""
    days = max(0, at - row.last_used) / DAY_MS
    return max(MIN_FRESHNESS, DAILY**days)
