"""The delay before the next attempt; the caller waits."""

import random

from gateway.errors import ModelError
from gateway.settings import Settings

FIRST_DELAY = 0.5
"""Seconds before the second attempt; each later wait is twice the one before (the Anthropic SDKs' rhythm)."""


def retry_delay(error: ModelError, attempt: int, *, attempts: int, cap: float, jitter: float) -> float | None:
    """Seconds to wait before the next attempt; None means give up. Pure.

    `attempt` is the one that failed, from 1, of at most `attempts`. `cap` is the longest wait in seconds: an
    endpoint that asks for more is not waited for. `jitter` in [0, 1) shortens a wait of our own by up to a
    half, and lengthens one that the endpoint asked for by up to a tenth, so that callers do not come back
    together.
    """
    if not error.retryable or attempt >= attempts:
        return None
    if error.retry_after is not None:
        if error.retry_after > cap:
            return None
        return min(error.retry_after * (1 + jitter / 10), cap)
    # The exponent is bounded: 2 ** 1024 does not fit a float.
    return min(FIRST_DELAY * 2.0 ** min(attempt - 1, 60), cap) * (1 - jitter / 2)


def next_delay(error: ModelError, attempt: int, *, attempts: int, settings: Settings) -> float | None:
    """`retry_delay` with the longest wait that is set and a jitter of its own."""
    jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
    return retry_delay(error, attempt, attempts=attempts, cap=settings.retry_after_cap, jitter=jitter)
