"""Whole turns before endpoints that stream as the Messages API does not, over real sockets: what a person
sees, and a record in order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.contracts.test_deviating_endpoints import (
    HEAD,
    START,
    TEXT,
    TEXT_AND_CALL,
    THINKING_AND_TEXT,
    TOLD,
    TWO_CALLS,
    chunked,
)
from tests.contracts.test_model import sse
from tests.harness import running_gateway, settings_for, text_of, the, types
from tests.invariants import violations
from tests.record import read_records

pytestmark = pytest.mark.anyio
Events = list[dict[str, Any]]


@asynccontextmanager
async def endpoint(*answers: bytes) -> AsyncGenerator[tuple[str, list[dict[str, Any]]]]:
    """Answers each request in turn, then for ever with the last; with what it was asked."""
    left, asked = list(answers), list[dict[str, Any]]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"POST /v1/messages HTTP/1.1"):  # what the gateway asks about the endpoint
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            writer.close()
            return
        body = await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        asked.append(orjson.loads(body))
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


def calculating(events: Events) -> bytes:
    """The stream with its calls made calls of the gateway's calculator."""
    copies: Events = orjson.loads(orjson.dumps(events))
    for event in copies:
        if "name" in event.get("content_block", {}):
            event["content_block"]["name"] = "calculate"
        if "partial_json" in event.get("delta", {}):
            number = orjson.loads(event["delta"]["partial_json"])["q"]
            event["delta"]["partial_json"] = f'{{"expression":"1+{number}"}}'
    return HEAD + chunked(*(sse(event) for event in copies))


DONE = HEAD + chunked(sse(START, TEXT, TOLD), b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("stream", "calls", "said"),
    [(THINKING_AND_TEXT, [], "hi"), (TEXT_AND_CALL, ["2"], "hihi"), (TWO_CALLS, ["1", "2"], "hi")],
    ids=["thinking and text", "text and call", "two calls"],
)
async def test_blocks_that_end_with_the_message_make_a_whole_turn(
    tmp_path: Path, stream: Events, calls: list[str], said: str
) -> None:
    """As llama.cpp sends them: the calls run, the answer is whole at once, and the record is in order."""
    async with endpoint(calculating(stream), DONE) as (url, asked):
        settings = settings_for(tmp_path, url)
        async with running_gateway(settings) as client:
            events = await client.chat("What is 1+1?")

    assert the(events, "done")["status"] == "completed"
    assert "iteration_superseded" not in types(events)
    called = [event["tool_call_id"] for event in events if event["type"] == "tool_call"]
    results = [
        (each["tool_call_id"], each["data"]["content"]) for each in events if each["type"] == "tool_result"
    ]
    assert len(results) == len(calls)  # calls side by side end in any order
    assert [dict(results)[call_id] for call_id in called] == calls
    assert text_of(events) == said
    assert len(asked) == (2 if calls else 1)
    assert [what for record in read_records(settings.database_path) for what in violations(record)] == []


async def test_the_words_of_an_endpoint_reach_the_person(tmp_path: Path) -> None:
    """Of an error that is called a success, and that no repeat would mend: asked once."""
    body = orjson.dumps({"code": 1113, "msg": "余额不足或无可用资源包,请充值。"})
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    async with endpoint(head + body) as (url, asked), running_gateway(settings_for(tmp_path, url)) as client:
        events = await client.chat("Hello")

    error = the(events, "error")
    assert (error["code"], error["retryable"], len(asked)) == ("upstream_quota", False, 1)
    assert "余额不足或无可用资源包,请充值。" in error["message"]


async def test_a_loop_is_ended_by_a_request_for_an_answer_without_tools(tmp_path: Path) -> None:
    """The endpoint is told that no tool may be called, while they still stand in the request; and a call
    that it makes all the same is not run."""
    async with (
        endpoint(calculating(TEXT_AND_CALL)) as (url, asked),
        running_gateway(settings_for(tmp_path, url)) as client,
    ):
        events = await client.chat("What is 1+1?")

    assert the(events, "done")["status"] == "completed"
    assert types(events).count("tool_result") == 5
    assert ["tool_choice" in request for request in asked] == [False] * 5 + [True]
    assert asked[-1]["tool_choice"] == {"type": "none"}
    assert asked[-1]["tools"] == asked[0]["tools"]
