"""Keeps a service that fails from making everybody wait for it."""

FIRST_REST, LAST_REST = 5.0, 300.0
"""Seconds without another attempt after a failure: doubled each time, up to the last."""


class Circuit:
    """Whether to try again, in seconds of a clock that only goes forward. When the rest is over one attempt
    is let through, and the others wait for how it ends."""

    def __init__(self) -> None:
        self._rest = 0.0
        self._until = 0.0

    def admits(self, now: float) -> bool:
        """Whether an attempt may be made now; it must be followed by `failed` or `worked`."""
        if now < self._until:
            return False
        self._until = now + self._rest
        return True

    def failed(self, now: float) -> None:
        self._rest = min(max(FIRST_REST, 2 * self._rest), LAST_REST)
        self._until = now + self._rest

    def worked(self) -> None:
        self._rest = self._until = 0.0
