"""What `gateway dev` offers beside the built-in tools while the demo model answers."""

from pathlib import Path

import pytest

from gateway.app import build_app
from tests.harness import settings_for


@pytest.mark.parametrize(("demo", "offered"), [(True, True), (False, False)])
def test_tools_of_the_demo_are_there_with_it_only(tmp_path: Path, demo: bool, offered: bool) -> None:
    """A newcomer sees an approval and an artifact without a key; a real model gets no tool that writes."""
    app = build_app(settings_for(tmp_path, "http://127.0.0.1:9"), demo=demo)

    names = {skill.tool.spec.name for skill in app.state.functions}

    assert ({"write_note", "sample_orders", "order_totals"} <= names) is offered
    assert ("write_note" in names) is offered
