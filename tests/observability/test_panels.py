"""Every dashboard and every rule, answered by a real Prometheus that scraped a gateway under load."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from time import time
from typing import Any

import pytest

from tests.harness import Client
from tests.observability.boards import Query, queries
from tests.observability.load import busy_gateway, measured, scripted_round, until_seen
from tests.observability.test_rules import RECORDED, RULES
from tests.product import Settings
from tests.telemetry.collector import running_collector
from tests.telemetry.prometheus import Prometheus, needs_prometheus, promtool, running_prometheus

pytestmark = pytest.mark.anyio

LAST = "gateway_archive_write_duration_seconds_count"
"""What grows at the end of a round: when it was scraped, all was."""
WAITING = 'gateway_memories{gateway_memory_quarantined="true"'


@needs_prometheus
async def test_every_panel_and_every_rule_has_data(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under turns of every kind each query of each panel has a number, each of the series it names is there,
    each rule is evaluated without an error, and promtool takes the metrics as they are then."""
    monkeypatch.setattr("gateway.telemetry.metrics.stored_metrics.INTERVAL", 0.5)
    with running_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        async with (
            busy_gateway(settings) as client,
            running_prometheus(tmp_path, client.url, RULES) as prometheus,
        ):
            since = time()
            for _ in range(2):  # a rate needs a series that grew between two scrapes
                await scripted_round(client)
                await until_seen(lambda: measured(client, WAITING))  # counted now and then
                await prometheus.until(LAST, await measured(client, LAST))
            empty = [query for query in queries() if not await _has_data(prometheus, query, since)]
            unknown = await _unknown_series(prometheus)
            rules = await prometheus.rules()
            unrecorded = [name for name in RECORDED if not await prometheus.ask("query", query=name)]
            traces = await _exemplars(prometheus, since)
            said = promtool("check", "metrics", given=await _exposed(client))

    assert [(query.board, query.panel["title"], query.expression) for query in empty] == []
    assert unknown == set()
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []
    assert unrecorded == []
    assert traces
    assert traces <= {span.trace_id.hex() for span in collector.spans}
    assert said == (0, "")


async def _has_data(prometheus: Prometheus, query: Query, since: float) -> bool:
    """Whether there is a number at any moment of the load; for a table, now."""
    if query.panel["type"] == "table":
        found = await prometheus.ask("query", query=query.asked())
        return any(isfinite(float(series["value"][1])) for series in found)
    times = {"start": str(since), "end": str(time() + 1), "step": "1"}
    found = await prometheus.ask("query_range", query=query.asked(), **times)
    return any(isfinite(float(value)) for series in found for _, value in series["values"])


async def _unknown_series(prometheus: Prometheus) -> set[str]:
    """What a panel asks for and nobody measures: `or vector(0)` would hide a wrong name."""
    selectors = {selector for query in queries() for selector in query.selectors()}
    return {
        selector
        for selector in selectors
        if not await prometheus.ask("query", query=f"present_over_time({selector}[5m])")
    }


async def _exemplars(prometheus: Prometheus, since: float) -> set[str]:
    """The traces that the points of the graphs lead to."""
    asked = [query for query in queries() if any(target["exemplar"] for target in query.panel["targets"])]
    times = {"start": str(since - 60), "end": str(time() + 60)}
    found: Sequence[dict[str, Any]] = [
        series
        for query in asked
        for series in await prometheus.ask("query_exemplars", query=query.asked(), **times)
    ]
    return {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}


async def _exposed(client: Client) -> str:
    return (await client.get("/metrics")).text
