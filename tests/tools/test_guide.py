"""docs/tools.md: its examples are tools, and do what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from gateway.tools.base import FunctionTool
from gateway.tools.time_limit import run_in_time
from tests.product import ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

GUIDE = Path(__file__).parents[2] / "docs" / "tools.md"


@pytest.fixture
def tools() -> dict[str, FunctionTool]:
    """What the examples of the guide define, as if they stood in one file."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(block, names)
    return {name: value for name, value in names.items() if isinstance(value, FunctionTool)}


async def test_the_examples_of_the_guide_work(tools: dict[str, FunctionTool]) -> None:
    """Each can be called, and records, tells and suggests what the text says."""
    given = context()

    found = await run_in_time(tools["search_orders"], {"words": "Friday"}, given)
    seat = await run_in_time(tools["choose_seat"], {"seat": "window"}, given)
    with pytest.raises(ToolError, match="There is no order A-18"):
        await run_in_time(tools["order_status"], {"order_id": "A-18"}, given)

    assert found.content == '["A-17"]'
    assert [(step.input, step.output) for step in given.steps.traces()] == [({"words": "Friday"}, ["A-17"])]
    assert [write.content for write in seat.memory_writes] == ["Likes the window seat."]
    assert seat.problems == []


async def test_the_guides_invoice_is_a_file(
    tools: dict[str, FunctionTool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives back what lies in the folder, and nothing but the invoices of orders that there are."""
    monkeypatch.chdir(tmp_path)
    Path("invoices").mkdir()
    Path("invoices", "A-17.pdf").write_bytes(b"%PDF-1.4 \n%%EOF")

    output = await run_in_time(tools["invoice"], {"order_id": "A-17"}, context())
    with pytest.raises(ToolError, match="There is no order"):
        await run_in_time(tools["invoice"], {"order_id": "../A-17"}, context())

    assert [(file.data, file.mime, file.name) for file in output.files] == [
        (b"%PDF-1.4 \n%%EOF", "application/pdf", "A-17.pdf")
    ]
