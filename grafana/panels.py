"""Rows and panels of a Grafana dashboard, as the plain JSON that Grafana keeps.

Queries are written with `@` for the labels that every selector has: `rate(gateway_turns_total{@}[…])`. They
come from the dashboard's variables, so that one dashboard serves several gateways.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

LABELS = 'job=~"$job",instance=~"$instance"'
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
"""Columns of Grafana's grid."""
SCHEMA = 39
"""Version of the dashboard JSON that Grafana 11 writes; later ones migrate it when they read it."""
TAG = "chat-gateway"

Unit = Literal["short", "s", "percentunit", "currencyUSD", "bytes", "cpm", "cps", "reqps", "none"]
"""Grafana's ids of units; cpm and cps are counts per minute and per second."""
Queries = Mapping[str, str]
"""Expressions by what their series are called in the legend."""
Steps = tuple[float, float]
"""From where a value is doubtful, and from where it is bad."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `says` is its description: what it shows and what to think of it. `stacked` graphs fill the
    area, `exemplars` draws the traces behind the numbers as points."""

    kind: Literal["stat", "timeseries", "heatmap", "table"]
    title: str
    says: str
    unit: Unit
    queries: Queries
    width: int = 8
    height: int = 8
    exemplars: bool = False
    stacked: bool = False
    steps: Steps | None = None


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard; `name` is its file and the end of its address."""

    name: str
    title: str
    says: str
    rows: Sequence[Row]


def stat(title: str, says: str, unit: Unit, query: str, steps: Steps | None = None) -> Panel:
    """One number with its recent course."""
    return Panel("stat", title, says, unit, {"": query}, width=3, height=4, steps=steps)


def graph(
    title: str,
    says: str,
    unit: Unit,
    queries: Queries,
    *,
    width: int = 8,
    exemplars: bool = False,
    stacked: bool = False,
) -> Panel:
    """Lines over time."""
    return Panel("timeseries", title, says, unit, queries, width, exemplars=exemplars, stacked=stacked)


def heatmap(title: str, says: str, unit: Unit, metric: str, *, width: int = 8) -> Panel:
    """A histogram's buckets over time, with the traces in them."""
    query = f"sum by (le) (increase({metric}_bucket{{@}}[$__rate_interval]))"
    return Panel("heatmap", title, says, unit, {"{{le}}": query}, width, exemplars=True)


def table(title: str, says: str, unit: Unit, queries: Queries, *, width: int = 12) -> Panel:
    """One line per series over the whole time shown, one column per query."""
    return Panel("table", title, says, unit, queries, width)


def rate(metric: str, *by: str, where: str = "") -> str:
    """Per second, summed but for the labels in `by`; `where` are further matchers."""
    labels = f" by ({', '.join(by)}) " if by else ""
    return f"sum{labels}(rate({metric}{{@{where and ','}{where}}}[$__rate_interval]))"


def per_minute(metric: str, *by: str, where: str = "") -> str:
    """As `rate`, per minute: for what happens now and then."""
    return f"{rate(metric, *by, where=where)} * 60"


def quantile(share: float, metric: str, *by: str, where: str = "") -> str:
    """Of a histogram, over everything but the labels in `by`."""
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', 'le', *by, where=where)})"


def quantiles(metric: str, *shares: float, by: str = "", where: str = "") -> Queries:
    """A line for each share, and for each value of the label `by`."""
    labels = [by] if by else []
    return {
        " ".join([f"p{share * 100:g}", *map(legend, labels)]): quantile(share, metric, *labels, where=where)
        for share in shares
    }


def legend(*labels: str) -> str:
    """The values of these labels, as what a series is called."""
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def written(board: Board) -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for row in board.rows:
        panels.append(_row(row.title, len(panels) + 1, top))
        top = _lay_out(row.panels, panels, top + 1)
    return {
        "uid": f"{TAG}-{board.name}",
        "title": f"Chat Gateway / {board.title}",
        "description": board.says,
        "tags": [TAG],
        "schemaVersion": SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "annotations": {"list": []},
        "links": [_links_to_the_others()],
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _lay_out(row: Sequence[Panel], panels: list[dict[str, Any]], top: int) -> int:
    """Places a row's panels from left to right, line after line; returns where the next row begins."""
    left = tallest = 0
    for panel in row:
        if left + panel.width > WIDTH:
            top, left, tallest = top + tallest, 0, 0
        place = {"h": panel.height, "w": panel.width, "x": left, "y": top}
        panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(panel)})
        left, tallest = left + panel.width, max(tallest, panel.height)
    return top + tallest


def _row(title: str, number: int, top: int) -> dict[str, Any]:
    place = {"h": 1, "w": WIDTH, "x": 0, "y": top}
    return {"id": number, "gridPos": place, "type": "row", "title": title, "collapsed": False, "panels": []}


def _panel(panel: Panel) -> dict[str, Any]:
    written: dict[str, Any] = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.says,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [_target(panel, *query) for query in enumerate(panel.queries.items())],
    }
    if panel.kind == "table":
        # Grafana numbers the value columns only when there are several.
        values = [f"Value #{target['refId']}" for target in written["targets"]]
        names = dict(zip(values if len(values) > 1 else ["Value"], panel.queries, strict=True))
        written["transformations"] = [
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": names}},
        ]
    return written


def _target(panel: Panel, number: int, query: tuple[str, str]) -> dict[str, Any]:
    legend, expression = query
    target: dict[str, Any] = {
        "refId": chr(ord("A") + number),
        "datasource": SOURCE,
        "expr": expression.replace("@", LABELS),
        "legendFormat": legend,
        "exemplar": panel.exemplars,
        "range": panel.kind != "table",
        "instant": panel.kind == "table",
    }
    formats = {"heatmap": "heatmap", "table": "table"}
    return {**target, "format": formats.get(panel.kind, "time_series")}


def _defaults(panel: Panel) -> dict[str, Any]:
    steps = [{"color": "green", "value": None}]
    if panel.steps is not None:
        steps += [
            {"color": color, "value": value}
            for color, value in zip(("yellow", "red"), panel.steps, strict=True)
        ]
    found: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        found["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 40 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": stacking,
        }
    return found


def _links_to_the_others() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Chat Gateway",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }


def _variables() -> list[dict[str, Any]]:
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return [
        {**source, "current": {}, "hide": 0, "refresh": 1},
        _choice("job", "label_values(gateway_turn_active, job)"),
        _choice("instance", 'label_values(gateway_turn_active{job=~"$job"}, instance)'),
    ]


def _choice(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


_OPTIONS: Mapping[str, Any] = {
    "stat": {
        "colorMode": "value",
        "graphMode": "area",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "yAxis": {"unit": "s"},
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": True},
    },
    "table": {"showHeader": True, "sortBy": []},
}
