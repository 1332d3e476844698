"""A circuit breaker: callers do not wait for a service that fails."""

FIRST_COOLDOWN, MAX_COOLDOWN = 5.0, 300.0
"""Seconds without an attempt after a failure: doubled each time, up to the maximum."""


class CircuitBreaker:
    """Times are seconds of a monotonic clock. After the cool-down one attempt is allowed, and the others wait
    for its result."""

    def __init__(self) -> None:
        self._cooldown = 0.0
        self._open_until = 0.0

    def allow(self, now: float) -> bool:
        """Whether an attempt may be made now; `record_failure` or `record_success` must follow it."""
        if now < self._open_until:
            return False
        self._open_until = now + self._cooldown
        return True

    def record_failure(self, now: float) -> None:
        self._cooldown = min(max(FIRST_COOLDOWN, 2 * self._cooldown), MAX_COOLDOWN)
        self._open_until = now + self._cooldown

    def record_success(self) -> None:
        self._cooldown = self._open_until = 0.0
