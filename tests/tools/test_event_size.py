"""The event of a tool's result, with everything that a tool may tell at its most."""

from typing import Any

import pytest

from gateway.events.tool_calls import StepTrace
from gateway.tools import function
from gateway.tools.function import tool
from gateway.tools.steps import MAX_STEPS, STEPS_SIZE
from gateway.tools.time_limit import run_in_time
from tests.product import CallResult
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

FRAME = 65_536
"""Bytes of one frame, at most."""
CONTENT = 32_768
"""Bytes of JSON that the model reads of one result."""


@pytest.mark.parametrize("letter", ["x", "长", "\x01", '"'])
async def test_a_result_with_everything_at_its_most_fits_into_a_frame(letter: str) -> None:
    """A hundred steps, a thousand suggestions and the longest content together; names that JSON writes long,
    too. What is kept of them is nearly as much as may be."""
    write: dict[str, Any] = {"owner_type": "user", "type": "fact", "importance": 3, "content": letter * 60}
    steps = [
        StepTrace(step_id="", step_name=letter * 20, input=letter * 3000, output=letter * 99, duration_ms=1)
    ]

    @tool(effect="read_only")
    def report() -> function.ToolResult:
        """Reports."""
        return function.ToolResult(
            result="c" * (CONTENT - 2),
            memory_writes=[write | {"owner_id": letter * 50}] * 1000,
            intermediate_steps=steps * MAX_STEPS,
        )

    output = await run_in_time(report, {}, given := context())
    traces = CallResult(
        name="n" * 64,
        status="ok",
        content=output.content,
        duration_ms=2**53,
        artifact="ART-0123456789",
        memory_writes=list(output.memory_writes),
        steps=given.steps.traces(output.steps),
    )

    size = len(traces.model_dump_json(exclude_none=True))
    assert (
        size + 1500 <= FRAME
    )  # with the ids of the session, the turn and the call, and the names of the fields
    assert size >= CONTENT + STEPS_SIZE
