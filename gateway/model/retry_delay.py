"""The delay before the next attempt; the caller waits."""

import asyncio
import random

from gateway.errors import ModelError
from gateway.settings import Settings

FIRST_DELAY = 0.5
"""Seconds before the second attempt; each later wait is twice the one before (the Anthropic SDKs' rhythm)."""
FIRST_START_DELAY, LAST_START_DELAY = 0.1, 5.0
"""Seconds before a server that was starting is asked again: half the delay before the second time, and
most."""


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


class StartPatience:
    """How long one call waits for a server that is starting, over all its attempts, which do not count as
    such."""

    def __init__(self) -> None:
        self._excused = 0
        self._until: float | None = None

    def next_delay(
        self, error: ModelError, attempt: int, *, attempts: int, settings: Settings
    ) -> float | None:
        """As `next_delay`, but for a failure that passes when the server has started (see `covers`): then the
        delay before the next attempt, which is longer when that failed too, as a server may say that it is up
        and refuse still."""
        if not self.covers(error):
            return next_delay(error, attempt - self._excused, attempts=attempts, settings=settings)
        self._excused += 1
        delay = min(FIRST_START_DELAY * 2.0 ** min(self._excused, 10), LAST_START_DELAY)
        return max(delay, min(error.retry_after or 0, settings.retry_after_cap))

    def covers(self, error: ModelError) -> bool:
        """Whether the failure is one that passes when the server has started, and there is time left."""
        if error.starts_within is None:
            return False
        if self._until is None:
            self._until = _now() + error.starts_within
        return self.left > 0

    @property
    def left(self) -> float:
        """Seconds."""
        return 0.0 if self._until is None else max(0.0, self._until - _now())


def _now() -> float:
    return asyncio.get_running_loop().time()
