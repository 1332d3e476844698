"""The dashboards are what their source says, and follow the rules that Grafana's own linter has."""

import re
import subprocess
import sys
from collections import Counter

from tests.observability.boards import BOARDS, ROOT, panels, queries

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
ROWS = {
    "Overview",
    "Latency",
    "Tokens and cost",
    "Upstream",
    "Agent loop",
    "Tools",
    "Approvals",
    "Skills",
    "Recall",
    "What is remembered",
    "Learning and documents",
    "Kept aside",
    "Read and passed on",
    "What is stored",
    "MCP servers and steps",
    "Compression and archive",
    "Schedules",
    "Webhooks",
    "Streams",
    "Requests",
    "Replicas",
    "Process and pipeline",
}


def test_they_are_what_their_source_says() -> None:
    """grafana/dashboards/ is what grafana/generate.py writes."""
    checked = subprocess.run(
        [sys.executable, "grafana/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_every_subject_has_its_row() -> None:
    """What the issue of an operator may be, from the first look to the process."""
    titles = {
        panel["title"] for board in BOARDS.values() for panel in board["panels"] if panel["type"] == "row"
    }

    assert titles == ROWS


def test_the_data_source_is_a_variable() -> None:
    """A dashboard works with whatever Prometheus there is: nothing names one."""
    for name, board in BOARDS.items():
        variables = {variable["name"]: variable for variable in board["templating"]["list"]}
        assert variables.keys() == {"datasource", "job", "instance"}, name
        assert variables["datasource"]["type"] == "datasource"
        assert variables["datasource"]["query"] == "prometheus"
        assert [variables[name]["datasource"] for name in ("job", "instance")] == [SOURCE, SOURCE]
    for name, panel in panels():
        assert panel["datasource"] == SOURCE, (name, panel["title"])
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}


def test_every_panel_says_what_it_shows_and_in_which_unit() -> None:
    """A title, a description and a unit."""
    for name, panel in panels():
        assert panel["title"], name
        assert panel["description"].endswith("."), (name, panel["title"])
        assert panel["fieldConfig"]["defaults"]["unit"], (name, panel["title"])
        assert panel["targets"], (name, panel["title"])


def test_ids_and_titles_are_their_own() -> None:
    """Panel ids are unique in a dashboard, titles in a row, and no two panels lie on each other."""
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS)
    for name, board in BOARDS.items():
        for what in ("id", "title"):
            assert max(Counter(panel[what] for panel in board["panels"]).values()) == 1, (name, what)
        cells = Counter(
            (column, line)
            for panel in board["panels"]
            for place in [panel["gridPos"]]
            for column in range(place["x"], place["x"] + place["w"])
            for line in range(place["y"], place["y"] + place["h"])
        )
        assert max(cells.values()) == 1, name
        assert max(column for column, _ in cells) < 24, name


def test_rates_adapt_to_the_scrape_interval() -> None:
    """A rate looks back as far as Grafana knows to be right, and a table over the time shown."""
    for query in queries():
        spans = set(re.findall(r"\[([^]]+)]", query.expression))
        allowed = {"$__range"} if query.panel["type"] == "table" else {"$__rate_interval"}
        assert spans <= allowed, query.expression
        counted = re.findall(r"(?<![\w:])(\w+_(?:total|bucket|count|sum))\{", query.expression)
        assert len(counted) == len(re.findall(r"(?:rate|increase)\(\w+\{", query.expression)) or not counted


def test_every_query_is_about_the_chosen_gateways() -> None:
    """Each selector has the matchers of the dashboard's variables."""
    for query in queries():
        selectors = re.findall(r"\w+\{[^}]*\}", query.expression)
        assert selectors, query.expression
        for selector in selectors:
            assert 'job=~"$job",instance=~"$instance"' in selector, query.expression


def test_exemplars_are_asked_for_where_there_are_some() -> None:
    """The graphs of what a turn measures lead to its trace."""
    shown = {
        panel["title"] for _, panel in panels() if any(target["exemplar"] for target in panel["targets"])
    }

    assert {
        "Time to first content by model",
        "Model calls",
        "Turn time by agent",
        "Time by tool, p95",
        "Time until an answer",
        "Search time",
    } <= shown
