"""The recording and alert rules, as promtool sees them."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.observability.boards import GRAFANA, ROOT
from tests.telemetry.prometheus import needs_prometheus, promtool

RULES = sorted((GRAFANA / "rules").glob("*.yml"))
CASES = GRAFANA / "rules" / "tests" / "alerts.yml"
DEFINED: list[dict[str, Any]] = [
    rule for path in RULES for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]
]
ALERTS = [rule for rule in DEFINED if "alert" in rule]
RECORDED: list[str] = [rule["record"] for rule in DEFINED if "record" in rule]


@needs_prometheus
def test_promtool_takes_the_rules() -> None:
    """Their syntax, and that no two record the same."""
    code, said = promtool("check", "rules", *RULES)

    assert (code, "FAILED" in said) == (0, False), said


@needs_prometheus
def test_a_healthy_gateway_is_left_alone_and_every_trouble_is_told() -> None:
    """Each alert fires in its own case and in no other."""
    code, said = promtool("test", "rules", CASES)

    assert code == 0, said


@needs_prometheus
def test_an_alert_that_never_fires_fails_its_case(tmp_path: Path) -> None:
    """With every threshold out of reach no case of a trouble holds, of those of half an hour."""
    for path in RULES:
        rules = yaml.safe_load(path.read_text())
        for rule in (rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule):
            rule["expr"] = f"({rule['expr']}) < -1"
        (tmp_path / path.name).write_text(yaml.safe_dump(rules))
    written = yaml.safe_load(CASES.read_text())
    short = [case for case in written["tests"] if _is_short(case)]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / CASES.name).write_text(yaml.safe_dump(written | {"tests": short}))
    told = {alert["alert"] for alert in ALERTS if f'"{alert["alert"]}"' in str(short)}

    code, said = promtool("test", "rules", tmp_path / "tests" / CASES.name)

    assert code != 0
    assert len(told) > len(ALERTS) / 3
    assert {name for name in told if name not in said} == set()


def _is_short(case: dict[str, Any]) -> bool:
    return all(re.fullmatch(r"[12]?\dm|30m", asked["eval_time"]) for asked in case["promql_expr_test"])


def test_every_alert_has_its_case_and_its_place_in_the_documentation() -> None:
    """No alert wakes somebody who cannot read what to do."""
    cases, page = CASES.read_text(), (ROOT / "docs" / "observability.md").read_text()

    for alert in ALERTS:
        name = alert["alert"]
        assert f'alertname="{name}"' in cases, name
        assert re.search(rf"^\| `{name}` \| .+ \| .+ \|$", page, re.MULTILINE), name
        assert alert["labels"]["severity"] in {"page", "ticket"}, name
        assert {"summary", "description"} <= alert["annotations"].keys(), name
