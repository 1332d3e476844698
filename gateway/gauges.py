"""The sources of gauges: what a scrape reads from the parts of the process."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from shutil import disk_usage
from typing import Literal

from gateway.memory.documents.document_sync import Documents
from gateway.service.gateway import Gateway
from gateway.skills.library import SkillLibrary
from gateway.storage.sqlite_files.file_watch import FILE_TROUBLES, FileWatch
from gateway.supervisor import Supervisor
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.setup import Telemetry
from gateway.tools.mcp.configured_servers import McpServers
from gateway.turn.replica_heartbeat import ReplicaHeartbeat
from gateway.wiring import Storage


def measure_gateway(
    telemetry: Telemetry,
    storage: Storage,
    gateway: Gateway,
    skills: SkillLibrary,
    servers: McpServers,
) -> None:
    """Pools, streams, turns, skills, replicas and MCP servers."""
    storage.measured_by(telemetry.metrics.pools)
    observe = telemetry.metrics.observe
    observe(table.LOG_READERS, lambda: storage.bus.readers)
    observe(table.QUEUE_DEPTH, lambda: gateway.heartbeat.queued)
    observe(table.TURNS_PARKED, lambda: gateway.approvals.parked)
    observe(table.SKILLS, lambda: Counter((s.type, s.enabled) for s in skills.catalog.skills))
    _measure_replicas(telemetry.metrics, storage, gateway.heartbeat)
    _measure_disk(telemetry.metrics, gateway.deps.settings.data_dir)
    observe(table.MCP_UP, lambda: {(s.name,): int(s.status == "connected") for s in servers.states})


def _measure_disk(metrics: MetricsRegistry, folder: Path) -> None:
    """At each scrape: the kernel has both at hand."""

    def look(which: Literal["free", "total"]) -> dict[tuple[()], int]:
        try:
            return {(): getattr(disk_usage(folder), which)}
        except OSError:  # the folder is away
            return {}

    metrics.observe(table.DISK_FREE, lambda: look("free"))
    metrics.observe(table.DISK_SIZE, lambda: look("total"))


def _measure_replicas(metrics: MetricsRegistry, storage: Storage, heartbeat: ReplicaHeartbeat) -> None:
    metrics.observe(table.REPLICAS, lambda: len(heartbeat.peers) + 1)
    metrics.observe(table.REPLICAS_DIFFER, lambda: len(heartbeat.differences))
    metrics.observe(
        table.TAKEOVERS, lambda: {(why,): count for why, count in dict(heartbeat.taken_over).items()}
    )
    metrics.observe(table.LEASE_AGE, lambda: storage.replicas.lease.age)

    def latencies() -> dict[tuple[()], float]:
        seconds = storage.notification_time()
        return {} if seconds is None else {(): seconds}

    metrics.observe(table.NOTIFICATION_TIME, latencies)


def measure_files(metrics: MetricsRegistry, watches: Mapping[str, FileWatch]) -> None:
    """What is wrong with the files of the databases."""

    def unusable() -> dict[tuple[str, str], int]:
        found = {(holds, code): 0 for holds in watches for code in FILE_TROUBLES}
        troubled = {(holds, watch.trouble.code): 1 for holds, watch in watches.items() if watch.trouble}
        return found | troubled

    metrics.observe(table.DATABASE_UNUSABLE, unusable)


def measure_background(metrics: MetricsRegistry, supervisor: Supervisor) -> None:
    """Failures of background tasks, by task."""

    def failing() -> dict[tuple[str], int]:
        now = supervisor.failing
        return {(name,): int(name in now) for name in dict(supervisor.failures)}

    metrics.observe(
        table.BACKGROUND_FAILURES,
        lambda: {(name,): times for name, times in dict(supervisor.failures).items()},
    )
    metrics.observe(table.BACKGROUND_FAILING, failing)


def measure_documents(metrics: MetricsRegistry, documents: Documents) -> None:
    """Documents that memories come from, and warnings about them."""

    def states() -> dict[tuple[str], int]:
        found = documents.found
        return {("used",): len(found.documents), ("deprecated",): len(found.deprecated)}

    metrics.observe(table.DOCUMENTS, states)
    metrics.observe(table.DOCUMENT_WARNINGS, lambda: len(documents.found.warnings))
