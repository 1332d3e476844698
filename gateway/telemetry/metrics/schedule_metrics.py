"""Metrics of schedules: the outcomes of due times, and how late their turns began."""

from gateway.storage.schedules import ScheduleRun
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition


class ScheduleMetrics:
    """A `service.schedules.ScheduleObserver`."""

    def __init__(self, exposition: Exposition) -> None:
        self._runs = exposition.counter(table.SCHEDULE_RUNS)
        self._delays = exposition.histogram(table.SCHEDULE_DELAY)

    def schedule_noted(self, run: ScheduleRun) -> None:
        """A run began, ended, or did not take place."""
        if run.status == "started":
            self._delays.record(max(0, run.at - run.due_at) / 1000)
        else:
            self._runs.add(1, {semconv.OUTCOME: run.status})
