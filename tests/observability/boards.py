"""The dashboards as Grafana reads them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "grafana"

BOARDS: dict[str, dict[str, Any]] = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((GRAFANA / "dashboards").glob("*.json"))
}


class Query(NamedTuple):
    """One expression of one panel."""

    board: str
    panel: dict[str, Any]
    expression: str

    def asked(self) -> str:
        """The expression as Grafana would send it, over everything and for a short while."""
        values = {"$__rate_interval": "15s", "$__range": "60s", "$job": ".+", "$instance": ".+"}
        found = self.expression
        for name, value in values.items():
            found = found.replace(name, value)
        return found

    def selectors(self) -> list[str]:
        """What it takes from Prometheus: names with their matchers."""
        return re.findall(r"[a-zA-Z_:][\w:]*\{[^}]*\}", self.asked())


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every panel that shows something, with the name of its board."""
    for name, board in BOARDS.items():
        yield from ((name, panel) for panel in board["panels"] if panel["type"] != "row")


def queries() -> Iterator[Query]:
    for name, panel in panels():
        yield from (Query(name, panel, target["expr"]) for target in panel["targets"])
