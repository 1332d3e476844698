"""The largest answers of servers: whatever is in them, others wait for none."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from gateway.errors import ServerUnreachable
from tests.loop_watchdog import LIMIT, steps_taken
from tests.mcp_servers.large_answers import BEFORE, LISTS, PARTS, SHAPES, SIZE
from tests.mcp_servers.serving import HERE, Attached, address, attached, body, program

pytestmark = pytest.mark.anyio

SCRIPT = HERE / "large_answers.py"


@asynccontextmanager
async def answering(way: str, listed: str = "") -> AsyncGenerator[Attached]:
    if way == "program":
        async with attached(it=program(SCRIPT.name, way, listed)) as servers:
            yield servers
        return
    command = [sys.executable, str(SCRIPT), way, listed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 - starts
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            async with attached(it=address(f"http://127.0.0.1:{port}")) as servers:
                yield servers
        finally:
            process.terminate()


@pytest.mark.parametrize("way", ["program", "body", "stream"])
async def test_the_largest_answers_hold_nobody_up(way: str) -> None:
    """From the first byte to what the model is told."""
    held = dict[str, float]()
    async with answering(way) as servers:
        await servers.call("it", shape="small")  # code is loaded
        for shape in [*SHAPES, *BEFORE]:
            with steps_taken() as steps:
                try:
                    output = await servers.call("it", shape=shape)
                    assert output.content or output.files
                except ServerUnreachable:  # what is too much ends the session
                    await servers.until(lambda: servers.state.status == "failed")
                await servers.until(lambda: servers.state.status == "connected")
            held[shape] = max(steps)
    assert {shape: seconds for shape, seconds in held.items() if seconds > LIMIT} == {}


@pytest.mark.parametrize("listed", LISTS)
async def test_the_largest_lists_hold_nobody_up(listed: str) -> None:
    """Of tools with all that their schemas may have."""
    async with answering("stream"):  # code is loaded
        pass
    with steps_taken() as steps:
        async with answering("stream", listed) as servers:
            assert servers.state.status == "connected"
    assert max(steps) < LIMIT


@pytest.mark.parametrize(
    ("way", "told"), [("body", "an answer is too large"), ("stream", "an answer is too large")]
)
async def test_what_is_too_large_is_told_as_that(way: str, told: str) -> None:
    """At an address the session goes on."""
    async with answering(way) as servers:
        output = await servers.call("it", shape="too many values")
        assert output.is_error
        assert told in body(output)
        assert not (await servers.call("it", shape="small")).is_error


@pytest.mark.parametrize("way", ["program", "body", "stream"])
async def test_all_of_a_large_answer_is_told(way: str) -> None:
    """As it was written."""
    async with answering(way) as servers:
        written = json.loads(body(await servers.call("it", shape="names of objects")))["r"]
        assert len(written) == PARTS // 2 - 5
        assert written[-1] == {f"{PARTS // 2 - 6:090}": ""}
        numbers = json.loads(body(await servers.call("it", shape="long numbers")))["r"]
        assert set(numbers) == {int("7" * 99)}
        (picture,) = (await servers.call("it", shape="a picture")).files
        assert picture.data == b"ABC" * (SIZE // 4)
