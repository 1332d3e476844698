"""How far a tool is."""

import asyncio
from time import monotonic

import pytest

from gateway.events.tool_calls import ToolProgress
from gateway.tools.function import Progress, tool
from gateway.tools.progress import INTERVAL, MESSAGE_LENGTH
from gateway.tools.time_limit import run_in_time
from tests.product import EventData, StorageError, encode_data
from tests.tools.calling import context

pytestmark = pytest.mark.anyio


@tool(effect="read_only")
def pages(progress: Progress, of: int) -> str:
    """Reads pages."""
    for page in range(1, of + 1):
        progress(f"第 {page} 页, 共 {of} 页", page / of)
    return "read"


async def test_a_flood_is_told_as_a_few_events_the_last_among_them() -> None:
    """No more than one event in INTERVAL seconds, and one at the end; nothing is held up."""
    events: list[EventData] = []
    began = monotonic()

    output = await run_in_time(pages, {"of": 20_000}, context(events.append))

    assert output.content == "read"
    assert len(events) <= 2 + (monotonic() - began) / INTERVAL
    assert events[-1] == ToolProgress(message="第 20000 页, 共 20000 页", progress=1)
    assert "progress" not in pages.spec.input_schema["properties"]


async def test_what_was_told_too_early_is_told_a_little_later_while_the_tool_goes_on() -> None:
    """A tool that then works for an hour does not stay at what it said before."""
    messages = list[str | None]()
    last = asyncio.Event()

    def hear(data: EventData) -> None:
        assert isinstance(data, ToolProgress)
        messages.append(data.message)
        if data.message == "90 %":
            last.set()

    @tool(effect="read_only")
    async def work(progress: Progress) -> str:
        """Works."""
        progress("10 %")
        await asyncio.sleep(0)
        progress("50 %")
        progress("90 %")
        await last.wait()
        return ""

    await run_in_time(work, {}, context(hear))

    assert messages == ["10 %", "90 %"]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(float("nan"), None), (float("inf"), None), (7, 1), (-1, 0), (0.25, 0.25), (None, None)],
)
async def test_what_a_tool_says_of_itself_cannot_break_the_event(
    share: float, expected: float | None
) -> None:
    """A share outside 0 to 1 is the nearest one inside, a long or broken message is mended."""
    events: list[EventData] = []

    @tool(effect="read_only")
    async def work(progress: Progress) -> str:
        """Works."""
        progress("长" * 9999 + "\ud800", share)
        progress("\ud83d\x00 half", share)
        return ""

    await run_in_time(work, {}, context(events.append))

    assert events == [ToolProgress(message="\ufffd half", progress=expected)]
    assert encode_data(events[0])


async def test_a_long_message_is_cut() -> None:
    """Progress is a line, not a report."""
    events: list[EventData] = []

    @tool(effect="read_only")
    async def work(progress: Progress) -> str:
        """Works."""
        progress("长" * 9999)
        return ""

    await run_in_time(work, {}, context(events.append))

    assert events == [ToolProgress(message="长" * MESSAGE_LENGTH)]


async def test_progress_that_nobody_can_record_does_not_fail_the_tool() -> None:
    """The turn that owns the call learns of it by itself."""

    def refuse(_: EventData) -> None:
        raise StorageError("The turn is closed.")

    output = await run_in_time(pages, {"of": 3}, context(refuse))

    assert output.content == "read"
