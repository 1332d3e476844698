"""What can be counted of limits: how often they refused, never whom."""

from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition


class LimitMetrics:
    """For `service.limits.UserLimits`."""

    def __init__(self, exposition: Exposition) -> None:
        self._refusals = exposition.counter(table.LIMITS_REACHED)

    def refused(self, who: str, measure: str) -> None:
        """A limit of theirs on that was reached."""
        self._refusals.add(1, {semconv.LIMIT_OF: who, semconv.LIMITED: measure})
