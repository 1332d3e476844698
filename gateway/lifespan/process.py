"""What every step of the start builds on: telemetry, background tasks, the databases."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

import structlog
from starlette.applications import Starlette

from gateway.certificates import certificates_named
from gateway.errors import SettingsError
from gateway.gauges import measure_background
from gateway.settings import Settings
from gateway.supervisor import Supervisor, Work
from gateway.telemetry.endpoints import faults
from gateway.telemetry.lines.logs import configure_logging
from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.setup import Telemetry, open_telemetry
from gateway.wiring import Storage, open_storage

log = structlog.get_logger(__name__)


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


def _tell_faults() -> None:
    """Says what the variables of other programs' making, which are no settings, will make fail."""
    says = faults()
    try:
        certificates_named()
    except SettingsError as error:
        says.append(error.message)
    for each in says:
        log.warning("variable_without_effect", says=each)


async def open_process(app: Starlette, stack: AsyncExitStack) -> Process:
    """Raises what `open_storage` raises."""
    settings: Settings = app.state.settings
    configure_logging(settings.log_level, settings.log_format)
    app.state.telemetry = telemetry = open_telemetry(settings)
    _tell_faults()
    stack.push_async_callback(telemetry.shutdown)
    app.state.supervisor = supervisor = Supervisor()
    measure_background(telemetry.metrics, supervisor)
    storage = await stack.enter_async_context(open_storage(settings, flushed=telemetry.metrics.log.flushed))
    storage.bus.watch(telemetry.observe)
    return Process(app, stack, settings, telemetry, supervisor, storage)
