"""What every step of the start builds on: telemetry, background tasks, the databases."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from starlette.applications import Starlette

from gateway.gauges import measure_background
from gateway.settings import Settings
from gateway.supervisor import Supervisor, Work
from gateway.telemetry.lines.logs import configure_logging
from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.setup import Telemetry, open_telemetry
from gateway.wiring import Storage, open_storage


@dataclass(frozen=True, slots=True)
class Process:
    """What is put on the `stack` ends with the process, the last of it first."""

    app: Starlette
    stack: AsyncExitStack
    settings: Settings
    telemetry: Telemetry
    supervisor: Supervisor
    storage: Storage

    @property
    def metrics(self) -> MetricsRegistry:
        return self.telemetry.metrics

    async def run(self, work: Work, name: str) -> None:
        """Has a background task run until the process ends."""
        await self.stack.enter_async_context(self.supervisor.running(work, name))


async def open_process(app: Starlette, stack: AsyncExitStack) -> Process:
    """Raises what `open_storage` raises."""
    settings: Settings = app.state.settings
    configure_logging(settings.log_level, settings.log_format)
    app.state.telemetry = telemetry = open_telemetry(settings)
    stack.push_async_callback(telemetry.shutdown)
    app.state.supervisor = supervisor = Supervisor()
    measure_background(telemetry.metrics, supervisor)
    storage = await stack.enter_async_context(open_storage(settings, flushed=telemetry.metrics.log.flushed))
    storage.bus.watch(telemetry.observe)
    return Process(app, stack, settings, telemetry, supervisor, storage)
