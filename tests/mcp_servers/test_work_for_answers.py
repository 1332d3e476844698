"""What a server's answer can cost the event loop, which others wait for: CPU of what is made of it."""

from collections.abc import AsyncIterator, Callable, Sequence
from time import thread_time
from typing import Any

import httpx2
import pytest

from gateway.tools.mcp import bounds
from gateway.tools.mcp.call_results import mended_result
from gateway.tools.mcp.http_answers import mend
from gateway.tools.mcp.set_aside import SetAside
from gateway.tools.mcp.wire_messages import whole_characters

MOST = 0.4
"""Seconds of CPU: several times what each takes now, and a part of what it took."""


def cpu_of(work: Callable[[], object]) -> float:
    before = thread_time()
    work()
    return thread_time() - before


def told_of(text: str, structured: Any) -> list[str]:
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": structured}}
    return [part["text"] for part in mended_result(result)["content"]]


@pytest.mark.parametrize(
    "part", [{}, {"type": "x"}, {"type": "image"}, {"type": "resource", "resource": {}}], ids=str
)
def test_parts_that_cannot_be_read(part: dict[str, Any]) -> None:
    found: list[dict[str, Any]] = []
    assert cpu_of(lambda: found.append(mended_result({"content": [part] * 99_000}))) < MOST
    assert len(found[0]["content"]) == bounds.CONTENT + 1
    assert "98000 more parts" in found[0]["content"][-1]["text"]


def test_the_text_of_many_parts_is_all_there() -> None:
    parts = [{"type": "text", "text": f"line {number}"} for number in range(5000)]
    mended = mended_result({"content": parts})["content"]
    assert "\n".join(part["text"] for part in mended) == "\n".join(part["text"] for part in parts)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a1 " * 1_000_000 + " ".join(map(str, range(10_000, 10_200))), [*range(10_000, 10_200)]),
        ("a1 " * 80_000, [1] * 200),
        ("1" * 260_000, [1] * 200),
        ("1" * 260_000, ["1" * 400] * 200),
    ],
    ids=["long", "within words", "within numbers", "long values"],
)
def test_values_that_are_looked_for(text: str, values: list[Any]) -> None:
    assert cpu_of(lambda: told_of(text, values)) < MOST


@pytest.mark.parametrize(
    ("text", "value", "is_there"),
    [
        ("is 12", 1, False),
        ("1 of 2", 1, True),
        ("11 1", 1, True),
        ("x1 2.1 10", 1, False),
        ("at -1", 1, True),
    ],
)
def test_a_number_that_stands_alone(text: str, value: int, is_there: bool) -> None:
    told = told_of(text, [value])
    assert (told == [text]) == is_there


def test_escapes() -> None:
    assert cpu_of(lambda: whole_characters(b'"' + b"\\u0020" * 1_300_000 + b'"')) < MOST
    assert whole_characters(rb'"\ud83d\ude00 \ud83d \ude00 \\ud83d \\\ud83d"') == (
        rb'"\ud83d\ude00 \ufffd \ufffd \\ud83d \\\ufffd"'
    )
    assert whole_characters(rb"\ud83d\ud83d\ude00\ude00") == rb"\ufffd\ud83d\ude00\ufffd"


@pytest.mark.anyio
async def test_a_long_line_in_small_pieces() -> None:
    line = b"data: " + b"a" * 2_000_000
    pieces = [line[at : at + 20] for at in range(0, len(line), 20)]
    before = thread_time()
    read = await read_through([*pieces, b"\n\n"])
    assert thread_time() - before < 4 * MOST  # 100,000 pieces, each of which is looked at
    assert read.startswith(b"data: {")
    assert b"no message of the protocol" in read


async def read_through(pieces: Sequence[bytes]) -> bytes:
    """A stream of events as the SDK gets it."""

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

    request = httpx2.Request("POST", "http://s", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    head = {"content-type": "text/event-stream"}
    response = httpx2.Response(200, headers=head, stream=Pieces(), request=request)
    await mend(response, mended_result, SetAside())
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    return b"".join([piece async for piece in response.stream])
